"""The blocks of code of the documentation, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / ".github/CONTRIBUTING.md",
    ROOT / "vscode-client/README.md",
    *sorted((ROOT / "server/docs").glob("*.md")),
]


@dataclass(frozen=True)
class Snippet:
    """A block of code of a page, and the line on which it begins."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def snippets(*languages: str) -> Iterator[Snippet]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(r"^( *)(`{3,})(\w*)\n(.*?)^\1\2$", text, re.DOTALL | re.MULTILINE):
            if found[3] in languages:
                line = text.count("\n", 0, found.start(4)) + 1
                yield Snippet(page, line, found[3], found[4])


def commands() -> Iterator[tuple[str, list[str]]]:
    """Where a command of ``tirlens`` stands, and its words."""
    for snippet in snippets("sh"):
        lines = snippet.text.replace("\\\n", "").splitlines()
        for number, line in enumerate(lines):
            for command in re.split(r"&&|\|(?! --)", line):
                words = shlex.split(command, comments=True)
                if words and words[0].rpartition("/")[2] == "tirlens":
                    yield f"{snippet.page.name}:{snippet.line + number}", words[1:]


COMMANDS = dict(commands())
