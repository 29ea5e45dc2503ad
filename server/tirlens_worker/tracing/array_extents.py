"""The sizes that dimensions of arrays need to hold what a kernel accesses."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ..facts import Access, Branch, Expr, KernelFacts, Let, Loop, Node, While
from ..frameworks.symbolic.mentions import names_in
from ..frameworks.symbolic.ranges import Ranges


def sizes_of_accesses(
    facts: KernelFacts, names: Iterable[str], sizes: Mapping[str, int]
) -> Dict[str, int]:
    """The sizes of the dimensions `names` with which no access is outside of its array.

    Those are left out that decide what is executed, that no access reaches, or that are large
    enough: ``total_h`` of an array (total_h, K, V) whose first index is computed of the batch, the
    chunks and the heads.

    Parameters
    ----------
    facts
        A kernel.
    names
        Dimensions whose sizes are assumed.
    sizes
        The sizes of all dimensions.
    """
    free = set(names) - names_in(_decisions(facts.body), set(names))
    arrays = {
        buffer.id: buffer.shape
        for buffer in facts.buffers
        if buffer.is_parameter and any(extent in free for extent in buffer.shape)
    }
    if not arrays:
        return {}
    ranges = Ranges()
    for name, size in sizes.items():
        if name not in free:
            ranges.add(name, size, 1)
    found: Dict[str, int] = {}
    for access in _accesses(facts.body, ranges):
        for position, extent in enumerate(arrays.get(access.buffer, ())):
            end = _end(access, position, ranges) if extent in free else None
            if isinstance(extent, str) and end is not None and end > sizes.get(extent, 0):
                found[extent] = max(found.get(extent, 0), end)
    return found


def _end(access: Access, place: int, ranges: Ranges) -> Optional[int]:
    """The end of what an access reaches of a dimension; None if it depends on data."""
    if place >= len(access.indices):
        return None
    _, last = ranges.of(access.indices[place])
    length: Expr = access.extents[place] if place < len(access.extents) else 1
    _, most = ranges.of(length)
    return None if last is None else last + max(most or 1, 1)


def _accesses(nodes: Tuple[Node, ...], ranges: Ranges) -> Iterator[Access]:
    """The accesses of all statements; `ranges` has the variables that enclose each."""
    for node in nodes:
        if isinstance(node, Loop):
            ranges.add(node.var, node.start, node.extent, node.step)
            yield from _accesses(node.body, ranges)
        elif isinstance(node, Branch):
            yield from _accesses((*node.then, *node.orelse), ranges)
        elif isinstance(node, While):
            yield from _accesses(node.body, ranges)
        elif isinstance(node, Let):
            ranges.add(node.var, node.value, 1)
        else:
            yield from node.accesses


def _decisions(nodes: Tuple[Node, ...]) -> List[Any]:
    """The expressions that decide what is executed, and the indices of accesses."""
    found: List[Any] = []
    for node in nodes:
        if isinstance(node, Loop):
            found += (node.start, node.extent, node.step, *_decisions(node.body))
        elif isinstance(node, Branch):
            found += (node.condition, *_decisions((*node.then, *node.orelse)))
        elif isinstance(node, While):
            found += (node.condition, *_decisions(node.body))
        elif isinstance(node, Let):
            found.append(node.value)
        else:
            found += (access.indices for access in node.accesses)
    return found
