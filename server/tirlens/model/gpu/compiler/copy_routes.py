"""The routes of copies between global memory, shared memory and registers.

* TMA takes a ``T.copy`` between arrays of one type whose rows are multiples of 16 bytes.
* cp.async takes copies of elements without arithmetic.  Without warps that load, a copy that
  chooses between the element and another value, or computes, is loads and stores in one buffer
  (``IsPureCopyStmt`` in ``src/transform/pipeline_planning.cc`` of tilelang).  A ``T.copy`` of warps
  that load is TMA, or else loads and stores: where TMA is disabled, or its rows are not what TMA
  takes.
* A copy to registers has one buffer.  A copy in a branch has its buffers, and is loads and stores.
* On AMD only gfx950 is pipelined (``PipelinePlanner`` in ``pipeline_planning.cc``), and a thread
  waits for its copies of 8 and 16 bytes (``cp_async_gs`` in ``src/tl_templates/hip/copy.h``).
"""

from __future__ import annotations

from math import prod

from tirlens_worker.facts import Buffer, Copy, Load, Store, TileLoad

from ...constants import constant
from ...counting.kernel_counts import AccessCount
from ...tree.context import dtype_bytes
from ...tree.node import Leaf
from ...tree.route import NO_ROUTE, CopyRoute, Route
from ...tree.thread_mapping import SHARED_SCOPES
from .routed_kernel import Guard, Pipeline, RoutedKernel

LEAST_ASYNC_BYTES = constant(
    "LEAST_ASYNC_BYTES",
    4,
    kind="isa",
    unit="bytes",
    meaning="The fewest bytes that one cp.async of a thread copies.",
    source='PTX ISA, "cp.async": cp-size of 4, 8 or 16',
)
TMA_ROW_BYTES = constant(
    "TMA_ROW_BYTES",
    16,
    kind="isa",
    unit="bytes",
    meaning="The rows of a box and the strides of an array that TMA copies are multiples of it.",
    source="CUDA Driver API, cuTensorMapEncodeTiled: globalStrides and boxDim",
)
LDS_COPY_BYTES = constant(
    "LDS_COPY_BYTES",
    4,
    kind="compiler",
    unit="bytes",
    meaning="The one width of tilelang's copies to LDS on AMD for which a thread does not wait.",
    source="tilelang, cp_async_gs in src/tl_templates/hip/copy.h",
)


def store_route(leaf: Leaf, kernel: RoutedKernel) -> Route:
    """The route of a copy of a tile to global memory."""
    writes = [entry for entry in leaf.count.accesses if entry.access.mode == "write"]
    if kernel.lowered is not None:
        written = {entry.buffer.id for entry in writes}
        moves = [move for move in kernel.lowered.moves if kernel.ids.get(move.buffer) in written]
        routes = {move.route for move in moves if move.mode == "write"}
        if routes == {"tma"}:
            return Route("tma")
        if routes == {"thread"}:
            return Route("thread")
    return Route("tma" if kernel.has_tma and can_use_tma(leaf, kernel) else "thread")


def written_route(leaf: Leaf, pipeline: Pipeline) -> Route:
    """The route of a load of another framework, which pipelines what is annotated."""
    is_load = isinstance(leaf.source, (Copy, Load)) or _copies_elements(leaf)
    if not pipeline.stages or not leaf.read_bytes or not is_load:
        return NO_ROUTE
    return Route("async", is_ahead=True, buffers=pipeline.stages)


