"""What the search for the calls of kernels in a repository costs, and what its parts save.

    python tests/benchmarks/searches.py ROOT FILE... [--rounds N]

``index`` is the processor time to read all files of the repository for the index of words and
imports, ``index again`` that of a process that finds it stored. ``first`` is a search for the
kernels of one file in a new process, ``shared`` the same after those of the other files, with
their syntax trees. Ratios are to ``index`` and to ``first``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tirlens import source
from tirlens.collector import scan_new_objects_only
from tirlens.evaluation.search_result import Target
from tirlens.evaluation.syntax import SyntaxCache
from tirlens.repository import targets_of
from tirlens.repository.repository import MOST_CHARACTERS
from tirlens.repository.search import find_calls
from tirlens.repository.word_index import WordIndex


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("file", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    # As the process of a search does.
    scan_new_objects_only()
    root = options.root.absolute()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "index.sqlite"
        index = WordIndex(root, store)
        cold_s = _cpu_s(index.refresh)
        again_s = _cpu_s(WordIndex(root, store).refresh)
    print(f"{len(index.files)} files")
    _row("index", cold_s, cold_s)
    _row("index again", again_s, cold_s)
    targets = {path: _targets(path.absolute(), root) for path in options.file}
    for path, wanted in targets.items():
        first_s, shared_s = [], []
        for _ in range(options.rounds):
            first_s.append(_search_s(index, wanted, SyntaxCache(MOST_CHARACTERS)))
            syntaxes = SyntaxCache(MOST_CHARACTERS)
            for other in targets.values():
                find_calls(index, other, syntaxes=syntaxes)
            shared_s.append(_search_s(index, wanted, syntaxes))
        print(f"{path.name}: {len(wanted)} functions")
        _row("  first", statistics.median(first_s), statistics.median(first_s))
        _row("  shared", statistics.median(shared_s), statistics.median(first_s))


def _targets(path: Path, root: Path) -> list[Target]:
    found = source.read(path.read_text(encoding="utf-8"), path)
    return [target for target in targets_of(found, path, root) if target is not None]


def _search_s(index: WordIndex, targets: list[Target], syntaxes: SyntaxCache) -> float:
    return _cpu_s(lambda: find_calls(index, targets, syntaxes=syntaxes))


def _cpu_s(work: Callable[[], object]) -> float:
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


def _row(name: str, seconds: float, whole_s: float) -> None:
    print(f"{name:<16} {seconds:8.2f} s {seconds / whole_s:8.2f}")


if __name__ == "__main__":
    main()
