"""Execute the kernels of source trees by brute force and compare every count.

    python tests/equality/run.py --results FILE --python INTERPRETER FOLDER... [--again WORD]
    python tests/equality/run.py --results FILE

Point it at a checkout of a real project and at an interpreter that has its framework.  Each kernel
is traced (with smaller arguments where it is big), executed by the reference executor of this
folder in the framework's own process, and counted by TIRLens: operations by kind and type, FLOP by
class, issued bits of every global and shared array by direction, distinct bytes, the sectors and
passes of one warp, formulas of kernels with shape variables at three sizes.  Equality, without a
tolerance.  The exit status is 1 if anything differs.

FILE grows by one file of kernels after the other, and what is in it already is not executed again
unless `--again` names it: an interrupted run goes on, and without folders the present model is
compared with all that has been executed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
SERVER = TESTS.parent / "server"
sys.path[:0] = [str(SERVER), str(TESTS)]

from equality.process import Process  # noqa: E402
from equality.results import Results, version  # noqa: E402
from equality.summary import Summary  # noqa: E402
from tirlens import pipeline, source  # noqa: E402


def requests(
    folders: Iterable[str], done: Collection[str] = (), calls: tuple[str, ...] = ()
) -> Iterator[Any]:
    """What to ask about each file that has kernels and is not done; of `calls` alone if any."""
    found = [Path(folder) for folder in folders]
    paths = {path for one in found for path in ([one] if one.is_file() else one.rglob("*.py"))}
    options = pipeline.Options(calls=calls)
    for number, path in enumerate(sorted(paths, key=_anywhere)):
        if str(path) in done:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        kernels = source.read(text)
        if kernels.kernels:
            yield pipeline.analysis_request(number, str(path), text, kernels, options)


def _anywhere(path: Path) -> str:
    """An order in which the first files are a fair sample of all."""
    return hashlib.sha256(path.name.encode()).hexdigest()


def executed(python: str, asked: Iterator[Any], limit_s: int) -> Iterator[dict[str, Any]]:
    """The records of the framework's process."""
    with Process(python, limit_s) as process:
        for request in asked:
            yield from process.records(request)


def main(arguments: argparse.Namespace) -> int:
    results = Results(Path(arguments.results))
    if arguments.again:
        results.forget(arguments.again)
    if arguments.folder:
        oracle = version(TESTS / "equality", SERVER / "tirlens_worker")
        asked = requests(arguments.folder, results.files())
        with contextlib.suppress(KeyboardInterrupt):
            found = executed(arguments.python, asked, arguments.seconds)
            for record in results.extend(found, oracle):
                print(f"\r{record['path'][-70:]:70}", end="", file=sys.stderr)
        print(file=sys.stderr)
    summary = Summary()
    print(f"model {version(SERVER / 'tirlens/model')}")
    kept = [found for found in map(summary.take, results) if found is not None]
    summary.show(arguments.examples)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(kept, indent=1))
    return 1 if summary.differing else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="*", help="what to execute, besides what has been")
    parser.add_argument("--results", required=True, help="the file that grows")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the framework")
    parser.add_argument("--again", metavar="WORD", help="forget the files with WORD in their path")
    parser.add_argument("--seconds", type=int, default=3, help="processor time for a kernel")
    parser.add_argument("--examples", type=int, default=2, help="kernels shown for each row")
    parser.add_argument("--json", help="write one verdict a kernel here")
    sys.exit(main(parser.parse_args()))
