"""How much of its own arrays in shared memory and registers TVM keeps.

A schedule writes a tile as an array of the shape of what it is a tile of: ``A_shared`` has all of
``A``'s rows, of which a block uses 128.  TVM gives it the smallest box around what is used inside
the loops that all its uses have in common, with the padding that the schedule has asked for
(``storage_align``).  Its own passes are run here on a copy of the function, up to the one that
does so; they take a millisecond and need no device.

Source: ``python/tvm/s_tir/pipeline.py`` of 0.27 (``CompactBufferAllocation`` and what precedes it).
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, List, Tuple

from ..ir import dialect

_PASSES = (
    "CanonicalizeLoop",
    "LowerCrossThreadReduction",
    "LowerInitBlock",
    "PlanAndUpdateBufferAllocationLocation",
    "ConvertBlocksToOpaque",
    "LiftThreadBinding",
    "CompactBufferAllocation",
)
#: Shape and strides; the strides are empty for an array without padding.
Storage = Tuple[Tuple[Any, ...], Tuple[Any, ...]]


def compacted_storage(prim_func: Any) -> Dict[str, Storage]:
    """What the arrays which blocks allocate keep when compiled, by their names.

    Arrays in global memory are not asked about: they are the schedule's intermediate results.
    An array is left out whose name others have too, or of whose box TVM knows no constant size.
    """
    before = _allocated_buffers(prim_func)
    if not before:
        return {}
    try:
        after = _allocated_buffers(_lower(prim_func))
    except Exception:
        # What TVM cannot compile keeps the shape it was written with.
        return {}
    kept_of: Dict[str, Storage] = {}
    for name, written in before.items():
        kept = after.get(name, [])
        if len(written) == len(kept) == 1 and len(written[0].shape) == len(kept[0].shape):
            box = tuple(kept[0].shape), tuple(kept[0].strides or ())
            if _is_constant(box[0] + box[1]):
                kept_of[name] = box
    return kept_of


def _allocated_buffers(prim_func: Any) -> Dict[str, List[Any]]:
    found: Dict[str, List[Any]] = {}
    for stmt in dialect.statements(prim_func.body):
        for buffer in getattr(stmt, "alloc_buffers", ()):
            if dialect.scope_of(buffer) != "global":
                found.setdefault(str(buffer.name), []).append(buffer)
    return found


def _lower(prim_func: Any) -> Any:
    tvm: Any = sys.modules["tvm"]
    module = tvm.IRModule({"main": prim_func})
    for name in _PASSES:
        module = getattr(tvm.s_tir.transform, name)()(module)
    return module["main"]


def _is_constant(sizes: Iterable[Any]) -> bool:
    return all(isinstance(size, int) or dialect.kind(size) == "IntImm" for size in sizes)
