"""Cache of analysed parts by file, so that an unchanged kernel is not analysed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tirlens.pipeline.plan import Part

# The text, its predecessor, which an undo restores, and the baseline, in both tiers of analysis.
_MAX_ANSWERS = 6
_MAX_FILES = 50
_NO_PARTS: Mapping[bytes, Part] = {}


@dataclass
class _File:
    parts: Mapping[bytes, Part] = field(default_factory=lambda: _NO_PARTS)
    answers: OrderedDict[frozenset[bytes], None] = field(
        default_factory=OrderedDict[frozenset[bytes], None]
    )


class PartCache:
    """The parts that the last answers about each file consist of.

    The limit counts answers and not parts: a file may have any number of kernels, and the cache
    holds a few times of what is shown.

    Parameters
    ----------
    max_answers
        Number of different answers about a file whose parts are cached.
    max_files
        Number of files, those with the latest answers.
    """

    def __init__(self, max_answers: int = _MAX_ANSWERS, max_files: int = _MAX_FILES) -> None:
        self._max_answers, self._max_files = max_answers, max_files
        self._files: OrderedDict[str, _File] = OrderedDict()

    def parts(self, path: str) -> Mapping[bytes, Part]:
        """The cached parts of the file `path` by key.

        The mapping never changes. It is another object once a part is added or removed.
        """
        file = self._files.get(path)
        return _NO_PARTS if file is None else file.parts

    def add(self, path: str, parts: Mapping[bytes, Part], used: Iterable[bytes] = ()) -> None:
        """Add `parts`, which make up an answer about `path` with the cached ones under `used`."""
        file = self._files.setdefault(path, _File())
        self._files.move_to_end(path)
        answer = frozenset((*parts, *used))
        # An answer that arrives in several steps counts once.
        for subset in [one for one in file.answers if one <= answer]:
            del file.answers[subset]
        file.answers[answer] = None
        while len(file.answers) > self._max_answers:
            file.answers.popitem(last=False)
        wanted = frozenset[bytes]().union(*file.answers)
        if parts or not wanted >= file.parts.keys():
            both = {**file.parts, **parts}
            file.parts = {key: part for key, part in both.items() if key in wanted}
        while len(self._files) > self._max_files:
            self._files.popitem(last=False)

    def clear(self) -> None:
        """Remove everything."""
        self._files.clear()
