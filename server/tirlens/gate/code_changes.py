"""The generated code of a kernel on two sides: the lines that differ, and the instructions."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tirlens_sass import ListingError, read
from tirlens_worker.protocol import SASS, GeneratedCode

# It fills the space behind the end of a function, and does nothing elsewhere.
_PADDING = "NOP"


@dataclass(frozen=True)
class TextChange:
    """The lines of a generated text that differ; `diff` is the unified difference."""

    language: str
    removed: int
    added: int
    diff: str


@dataclass(frozen=True)
class CodeChange:
    """The code that is generated for a kernel before and now.

    `opcodes` has the instructions of the machine code before and now, those of all functions of a
    kernel, each counted once wherever it stands; empty where a side has none.
    """

    texts: tuple[TextChange, ...] = ()
    opcodes: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    @property
    def differs(self) -> bool:
        """Whether any text or the machine code differs."""
        return any(text.diff for text in self.texts) or bool(self.changed_opcodes)

    @property
    def changed_opcodes(self) -> dict[str, tuple[int, int]]:
        """The opcodes whose number differs, that with the largest difference first."""
        changed = ((name, pair) for name, pair in self.opcodes.items() if pair[0] != pair[1])
        return dict(sorted(changed, key=lambda item: -abs(item[1][1] - item[1][0])))


def code_change(before: GeneratedCode, now: GeneratedCode, names: tuple[str, str]) -> CodeChange:
    """The difference of the code of two sides, which have `names`."""
    old = {text.language: text.text for text in before.texts}
    new = {text.language: text.text for text in now.texts}
    texts = tuple(
        _text_change(language, old[language], new[language], names)
        for language in old
        if language in new and language != SASS
    )
    try:
        counts = [_opcodes(side[SASS]) for side in (old, new)]
    except (KeyError, ListingError):
        return CodeChange(texts)
    opcodes = {
        name: (counts[0][name], counts[1][name]) for name in sorted({*counts[0], *counts[1]})
    }
    return CodeChange(texts, opcodes)


def _text_change(language: str, old: str, new: str, names: tuple[str, str]) -> TextChange:
    lines = [*difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")]
    # The first two lines are the names.
    removed, added = (sum(line[0] == sign for line in lines[2:]) for sign in "-+")
    return TextChange(language, removed, added, "".join(f"{line}\n" for line in lines))


def _opcodes(listing: str) -> Counter[str]:
    found = Counter(
        one.name for function in read(listing).functions for one in function.instructions
    )
    del found[_PADDING]
    return found