def load_route(leaf: Leaf, kernel: RoutedKernel, pipeline: Pipeline, guard: Guard) -> Route:
    """The route of a statement of a block that reads global memory."""
    target = _shared_target(leaf, kernel)
    written = _load_route_of_source(leaf, kernel, pipeline, guard, target)
    if target is None or kernel.lowered is None or kernel.lowered.routes is None:
        return written
    loads = _lowered_loads(leaf, target, kernel)
    if not loads:
        return written
    copies = {load.route for load in loads}
    copy: CopyRoute = "thread"
    if pipeline.stages or copies == {"tma"}:
        if "tma" in copies:
            copy = "tma"
        elif "async" in copies and not _waits_for_lds_copy(leaf, kernel):
            copy = kernel.async_copy or "async"
    is_ahead = pipeline.stages > 0 and copy != "thread"
    buffers = _lowered_buffers(target, kernel) or written.buffers
    lost = "" if is_ahead else written.lost
    if not is_ahead and not lost and pipeline.stages > 1:
        version = kernel.facts.framework_version
        lost = _lost_stages(pipeline, f"tilelang {version} makes loads and stores of it")
    elif is_ahead and buffers < pipeline.stages:
        lost = _lost_stages(pipeline, f"the tile has {buffers} buffer{'s' * (buffers > 1)}")
    return Route(
        copy,
        is_ahead=is_ahead,
        buffers=buffers if pipeline.stages else 0,
        is_producers=any(load.by_producer for load in loads),
        lost=lost,
    )


def _load_route_of_source(
    leaf: Leaf,
    kernel: RoutedKernel,
    pipeline: Pipeline,
    guard: Guard,
    target: Buffer | None,
) -> Route:
    """The route of a load by tilelang's rules."""
    stages = pipeline.stages
    if not stages:
        return Route("thread")
    if kernel.device.vendor == "AMD" and kernel.async_copy is None:
        reason = f"tilelang does not pipeline loops on {kernel.device.arch}"
        return Route("thread", buffers=1, lost=_lost_stages(pipeline, reason))
    if target is None:
        if not _fills_registers(leaf):
            return Route("thread")
        reason = "a copy to registers has one buffer"
        return Route("thread", buffers=1, lost=_lost_stages(pipeline, reason))
    if guard.is_there:
        buffers = 1 if isinstance(leaf.source, Store) and guard.has_sides else stages
        reason = "a load in a branch is neither TMA nor cp.async"
        return Route("thread", buffers=buffers, lost=_lost_stages(pipeline, reason))
    if kernel.has_tma and can_use_tma(leaf, kernel):
        return Route("tma", is_ahead=True, buffers=stages, is_producers=pipeline.is_divided)
    by_producer = pipeline.is_divided and (isinstance(leaf.source, Store) or not leaf.source.arith)
    if kernel.async_copy is not None and _is_async_copy(leaf, kernel, by_producer):
        if _waits_for_lds_copy(leaf, kernel):
            reason = f"a thread waits for its copies of more than {LDS_COPY_BYTES} bytes"
            return Route("thread", buffers=stages, lost=_lost_stages(pipeline, reason))
        return Route(kernel.async_copy, is_ahead=True, buffers=stages, is_producers=by_producer)
    if kernel.async_copy is None:
        reason = f"{kernel.device.arch} has no asynchronous copies"
    elif by_producer and isinstance(leaf.source, Copy):
        reason = "a copy by the producer warps that is not TMA is no cp.async"
    elif leaf.source.arith:
        reason = "the value is computed, which neither TMA nor cp.async does"
    elif _has_guarded_read(leaf):
        reason = "it chooses between the element and another value"
    else:
        reason = f"cp.async copies at least {LEAST_ASYNC_BYTES} bytes"
    is_copy = isinstance(leaf.source, Copy) or kernel.async_copy is None
    buffers = stages if by_producer or is_copy else 1
    lost = _lost_stages(pipeline, reason)
    return Route("thread", buffers=buffers, is_producers=by_producer, lost=lost)


def _lost_stages(pipeline: Pipeline, reason: str) -> str:
    """``3 stages: a copy to registers has one buffer``; empty for a loop of one stage."""
    return f"{pipeline.stages} stages: {reason}" if pipeline.stages > 1 else ""


def _is_async_copy(leaf: Leaf, kernel: RoutedKernel, by_producer: bool) -> bool:
    """Whether a load to shared memory may be cp.async."""
    if leaf.source.arith or not isinstance(leaf.source, (Copy, Store)):
        return False
    if by_producer and isinstance(leaf.source, Copy):
        return False
    if _has_guarded_read(leaf) and not by_producer:
        return False
    return _thread_copy_bytes(leaf, kernel) >= LEAST_ASYNC_BYTES


