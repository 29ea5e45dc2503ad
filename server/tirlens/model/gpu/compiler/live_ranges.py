"""The live ranges of a thread's arrays in registers, from the first to the last access."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access, Buffer

from ...constants import constant
from ...counting.kernel_counts import AccessCount, BufferCount
from ...tree.context import dtype_bytes
from ...tree.node import Leaf

REGISTER_SCOPES = ("local", "wmma")
REGISTER_BYTES = constant(
    "REGISTER_BYTES",
    4.0,
    kind="isa",
    unit="bytes",
    meaning="Bytes of one register.",
    source="PTX ISA: 32 bits",
)

#: An array, or one register of it.
Unit = tuple[str, int | None]


@dataclass
class LiveRange:
    """The live range of an array or register, by statement number in program order.

    `index_variables` has the index variables of each access, `read_in` and `written_in` the
    statements that read and write it, `dtype` is the type of its elements.
    """

    first: int
    last: int
    is_read_first: bool
    bytes: float
    index_variables: list[tuple[int, frozenset[str]]] = field(
        default_factory=list[tuple[int, frozenset[str]]]
    )
    read_in: set[int] = field(default_factory=set[int])
    written_in: set[int] = field(default_factory=set[int])
    dtype: str = "float32"

    def is_local_to_iteration(self, low: int, high: int, variable: str | None) -> bool:
        """Whether each iteration of a loop accesses a part of its own, by the loop variable."""
        inside = [names for number, names in self.index_variables if low <= number <= high]
        return bool(inside) and all(variable in names for names in inside)


def find_live_ranges(
    leaves: Sequence[Leaf], buffers: Mapping[str, BufferCount]
) -> dict[Unit, LiveRange]:
    """The live range of each array in registers, or of each register of one that has no index."""
    lives: dict[Unit, LiveRange] = {}
    used = _register_uses(leaves, buffers)
    whole = _dynamically_indexed_arrays(use.entry for use in used)
    for use in used:
        access, buffer = use.entry.access, use.entry.buffer
        name = buffer.alias_of or buffer.id
        # A fragment is distributed over the threads; a local array is private to each.
        held = use.bytes / use.threads if buffer.scope == "local.fragment" else float(use.bytes)
        registers: Iterable[int | None] = (None,)
        names = frozenset[str]().union(*map(free_variables, access.indices))
        if name not in whole:
            registers, held = _accessed_registers(access, buffer), REGISTER_BYTES
        for register in registers:
            life = lives.get((name, register))
            if life is None:
                started = access.mode != "write"
                life = lives[name, register] = LiveRange(use.number, use.number, started, held)
            else:
                life.last, life.bytes = use.number, max(life.bytes, held)
            if access.mode != "write":
                life.read_in.add(use.number)
            if access.mode != "read":
                life.written_in.add(use.number)
            life.dtype = buffer.dtype
            life.index_variables.append((use.number, names))
    return lives


class _RegisterUse(NamedTuple):
    """An access of statement `number` to a register array of `bytes`."""

    number: int
    entry: AccessCount
    threads: int
    bytes: int


def _register_uses(
    leaves: Sequence[Leaf], buffers: Mapping[str, BufferCount]
) -> list[_RegisterUse]:
    """The accesses to register arrays, without scalars, which live only in expressions."""
    sizes: dict[str, int | None] = {}
    found: list[_RegisterUse] = []
    for number, leaf in enumerate(leaves):
        for entry in leaf.count.accesses:
            name = entry.buffer.id
            if name not in sizes:
                sizes[name] = _register_bytes(entry.buffer, buffers)
            size = sizes[name]
            if size is not None:
                found.append(_RegisterUse(number, entry, leaf.threads, size))
    return found


def _register_bytes(buffer: Buffer, buffers: Mapping[str, BufferCount]) -> int | None:
    """The size of a register array, or of the array that it views; None for other arrays."""
    if not buffer.scope.startswith(REGISTER_SCOPES):
        return None
    known = buffers.get(buffer.alias_of or buffer.id)
    if known is None or math.prod(known.shape or (0,)) == 1:
        return None
    return known.bytes


def _accessed_registers(access: Access, buffer: Buffer) -> range:
    """The registers of a thread's array that an access touches."""
    size = dtype_bytes(buffer.dtype)
    (index,), offset = access.indices, buffer.element_offset
    assert isinstance(index, int) and isinstance(offset, int)
    first = (offset + index) * size
    return range(
        int(first // REGISTER_BYTES),
        math.ceil((first + access.lanes * size) / REGISTER_BYTES),
    )


def _dynamically_indexed_arrays(entries: Iterable[AccessCount]) -> set[str]:
    """The arrays with any access that is not to one element at a constant index."""
    found: set[str] = set()
    for entry in entries:
        access, buffer = entry.access, entry.buffer
        places = (*access.indices, buffer.element_offset)
        constant = len(places) == 2 and all(isinstance(context, int) for context in places)
        if not constant or buffer.scope != "local" or access.extents:
            found.add(buffer.alias_of or buffer.id)
    return found
