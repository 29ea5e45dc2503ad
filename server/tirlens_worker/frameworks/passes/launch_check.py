"""Whether a kernel traced with assumed arguments has work, and the size of its arrays.

The search for arguments continues where it cannot, or where they are large.
"""

from __future__ import annotations

from typing import Any, Iterator, Optional

from .. import adapters
from ..ir import dialect
from ..state.exec_scopes import CLUSTER, CTA

_GRID_SCOPES = (CLUSTER, CTA)


def has_work(func: Any) -> bool:
    """Whether `func` has blocks, and its arrays have elements."""
    func = adapters.adapt(func)
    parameters = (buffer for _, buffer in dialect.parameters(func) if buffer is not None)
    if any(_elements(buffer) == 0 for buffer in parameters):
        return False
    return has_blocks(func)


def has_blocks(func: Any) -> bool:
    """Whether the grid of `func` is not empty."""
    return all(extent != 0 for extent in _grid(func))


def array_bytes(func: Any) -> int:
    """The bytes of the arrays that `func` is called with, but for those of dynamic sizes."""
    return sum(
        (_elements(buffer) or 0) * _bits(buffer) // 8
        for _, buffer in dialect.parameters(func)
        if buffer is not None
    )


def _grid(func: Any) -> Iterator[Any]:
    """The extents of the dimensions of the grid, as plain data."""
    for stmt in dialect.statements(adapters.adapt(func).body):
        if dialect.kind(stmt) == "ScopeIdDefStmt":
            definition = getattr(stmt, "def")
            if int(definition.scope) in _GRID_SCOPES:
                yield from map(dialect.plain, definition.extents or ())
        binding = getattr(stmt, "thread_binding", None)
        if binding is not None and str(binding.thread_tag) in dialect.BLOCK_TAGS:
            yield dialect.plain(stmt.extent)


def _elements(buffer: Any) -> Optional[int]:
    """The number of elements of an array; None if it depends on a dynamic size."""
    count = 1
    for extent in buffer.shape:
        size = dialect.plain(extent)
        if not isinstance(size, int):
            return None
        count *= max(size, 0)
    return count


def _bits(buffer: Any) -> int:
    name, lanes = dialect.lanes_of(str(buffer.dtype))
    digits = "".join(letter if letter.isdigit() else " " for letter in name).split()
    return int(digits[0]) * lanes if digits else 8
