"""The parts of the last analyses of each file, so that what has not changed is not asked again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tirlens.pipeline.parts import Part

Known = Callable[[bytes], Part | None]

# To a text and the one before it, which an undo brings back, of both tiers.
_ANSWERS = 4
_FILES = 50


@dataclass
class _File:
    version: int = 0
    parts: dict[bytes, Part] = field(default_factory=dict[bytes, Part])
    answers: OrderedDict[frozenset[bytes], None] = field(
        default_factory=OrderedDict[frozenset[bytes], None]
    )


class KeptParts:
    """Parts by file: those of which the last `answers` different answers about it were made.

    So there is room for any number of kernels in a file, and no more is kept than a few times
    what is shown.  The files are the `files` that were asked about last.
    """

    def __init__(self, answers: int = _ANSWERS, files: int = _FILES) -> None:
        self._most_answers, self._most_files = answers, files
        self._files: OrderedDict[str, _File] = OrderedDict()

    def of(self, path: str) -> Known:
        """What gives the kept part of the file `path` that has a key, or None."""

        def known(key: bytes) -> Part | None:
            file = self._files.get(path)
            return None if file is None else file.parts.get(key)

        return known

    def version(self, path: str) -> int:
        """A number that changes whenever more is known of the file `path`."""
        file = self._files.get(path)
        return 0 if file is None else file.version

    def keep(self, path: str, parts: Mapping[bytes, Part], used: Iterable[bytes] = ()) -> None:
        """Keep `parts`, which with those under the keys `used` make up an answer about `path`."""
        file = self._files.setdefault(path, _File())
        self._files.move_to_end(path)
        file.parts.update(parts)
        file.version += bool(parts)
        answer = frozenset((*parts, *used))
        # One that has come piece by piece is one answer.
        for less in [one for one in file.answers if one <= answer]:
            del file.answers[less]
        file.answers[answer] = None
        while len(file.answers) > self._most_answers:
            file.answers.popitem(last=False)
        wanted = frozenset[bytes]().union(*file.answers)
        file.parts = {key: part for key, part in file.parts.items() if key in wanted}
        while len(self._files) > self._most_files:
            self._files.popitem(last=False)

    def forget(self) -> None:
        """Have everything asked anew."""
        self._files.clear()
