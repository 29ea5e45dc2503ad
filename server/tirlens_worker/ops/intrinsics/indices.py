"""Indices of threads, warps, blocks and clusters that a kernel asks for by a call.

They take no time: the compiler keeps them in registers or in special registers.  ``T.get_warp_idx``
and the like divide the index of the thread in its block, x fastest, by the size of a warp, which
the call may state.  Special registers have their names in PTX.

Sources: tilelang ``language/builtin.py`` and ``src/tl_templates/cuda/intrin.h`` (get_lane_idx,
get_warp_idx, get_warp_group_idx, tl_shuffle_elect); TVM ``backend/cuda/op.py`` (cuda.thread_rank,
cuda.mov_sreg, ptx.fetch_register); TIRx ``backend/cuda/op.py`` (cuda.block_idx and the like); PTX
ISA, "Special Registers".
"""

from __future__ import annotations

from typing import Any, Optional

from ...facts import Expr
from ..build import WARP
from ..registry import Values, canonical, gives, scalars, unknown

_WARPS_OF_A_GROUP = 4
_LANE = ("tl.get_lane_idx", "tir.cuda.lane_id")
_WARP_INDEX = ("tl.get_warp_idx", "tl.get_warp_idx_sync", "tir.cuda.warp_id")
_GROUP = ("tl.get_warp_group_idx", "tir.cuda.warpgroup_id")
_RANK = ("tir.cuda.thread_rank", "tir.cuda.linear_thread_id")
_CLUSTER_RANK = ("tl.block_rank_in_cluster",)
_REGISTERS = ("tir.cuda.mov_sreg", "tir.ptx.fetch_register", "tir.ptx_fetch_register")

scalars("", *_LANE, *_WARP_INDEX, *_GROUP, *_RANK, *_CLUSTER_RANK, *_REGISTERS)
scalars("", "tl.launch_thread_idx")
#: The calls of TIRx for an index or extent along an axis, with the tags of what they ask for.
_OF_AN_AXIS = {
    "tir.cuda.block_idx": ("blockIdx", "index"),
    "tir.cuda.thread_idx": ("threadIdx", "index"),
    "tir.cuda.grid_dim": ("blockIdx", "extent"),
    "tir.cuda.block_dim": ("threadIdx", "extent"),
}
_IN_A_GROUP = ("tir.cuda.warp_in_warpgroup", "tir.cuda.thread_in_warpgroup")
_CLUSTER = ("tir.cuda.cluster_cta_id", "tir.cuda.cluster_id", "tir.cuda.cluster_dim")
_PAIR = ("tir.cuda.cta_pair_id",)
scalars("", *_OF_AN_AXIS, *_IN_A_GROUP, *_CLUSTER, *_PAIR)

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


@gives(*_OF_AN_AXIS)
def along_an_axis(call: Any, values: Values) -> Optional[Expr]:
    """``T.cuda.block_idx("x")``, ``thread_idx``, ``grid_dim`` and ``block_dim``."""
    tag, what = _OF_AN_AXIS["tir." + canonical(call.op.name)]
    axis = "{}.{}".format(tag, values.literal(call.args[0]))
    return values.index(axis) if what == "index" else values.extent(axis)


@gives(*_IN_A_GROUP)
def in_a_warpgroup(call: Any, values: Values) -> Optional[Expr]:
    """The index of the warp, or of the thread, in its warpgroup."""
    if "warp_in" in call.op.name:
        return ("%", ("//", values.thread, WARP), _WARPS_OF_A_GROUP)
    return ("%", values.thread, WARP * _WARPS_OF_A_GROUP)


@gives(*_CLUSTER)
def of_the_cluster(call: Any, values: Values) -> Optional[Expr]:
    """The block's index in its cluster, the cluster's index, or the cluster's extent."""
    axis = str(values.literal(call.args[0]))
    extent = values.cluster_extent("xyz".index(axis))
    if call.op.name.endswith("cluster_dim"):
        return extent
    block = values.index("blockIdx." + axis)
    return ("%" if call.op.name.endswith("cta_id") else "//", block, extent)


@gives(*_PAIR)
def in_a_pair(call: Any, values: Values) -> Optional[Expr]:
    """The block's number in its pair: two neighbours in a cluster, x fastest (PTX ISA)."""
    return ("%", values.rank_in_cluster, 2)
