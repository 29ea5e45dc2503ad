"""Indices of threads, warps, blocks and clusters that a kernel asks for by a call.

They take no time: the compiler keeps them in registers or in special registers.  ``T.get_warp_idx``
and the like divide the index of the thread in its block, x fastest, by the size of a warp, which
the call may state.  Special registers have their names in PTX.

Sources: tilelang ``language/builtin.py`` and ``src/tl_templates/cuda/intrin.h`` (get_lane_idx,
get_warp_idx, get_warp_group_idx, tl_shuffle_elect); TVM ``backend/cuda/op.py`` (cuda.thread_rank,
cuda.mov_sreg, ptx.fetch_register); PTX ISA, "Special Registers".
"""

from __future__ import annotations

from typing import Any, Optional

from ...facts import Expr
from ..build import WARP
from ..registry import Values, gives, scalars, unknown

_WARPS_OF_A_GROUP = 4
_LANE = ("tl.get_lane_idx",)
_WARP_INDEX = ("tl.get_warp_idx", "tl.get_warp_idx_sync")
_GROUP = ("tl.get_warp_group_idx",)
_RANK = ("tir.cuda.thread_rank",)
_CLUSTER_RANK = ("tl.block_rank_in_cluster",)
_REGISTERS = ("tir.cuda.mov_sreg", "tir.ptx.fetch_register", "tir.ptx_fetch_register")

scalars("", *_LANE, *_WARP_INDEX, *_GROUP, *_RANK, *_CLUSTER_RANK, *_REGISTERS)
scalars("", "tl.launch_thread_idx")

#: The processing elements of a job are one for each process.
_OF_THE_KERNEL = ("tir.nvshmem.my_pe", "tir.nvshmem.n_pes", "tir.vscale", "tir.lookup_param")
#: A block that was cancelled, whose work the asking block does, and buffers of a pipeline.
_OF_THE_BLOCK = (
    "tl.clc_is_canceled",
    "tl.clc_get_first_ctaid_x",
    "tl.clc_get_first_ctaid_y",
    "tl.clc_get_first_ctaid_z",
    "tl.mvb_stage_index",
)
scalars("", *_OF_THE_KERNEL, *_OF_THE_BLOCK, "tir.cuda.clock64")
unknown("kernel", *_OF_THE_KERNEL)
unknown("block", *_OF_THE_BLOCK)
unknown("execution", "tir.cuda.clock64")


@gives(*_LANE)
def lane(call: Any, values: Values) -> Optional[Expr]:
    """``get_lane_idx([warp size])``: the index of the thread in its warp."""
    return ("%", values.thread, _size(call, values)) if len(call.args) else values.lane


@gives(*_WARP_INDEX)
def warp(call: Any, values: Values) -> Optional[Expr]:
    """``get_warp_idx([warp size])``: the index of the warp in its block."""
    return ("//", values.thread, _size(call, values))


@gives(*_GROUP)
def warp_group(call: Any, values: Values) -> Optional[Expr]:
    """``get_warp_group_idx([warp size[, warps]])``: the index of the warpgroup in its block."""
    warps = values.expr(call.args[1]) if len(call.args) > 1 else _WARPS_OF_A_GROUP
    size = _size(call, values)
    if isinstance(size, int) and isinstance(warps, int):
        return ("//", values.thread, size * warps)
    return ("//", values.thread, ("*", size, warps))


def _size(call: Any, values: Values) -> Expr:
    return values.expr(call.args[0]) if len(call.args) else WARP


@gives(*_RANK)
def thread_rank(call: Any, values: Values) -> Optional[Expr]:
    """``cooperative_groups::this_thread_block().thread_rank()``."""
    return values.thread


@gives(*_CLUSTER_RANK)
def cluster_rank(call: Any, values: Values) -> Optional[Expr]:
    """The number of the block in its cluster."""
    return values.rank_in_cluster


@gives(*_REGISTERS)
def special_register(call: Any, values: Values) -> Optional[Expr]:
    """``mov_sreg(bits, name)``: the indices and sizes of the launch among the special registers."""
    name = values.literal(call.args[-1])
    word, _, axis = str(name).lstrip("%").partition(".")
    tags = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "threadIdx", "nctaid": "blockIdx"}
    if word in tags and axis in ("x", "y", "z"):
        tag = tags[word] + "." + axis
        return values.extent(tag) if word.startswith("n") else values.index(tag)
    if word == "laneid":
        return values.lane
    if word == "cluster_ctarank":
        return values.rank_in_cluster
    # %warpid is volatile: the program may be moved between warp slots (PTX ISA).
    return None
