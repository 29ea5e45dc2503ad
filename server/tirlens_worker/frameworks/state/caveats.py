"""What is not exact in the facts of a kernel, for its user to read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Generator, List, Optional, Tuple

from ...facts import Caveat, Span

Sites = Tuple[Span, ...]


class Caveats:
    """The caveats of one kernel, each once."""

    def __init__(self) -> None:
        self.found: List[Caveat] = []
        self._notes: List[Tuple[str, Optional[str]]] = []

    def add(self, message: str, sites: Sites, function: Optional[str] = None) -> None:
        """Add a caveat at `sites`; `function` is the one whose cost is left out."""
        caveat = Caveat(message, sites[0] if sites else None, function)
        if caveat not in self.found:
            self.found.append(caveat)

    def note(self, message: str, function: Optional[str] = None) -> None:
        """Record a caveat at the current statement; `collect` adds it to the facts."""
        self._notes.append((message, function))

    @contextmanager
    def collect(self, sites: Sites) -> Generator[None, None, None]:
        """Add the caveats that are recorded while active, unless it ends by an exception."""
        self._notes.clear()
        yield
        for message, function in self._notes:
            self.add(message, sites, function)
        self._notes.clear()