def _waits_for_lds_copy(leaf: Leaf, kernel: RoutedKernel) -> bool:
    """Whether the threads of an AMD GPU wait for each of their copies to LDS."""
    return kernel.async_copy == "lds" and _thread_copy_bytes(leaf, kernel) > LDS_COPY_BYTES


def _thread_copy_bytes(leaf: Leaf, kernel: RoutedKernel) -> float:
    """The bytes that one instruction of a thread copies from global memory."""
    read = next(entry for entry in leaf.count.accesses if entry.buffer.scope == "global")
    vector = max(kernel.instructions[leaf].mapping.vector, 1)
    return vector * dtype_bytes(read.buffer.dtype)


def _has_guarded_read(leaf: Leaf) -> bool:
    """Whether a statement reads a global array only where a condition of its value holds."""
    return any(
        entry.access.guard is not None and entry.access.mode == "read"
        for entry in leaf.count.accesses
    )


def _copies_elements(leaf: Leaf) -> bool:
    """Whether a statement of a tile loop copies an element of a global array to shared memory."""
    source = leaf.source
    is_tile_store = isinstance(source, Store) and source.per == "block" and not source.arith
    return is_tile_store and leaf.shared_bytes > 0 and not _has_guarded_read(leaf)


def can_use_tma(leaf: Leaf, kernel: RoutedKernel) -> bool:
    """Whether TMA can copy the tile of a ``T.copy`` between global and shared memory."""
    source = leaf.source
    if not isinstance(source, Copy) or not source.may_use_tma or source.arith:
        return False
    scopes = {entry.buffer.scope for entry in leaf.count.accesses}
    if "global" not in scopes or not scopes & SHARED_SCOPES:
        return False
    return all(_has_tma_rows(entry) for entry in leaf.count.accesses)


def _has_tma_rows(entry: AccessCount) -> bool:
    """Whether the rows of a box, and those of its global array, are multiples of 16 bytes."""
    element_bytes = dtype_bytes(entry.buffer.dtype)
    rows: list[object] = [*entry.access.extents[-1:]]
    if entry.buffer.scope == "global" and len(entry.buffer.shape) > 1:
        rows.append(entry.buffer.shape[-1])
    return all(
        not isinstance(size, int) or size * element_bytes % TMA_ROW_BYTES == 0 for size in rows
    )


def _shared_target(leaf: Leaf, kernel: RoutedKernel) -> Buffer | None:
    """The shared array that a statement writes."""
    return next(
        (
            kernel.buffer_of(entry)
            for entry in leaf.count.accesses
            if entry.access.mode == "write" and entry.buffer.scope in SHARED_SCOPES
        ),
        None,
    )


def _fills_registers(leaf: Leaf) -> bool:
    """Whether a statement copies a tile from global memory to registers."""
    writes = [entry for entry in leaf.count.accesses if entry.access.mode == "write"]
    return isinstance(leaf.source, (Copy, Store)) and all(
        entry.buffer.scope.startswith("local") for entry in writes
    )


def _lowered_loads(leaf: Leaf, target: Buffer, kernel: RoutedKernel) -> list[TileLoad]:
    """The loads of the lowered code that a statement became."""
    routes = kernel.lowered.routes if kernel.lowered else None
    if routes is None:
        return []
    read = {
        kernel.buffer_of(entry).id
        for entry in leaf.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
    }
    ids = kernel.ids
    return [
        load
        for load in routes.loads
        if ids.get(load.shared) == target.id and ids.get(load.buffer) in read
    ]


def _lowered_buffers(target: Buffer, kernel: RoutedKernel) -> int | None:
    """The buffers of a shared array in the lowered code; None where that is not known."""
    routes = kernel.lowered.routes if kernel.lowered else None
    sizes = [size for size in target.shape if isinstance(size, int)]
    if routes is None or len(sizes) < len(target.shape) or not prod(sizes):
        return None
    ids = kernel.ids
    elements = next(
        (one.elements for one in routes.shared_arrays if ids.get(one.name) == target.id), 0
    )
    return max(elements // prod(sizes), 1) if elements else None
