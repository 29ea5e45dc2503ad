"""Accesses at indices that are not known before the run, and the range of what they touch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tirlens_counting.expressions import free_variables, operators, to_text, walk
from tirlens_worker.facts import Caveat, Expr

from ..dtypes import byte_count
from .kernel_counts import BufferCount, NodeCount, statement_counts

#: The unknown values that names have, by name.
UnknownNames = Mapping[str, tuple[Expr, ...]]


def unknown_parts(expr: Expr, names: UnknownNames) -> tuple[Expr, ...]:
    """The values in `expr` that are not known and differ between threads or iterations.

    Contents of arrays are not among them.  `names` have such values, too.
    """
    found: list[Expr] = []
    if "opaque" in operators(expr):
        found += [
            part
            for part in walk(expr)
            if isinstance(part, tuple) and part[0] == "opaque" and free_variables(part)
        ]
    if names:
        for name in sorted(free_variables(expr) & names.keys()):
            found += names[name]
    return tuple(dict.fromkeys(found))


def unknown_index_caveats(
    root: tuple[NodeCount, ...], names: UnknownNames, buffers: Mapping[str, BufferCount]
) -> Iterator[Caveat]:
    """A caveat at each access of global memory whose index is not known.

    Its elements are at least one and at most those that it issues, or all of the array.
    """
    for leaf in statement_counts(root):
        for entry in leaf.accesses:
            if entry.buffer.scope != "global" or not entry.bytes:
                continue
            indices = entry.access.indices
            parts = dict.fromkeys(part for index in indices for part in unknown_parts(index, names))
            if not parts:
                continue
            least = byte_count(max(entry.access.lanes, 1), entry.buffer.dtype) or 1
            most = min(entry.bytes, buffers[entry.access.buffer].bytes or entry.bytes)
            values = ", ".join(to_text(part) for part in parts)
            sites = leaf.source.sites
            yield Caveat(
                f"an index of {entry.buffer.name} is not known before the run ({values}): counted "
                f"as an element of its own each time ({least:,} to {max(most, least):,} B of it)",
                sites[0] if sites else None,
            )
