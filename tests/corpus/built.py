"""A table of the kernels that the files of a folder build or write, line by line.

    python tests/corpus/built.py FOLDER... --python PYTHON [--snippets] [--markdown]

For each statement that defines or builds a kernel: its line, its name, and its figures or the
sentence that stands for them, as the command line and the editor say it. With ``--snippets`` the
blocks of code in reStructuredText and Markdown are analysed too, those of one page as one file,
at their own lines.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tirlens import pipeline, source, worker_client
from tirlens.ide import lenses
from tirlens.pipeline import Options
from tirlens.session.analysis import Analysis, Reading
from tirlens.session.configuration import Configuration
from tirlens.settings import Settings
from tirlens_worker.protocol import Result

_CODE = re.compile(r"^(?P<indent> *)(\.\. code(-block)?:: *python|```python)\s*$")


@dataclass(frozen=True)
class Row:
    """A statement with the text of its lens."""

    path: Path
    line: int
    name: str
    text: str

    @property
    def outcome(self) -> str:
        """``numbers``, ``sentence`` or ``not executed``."""
        if not self.text:
            return "not executed"
        is_sentence = self.text.startswith(("not analysed", "needs ", "no time"))
        return "sentence" if is_sentence else "numbers"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--snippets", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--timeout", type=float, default=120.0)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    interpreter = worker_client.find_interpreter(Path.cwd(), setting=arguments.python)
    with worker_client.BlockingClient(interpreter) as client:
        for path, text in _texts(arguments.folders, arguments.snippets):
            began_s = time.monotonic()
            rows = list(_rows(client, path, text, arguments.timeout))
            if not rows:
                continue
            counts["files"] += 1
            print(f"\n{path} ({time.monotonic() - began_s:.1f} s)\n")
            for row in rows:
                counts[row.outcome] += 1
                cells = (str(row.line), row.name, row.text or "not executed")
                print(f"| {' | '.join(cells)} |" if arguments.markdown else "  ".join(cells))
    print("\n" + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 0


def _texts(folders: list[Path], snippets: bool) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.suffix == ".py":
                yield path, path.read_text(errors="replace")
            elif snippets and path.suffix in (".rst", ".md"):
                yield path, _code_of(path.read_text(errors="replace"))


def _code_of(page: str) -> str:
    """The blocks of code of a page, at their lines; a block that does not parse is left out."""
    lines = page.splitlines()
    code = [""] * len(lines)
    index = 0
    while index < len(lines):
        match = _CODE.match(lines[index])
        index += 1
        if match is None:
            continue
        start = index
        is_fenced = "```" in lines[start - 1]
        while index < len(lines) and _is_inside(lines[index], match["indent"], is_fenced):
            index += 1
        block = lines[start:index]
        margin = min((len(x) - len(x.lstrip()) for x in block if x.strip()), default=0)
        block = [x[margin:] if x.strip() and not x.lstrip().startswith(":") else "" for x in block]
        try:
            compile("\n".join(block), "<block>", "exec")
        except SyntaxError:
            continue
        code[start:index] = block
    return "\n".join(code)


def _is_inside(line: str, indent: str, is_fenced: bool) -> bool:
    if is_fenced:
        return not line.strip().startswith("```")
    return not line.strip() or len(line) - len(line.lstrip()) > len(indent)


def _rows(
    client: worker_client.BlockingClient, path: Path, text: str, timeout_s: float
) -> Iterator[Row]:
    read = source.read(text)
    if not read.kernels:
        return
    options = Options(time_limit_s=timeout_s, advice=False)
    name = path if path.suffix == ".py" else Path(tempfile.gettempdir()) / f"{path.stem}.py"
    request = pipeline.analysis_request(1, str(name.absolute()), text, read, options)
    result = client.analyze(request) if request.kernels else Result(1)
    report = pipeline.file_report(read, result, options, str(name))
    analysis = Analysis(Reading(text, text.splitlines(), read), result, report)
    display = Configuration().display(Settings())
    for kernel in read.kernels:
        lens = " | ".join(part.title for part in analysis.lens(kernel, display))
        yield Row(path, kernel.span.line, kernel.name, lens.removesuffix(f" | {lenses.ANALYSING}"))


if __name__ == "__main__":
    sys.exit(main())
