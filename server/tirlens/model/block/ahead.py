"""Which statements only bring data into shared memory, so that a pipeline starts them ahead."""

from __future__ import annotations

from tirlens_worker.facts import Statement

from ..instructions.work import Item


def is_load(item: Item) -> bool:
    """Whether a leaf only moves global data into shared memory, so that it can run ahead.

    A tile loop that copies element by element does, inside a pipelined loop.  One that chooses
    between the element and a zero does not: tilelang makes plain loads and stores of it, in one
    buffer (``IsPureCopyStmt`` in ``src/transform/pipeline_planning.cc``).
    """
    if not isinstance(item.node, Statement) or not item.read_bytes:
        return False
    if item.node.op in ("copy", "async_copy", "tma_copy", "load"):
        return True
    return copies_elements(item) and any(loop.kind == "pipelined" for loop in item.place.around)


def copies_elements(item: Item) -> bool:
    """Whether a statement of a tile loop stores an element of a global array in shared memory."""
    node = item.node
    if node.op != "store" or node.per != "block" or node.arith or item.shared_bytes <= 0:
        return False
    return not any(access.guard is not None for access in node.accesses if access.mode == "read")
