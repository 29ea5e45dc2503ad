"""Arrays: which of them are views of others, and the numbers in small ones.

A program may compute addresses with what it keeps in small arrays of its own, so these hold their
numbers while it is executed; all others hold data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equality import language as ir
from equality.language import RefusedError
from equality.points import UNKNOWN, Points
from equality.scopes import Scopes

_SMALL = 64
_UNSET = np.iinfo(np.int64).min
_DATA = _UNSET + 1


class Memory(Scopes):
    """The contents of small arrays by point; a point finds its own by the number of its slot."""

    #: The arrays that hold numbers, and the numbers by slot and element.
    small: set[int]
    memory: dict[int, np.ndarray]

    def allocate(self, buffer: Any, at: Points) -> None:
        """Gives each point a small array of its own if the program computes addresses with it."""
        name = ir.key(buffer)
        if name not in self.small:
            return
        if at.waiting:
            raise RefusedError("an array of each thread before the threads are told apart")
        elements = int(np.prod([int(size) for size in buffer.shape]))
        self.memory[name] = np.full((at.size, elements), _UNSET)
        at.columns["slot", name] = np.arange(at.size)
        at.threads |= {("slot", name)}

    def private(self, at: Points) -> None:
        """Gives each point a copy of the small arrays that were allocated around its threads."""
        for column in [
            name for name in at.columns if isinstance(name, tuple) and name[0] == "slot"
        ]:
            self.memory[column[1]] = self.memory[column[1]][at.full(at.columns[column])]
            at.columns[column] = np.arange(at.size)
            at.threads |= {column}

    def view(self, buffer: Any, data: Any = None) -> None:
        """Notes an array; one on the data of an earlier one is a view of it."""
        if buffer is None or ir.key(buffer) in self.views:
            return
        data = getattr(buffer, "data", None) if data is None else data
        if ir.kind(data) == "Call":
            holder = data.args[0]
            if not ir.is_buffer(holder):
                raise RefusedError("an array on data that is computed")
        else:
            holder = self.holders.setdefault(ir.key(data), buffer)
        if ir.key(holder) != ir.key(buffer):
            self.views[ir.key(buffer)] = holder

    def remember(self, buffer: Any, indices: Any, value: Any, at: Points) -> None:
        name = ir.key(buffer)
        if ("slot", name) not in at.columns:
            self.allocate(buffer, at)
        position = self._position(buffer, indices, at)
        kept = _DATA if value is UNKNOWN else value
        self.memory[name][at.full(at.columns["slot", name]), position] = at.full(kept)

    def recall(self, node: Any, at: Points) -> tuple[Any, bool]:
        """The number in a small array, and whether it is data; not where nothing has set it."""
        buffer = ir.buffer_of(node)
        name = ir.key(buffer)
        if ("slot", name) not in at.columns:
            return UNKNOWN, True
        position = self._position(buffer, node.indices, at)
        found = self.memory[name][at.full(at.columns["slot", name]), position]
        data = bool((found == _DATA).any())
        return (UNKNOWN if data or (found == _UNSET).any() else found), data

    def _position(self, buffer: Any, indices: Any, at: Points) -> np.ndarray:
        flat: Any = 0
        for index, size in zip(indices, buffer.shape, strict=True):
            flat = flat * int(size) + self.known(index, at)
        return at.full(flat)

    def is_small(self, buffer: Any) -> bool:
        return ir.key(buffer) in self.small


def may_hold_numbers(buffer: Any) -> bool:
    if not ir.integral(str(buffer.dtype)) or not ir.scope_of(buffer).startswith("local"):
        return False
    if ir.scope_of(buffer) == "local.fragment":
        return False
    sizes = [ir.constant(size) for size in buffer.shape]
    return all(isinstance(size, int) for size in sizes) and int(np.prod(sizes)) <= _SMALL
