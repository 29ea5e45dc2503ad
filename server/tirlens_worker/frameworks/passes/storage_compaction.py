"""The storage of arrays in shared memory and registers after TVM's buffer compaction.

A schedule declares a tile with the shape of the whole array: ``A_shared`` has all rows of ``A``,
although a block uses 128.  TVM shrinks it to the bounding box of the accesses inside the loops that
enclose all of them, with the padding that the schedule sets (``storage_align``).  TVM's passes up
to the compaction are run here on a copy of the function.  They take a millisecond and need no
device.

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
    """The compacted storage of the arrays that blocks allocate, by their names.

    Arrays in global memory are left out: they are intermediate results of the schedule.  So are
    arrays that share a name, and boxes without a constant size.
    """
    before = _allocated_buffers(prim_func)
    if not before:
        return {}
    try:
        after = _allocated_buffers(_lower(prim_func))
    except Exception:
        # A function that TVM cannot compile has the declared shapes.
        return {}
    storage: Dict[str, Storage] = {}
    for name, declared in before.items():
        after_lowering = after.get(name, [])
        if len(declared) == len(after_lowering) == 1 and len(declared[0].shape) == len(
            after_lowering[0].shape
        ):
            box = tuple(after_lowering[0].shape), tuple(after_lowering[0].strides or ())
            if _is_constant(box[0] + box[1]):
                storage[name] = box
    return storage


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
