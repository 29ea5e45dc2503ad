"""Barriers, fences, waits and arrivals, which order execution without arithmetic and accesses.

Sources: tilelang ``src/op/builtin.cc`` and ``src/cuda/op/builtin.cc``, TVM ``tirx/op.py`` and the
table of the PTX dialect ``backend/cuda/ptx/table.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional

from ..facts import Barrier, BarrierKind, Signal, SignalKind, Statement
from .build import short_name
from .intrinsics.mma import predicate
from .registry import Context, accounts, canonical

TILELANG = """
    mbarrier_wait_parity mbarrier_expect_tx mbarrier_arrive* ptx_fence_barrier_init
    ptx_arrive_cluster_barrier ptx_cp_async_barrier_noinc named_barrier_arrive sync_grid sync_warp
    sync_thread_partial sync_threads syncthreads_count syncthreads_and syncthreads_or
    fence_proxy_async tcgen05_before_thread_sync tcgen05_after_thread_sync tma_store_arrive
    tma_store_wait wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait
    warpgroup_fence_operand cluster_arrive cluster_arrive_relaxed cluster_wait cluster_sync
    tcgen05_mma_arrive pdl_trigger pdl_sync get_mbarrier create_list_of_mbarrier clc_try_cancel*
    ascend_set_flag ascend_wait_flag ascend_pipe_barrier ascend_threadfence
    ascend_cross_core_set_flag ascend_cross_core_wait_flag simd.mem_bar
"""

TVM = """
    tvm_storage_sync tvm_global_barrier_kinit create_barriers
    ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_commit_group ptx_wait_group
    ptx_wait_barrier ptx_cp_async_barrier ptx_init_barrier_thread_count
    cuda.cta_sync cuda.warp_sync cuda.warpgroup_sync cuda.cluster_sync cuda.grid_sync
    cuda.thread_fence cuda.mbarrier_wait* cuda.syncthreads_and cuda.syncthreads_or
    cuda.wait_until cuda.nano_sleep cuda.wgmma_noop_barrier
    ptx.mbarrier_* ptx.bar_* ptx.barrier_* ptx.fence* ptx.griddepcontrol* ptx.clc_*
    ptx.clusterlaunchcontrol_* ptx.cp_async_bulk_commit_group ptx.cp_async_bulk_wait_group
    ptx.cp_async_commit_group ptx.cp_async_wait_all ptx.cp_async_wait_group
    ptx.cp_async_mbarrier_arrive ptx.wgmma_fence ptx.wgmma_commit_group ptx.wgmma_wait_group
    ptx.wgmma_noop_barrier ptx.tcgen05_wait* ptx.tcgen05_commit* ptx.tcgen05_fence*
    ptx.tensormap_cp_fenceproxy nvshmem.barrier_all nvshmem.fence nvshmem.quiet
    nvshmem.wait_until nvshmem.signal_op dma_wait dma_start_group dma_end_group
"""


#: The operation of a call on the barrier that is its first operand.
_SIGNALS: Dict[str, SignalKind] = {
    "mbarrier_wait_parity": "wait",
    "mbarrier_wait": "wait",
    "mbarrier_wait_acquire_cluster": "wait",
    "mbarrier_try_wait": "wait",
    "mbarrier_try_wait_parity": "wait",
    "mbarrier_try_wait_parity_no_hint": "wait",
    "mbarrier_test_wait": "wait",
    "mbarrier_test_wait_parity": "wait",
    "ptx_wait_barrier": "wait",
    "mbarrier_arrive": "arrive",
    "mbarrier_arrive_expect_tx": "arrive",
    "mbarrier_arrive_nocount": "arrive",
    "mbarrier_arrive_count_state": "arrive",
    "ptx_arrive_barrier": "arrive",
    "ptx_arrive_barrier_expect_tx": "arrive",
    "tcgen05_mma_arrive": "commit",
    "tcgen05_commit": "commit",
    "tcgen05_commit_multicast": "commit",
    "ptx_cp_async_barrier": "fetch",
    "ptx_cp_async_barrier_noinc": "fetch",
    "cp_async_mbarrier_arrive": "fetch",
}
#: The operation of a call on the numbered barrier of the block in its first operand.
_NUMBERED: Dict[str, SignalKind] = {
    "named_barrier_arrive": "arrive",
    "bar_arrive": "arrive",
    "barrier_arrive": "arrive",
    "bar_sync_count": "sync",
    "barrier_sync_count": "sync",
}
_DRAINS = frozenset({"wait_wgmma", "warpgroup_wait", "wgmma_wait_group"})
#: Words in the names of operations that do not wait.
_WAITLESS = ("arrive", "fence", "commit", "init", "trigger", "expect")


@accounts(*("tl." + name for name in TILELANG.split()), *("tir." + name for name in TVM.split()))
def synchronize(call: Any, context: Context) -> Statement:
    """A barrier, fence, wait or arrival, with its operations on barriers."""
    name = short_name(canonical(call.op.name))
    signals = tuple(_signals(name, list(call.args), context))
    guard = predicate(call, context) if signals else None
    if guard is not None:
        signals = tuple(replace(one, guard=guard) for one in signals)
    return Barrier(label="T.{}()".format(name), signals=signals, kind=barrier_kind(name))


def barrier_kind(name: str) -> BarrierKind:
    """The kind of synchronisation of the operation or function `name`, by words of the name."""
    if "wgmma" in name:
        return "wgmma"
    return "arrive" if any(word in name for word in _WAITLESS) else "wait"


def _signals(name: str, operands: List[Any], context: Context) -> Iterator[Signal]:
    if name in _SIGNALS and operands:
        kind = _SIGNALS[name]
        operands = _without_result(operands, context)
        parity = context.first_value(operands[1]) if kind == "wait" and len(operands) > 1 else None
        found = signal(kind, operands[0], context, parity)
        if found is not None:
            yield found
    elif name == "mbarrier_init" and len(operands) > 1:
        where = context.region(operands[0])
        if where is not None and len(where.indices) == 1:
            context.set_arrivals(where, context.expr(operands[1]))
    elif name == "tvm_storage_sync" and len(operands) == 3:
        yield Signal("sync", index=context.expr(operands[1]), count=context.expr(operands[2]))
    elif name in _NUMBERED and len(operands) > 1:
        index, count = (context.expr(node) for node in operands[:2])
        yield Signal(_NUMBERED[name], index=index, count=count)
    elif name in _DRAINS:
        yield Signal("drain", count=context.expr(operands[0]) if operands else 0)


def _without_result(operands: List[Any], context: Context) -> List[Any]:
    """The operands without the destination register of PTX: a state or a predicate."""
    first = context.region(operands[0])
    in_register = first is not None and first.buffer.scope.startswith("local")
    return operands[1:] if in_register and len(operands) > 1 else operands


def signal(
    kind: SignalKind, barrier: Any, context: Context, parity: Optional[int] = None
) -> Optional[Signal]:
    """The operation on the barrier that the operand `barrier` denotes; None if it denotes none."""
    where = context.region(barrier)
    if where is None or len(where.indices) != 1:
        return None
    index, counts = where.indices[0], context.arrivals(where.buffer)
    which = index if isinstance(index, int) else 0
    return Signal(
        kind,
        where.buffer.id,
        index,
        where.buffer.shape[0],
        counts[which] if which < len(counts) else None,
        None if parity is None else parity & 1,
    )
