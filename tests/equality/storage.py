"""Shared arrays as TVM makes them, which need not be as they are written.

TVM keeps the smallest box around what is used of an array that a block allocates, and pads its rows
where a schedule asks for it; where its elements lie in banks follows from that.
"""

from __future__ import annotations

from typing import Any

import tvm

from equality import language as ir

#: ``python/tvm/s_tir/pipeline.py`` of 0.27, up to what gives arrays their sizes.
_PASSES = (
    "CanonicalizeLoop", "LowerCrossThreadReduction", "LowerInitBlock",
    "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque", "LiftThreadBinding",
    "CompactBufferAllocation",
)  # fmt: skip


def compacted(function: Any) -> Any:
    """The function with the arrays that TVM makes; None if they are as they are written."""
    written = _shared(function)
    if not written or not hasattr(tvm, "s_tir"):
        return None
    module = tvm.IRModule({"main": function})
    try:
        for name in _PASSES:
            module = getattr(tvm.s_tir.transform, name)()(module)
    except Exception:
        return None
    return None if _shared(module["main"]) == written else module["main"]


def _shared(function: Any) -> list[str]:
    return sorted(
        f"{buffer.name} {buffer.shape} {buffer.strides}"
        for node in ir.everything(function.body)
        if ir.kind(node) == "SBlock"
        for buffer in node.alloc_buffers
        if ir.scope_of(buffer).startswith("shared")
    )
