"""The routes of statements: what tilelang makes of copies, products and pipelined loops.

Where a kernel is lowered for the device, its lowered code says.  Elsewhere these are tilelang's own
rules:

* A product is tcgen05 where its result is in tensor memory, wgmma on sm_90 where B is in shared
  memory, it has 64 rows and whole warpgroups, and mma.sync otherwise (``SelectInst``,
  ``CheckWgmma`` in ``src/cuda/op/gemm.cc``).
* Only loops of `T.Pipelined` with at least one stage load by TMA or cp.async.  TMA takes a
  ``T.copy`` between arrays of one type.  A loop with such a copy is divided into warps that load
  and warps that compute; the former execute all that stores to shared memory what it reads from
  global memory (``src/cuda/transform/producer_consumer_ws.cc``).
* cp.async takes copies of elements without arithmetic.  Without warps that load, a copy that
  chooses between the element and another value, or computes, is loads and stores in one buffer
  (``IsPureCopyStmt`` in ``src/transform/pipeline_planning.cc``).  A ``T.copy`` of warps that load
  is TMA, or else loads and stores: where TMA is disabled, or its rows are not what TMA takes.
* A copy to registers has one buffer.  A copy in a branch has its buffers, and is loads and stores.
* On AMD only gfx950 is pipelined (``PipelinePlanner`` in ``pipeline_planning.cc``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tirlens.hardware.spec import Device
from tirlens_worker.facts import (
    Branch,
    Buffer,
    Copy,
    Gemm,
    KernelFacts,
    Load,
    LoweredLaunch,
    MatrixInstruction,
    Mma,
    Store,
    TileLoad,
)

from ...constants import constant
from ...counting.kernel_counts import AccessCount
from ...tree.compiled import Instructions
from ...tree.context import WARPGROUP, dtype_bytes
from ...tree.node import BranchCost, CostNode, Leaf, LoopCost
from ...tree.route import NO_ROUTE, CopyRoute, Route
from ...tree.table import Table
from .matrix_instructions import WGMMA_ROWS

_SHARED = frozenset({"shared", "shared.dyn"})
_TENSOR_MEMORY = "shared.tmem"
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
_INSTRUCTION_NAMES: Mapping[MatrixInstruction, str] = {"mma": "mma.sync", "rdna_wmma": "wmma"}


def choose_routes(
    nodes: Sequence[CostNode],
    instructions: Table[Instructions],
    facts: KernelFacts,
    device: Device,
) -> Table[Route]:
    """The route of each statement of a kernel on a device.

    Parameters
    ----------
    nodes
        The body of the kernel.
    instructions
        The instructions of its statements.
    facts
        The kernel, with its lowered code where it is lowered for the device.
    device
        The device.
    """
    lowered = facts.lowered_for(device.arch)
    kernel = _Kernel(facts, device, lowered, facts.ids_by_name(), instructions)
    return Table(_route_leaves(nodes, kernel, _NO_PIPELINE, _NO_GUARD))


def written_stages(loop: LoopCost) -> int:
    """The stages that the source of a pipelined loop asks for; 0 for any other loop."""
    stages = loop.source.annotations.get("num_stages", 0)
    return stages if loop.source.kind == "pipelined" and isinstance(stages, int) else 0


def buffers_ahead(node: CostNode, routes: Table[Route]) -> int:
    """The most buffers that the loop of a node fills ahead of their use; 0 where it does not."""
    inside = (routes[leaf] for leaf in node.leaves())
    return max((route.buffers for route in inside if route.is_ahead), default=0)


def has_tma_producer(leaves: Iterable[Leaf], routes: Table[Route]) -> bool:
    """Whether warps of their own load tiles by TMA."""
    return any(routes[leaf].is_producers and routes[leaf].copy == "tma" for leaf in leaves)


def instruction_name(instruction: MatrixInstruction) -> str:
    """The name of a family of matrix instructions: ``mma.sync``, ``wgmma``."""
    return _INSTRUCTION_NAMES.get(instruction, instruction)


@dataclass(frozen=True)
class _Kernel:
    """What the routes of a kernel's statements depend on; `ids` has arrays by lowered name."""

    facts: KernelFacts
    device: Device
    lowered: LoweredLaunch | None
    ids: Mapping[str, str]
    instructions: Table[Instructions]

    @property
    def is_tilelang(self) -> bool:
        return self.facts.framework == "tilelang"

    @property
    def has_tma(self) -> bool:
        return "tma" in self.device.features and self.facts.attributes.get("tma") is not False

    @property
    def async_copy(self) -> CopyRoute | None:
        """The asynchronous copies to shared memory that threads issue; None without any."""
        if "cp.async" in self.device.features:
            return "async"
        return "lds" if self.device.arch == "gfx950" else None

    def buffer_of(self, entry: AccessCount) -> Buffer:
        """The array of an access, and not a view of it."""
        owner = entry.buffer.alias_of
        if owner is None:
            return entry.buffer
        return next((one for one in self.facts.buffers if one.id == owner), entry.buffer)


@dataclass(frozen=True)
class _Pipeline:
    """The pipelined loop around a statement, of so many stages; `is_divided` into warp roles."""

    stages: int
    is_divided: bool = False


_NO_PIPELINE = _Pipeline(0)


@dataclass(frozen=True)
class _Guard:
    """The branches between a statement and its pipelined loop; `has_sides`: one has an else."""

    is_there: bool = False
    has_sides: bool = False

    def inside(self, node: CostNode) -> _Guard:
        if not isinstance(node, BranchCost):
            return self
        return _Guard(True, self.has_sides or bool(node.source.orelse))


_NO_GUARD = _Guard()


def _route_leaves(
    nodes: Sequence[CostNode], kernel: _Kernel, pipeline: _Pipeline, guard: _Guard
) -> Iterator[Route]:
    for node in nodes:
        if isinstance(node, Leaf):
            yield _route(node, kernel, pipeline, guard)
        elif isinstance(node, LoopCost) and node.source.kind == "pipelined":
            stages = written_stages(node)
            inner = _Pipeline(stages, stages > 0 and _is_divided(node, kernel))
            body = _guarded_body(node) if inner.is_divided else node.children
            yield from _route_leaves(body, kernel, inner, _NO_GUARD)
        else:
            yield from _route_leaves(node.children, kernel, pipeline, guard.inside(node))


def _guarded_body(loop: CostNode) -> Sequence[CostNode]:
    """The statements of a loop, or of the one branch without another side that is its body."""
    children = loop.children
    if len(children) == 1 and isinstance(children[0].source, Branch):
        return children if children[0].source.orelse else children[0].children
    return children


def _is_divided(loop: LoopCost, kernel: _Kernel) -> bool:
    """Whether tilelang divides the warps of a pipelined loop into a producer and consumers."""
    if not kernel.is_tilelang or not kernel.has_tma:
        return False
    if kernel.facts.attributes.get("warp_specialized") is False:
        return False
    return any(
        isinstance(node, Leaf) and _can_use_tma(node, kernel) for node in _guarded_body(loop)
    )


def _route(leaf: Leaf, kernel: _Kernel, pipeline: _Pipeline, guard: _Guard) -> Route:
    source = leaf.source
    if isinstance(source, Gemm):
        return _product_route(leaf, source, kernel)
    if isinstance(source, Mma):
        return Route(instruction=source.instruction)
    if isinstance(source, Copy) and any(one.route == "tma" for one in source.accesses):
        return Route("tma")
    if not kernel.is_tilelang:
        return _written_route(leaf, pipeline)
    if isinstance(source, Copy) and leaf.write_bytes:
        return _store_route(leaf, kernel)
    if not leaf.read_bytes or leaf.source.per != "block":
        return NO_ROUTE
    return _load_route(leaf, kernel, pipeline, guard)


def _written_route(leaf: Leaf, pipeline: _Pipeline) -> Route:
    """The route of a load of another framework, which pipelines what is annotated."""
    is_load = isinstance(leaf.source, (Copy, Load)) or _copies_elements(leaf)
    if not pipeline.stages or not leaf.read_bytes or not is_load:
        return NO_ROUTE
    return Route("async", is_ahead=True, buffers=pipeline.stages)


# Products


def _product_route(leaf: Leaf, product: Gemm, kernel: _Kernel) -> Route:
    wanted = _widest_instruction(kernel.device)
    if not kernel.is_tilelang or product.instruction is not None:
        return Route(instruction=product.instruction or wanted)
    reason = _reason_against(wanted, leaf, product)
    chosen = _lowered_instruction(leaf, kernel) or ("mma" if reason else wanted)
    if chosen != "mma" or wanted == "mma":
        return Route(instruction=chosen)
    version = kernel.facts.framework_version
    why = reason or f"tilelang {version} does not use it for this product"
    return Route(instruction=chosen, lost=f"{instruction_name(wanted)}: {why}")


def _widest_instruction(device: Device) -> MatrixInstruction:
    for name in ("tcgen05", "wgmma", "mfma", "simdgroup"):
        if name in device.features:
            return name
    return "mma"


def _reason_against(wanted: MatrixInstruction, leaf: Leaf, product: Gemm) -> str:
    """Why tilelang does not use the widest instruction of a device; empty if it does."""
    operands = [entry for entry in leaf.count.accesses if entry.access.route == "mma"]
    results = [entry for entry in operands if entry.access.mode != "read"]
    reads = [entry for entry in operands if entry.access.mode == "read"]
    if wanted == "tcgen05":
        if any(entry.buffer.scope != _TENSOR_MEMORY for entry in results):
            return "the result is in registers, and tcgen05 adds to tensor memory (T.alloc_tmem)"
        if len(reads) > 1 and reads[1].buffer.scope not in _SHARED:
            return "B is not in shared memory"
        return ""
    if wanted != "wgmma":
        return ""
    if len(reads) > 1 and reads[1].buffer.scope not in _SHARED:
        return "B is in registers, and wgmma reads it from shared memory"
    rows = product.m_n_k[0] if product.m_n_k else None
    if isinstance(rows, int) and rows < WGMMA_ROWS:
        return f"{rows} rows, and wgmma multiplies {WGMMA_ROWS}"
    if leaf.threads % WARPGROUP:
        return f"{leaf.threads} threads are no whole warpgroups of {WARPGROUP}"
    return _type_reason(reads, results, product)


def _type_reason(
    reads: Sequence[AccessCount], results: Sequence[AccessCount], product: Gemm
) -> str:
    """Why wgmma does not multiply these types, or does not have them transposed as they are."""
    if not reads or not results:
        return ""
    operand, result = reads[0].buffer.dtype, results[0].buffer.dtype
    is_float8 = operand.startswith("float8")
    with_float32 = operand in ("float16", "bfloat16", "tfloat32", "float32") or is_float8
    known = {
        "float16": operand == "float16" or is_float8,
        "float32": with_float32,
        "int32": operand in ("int8", "uint8"),
    }
    if not known.get(result, False):
        return f"wgmma does not add products of {operand} to {result}"
    if operand not in ("float16", "bfloat16") and product.transposes not in (None, (False, True)):
        return f"wgmma multiplies {operand} only where A and B are contiguous along k"
    return ""


def _lowered_instruction(leaf: Leaf, kernel: _Kernel) -> MatrixInstruction | None:
    """The instruction of a product in the lowered code; None where that does not tell."""
    if kernel.lowered is None:
        return None
    routes = kernel.lowered.routes
    if routes is None or len({one.instruction for one in routes.products}) < 2:
        family: MatrixInstruction | None = kernel.lowered.matrix_instruction
        return family
    results = {
        kernel.buffer_of(entry).id for entry in leaf.count.accesses if entry.access.mode != "read"
    }
    found: list[MatrixInstruction] = [
        one.instruction for one in routes.products if kernel.ids.get(one.accumulator) in results
    ]
    return found[0] if len(set(found)) == 1 else None


# Copies


def _store_route(leaf: Leaf, kernel: _Kernel) -> Route:
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
    return Route("tma" if kernel.has_tma and _can_use_tma(leaf, kernel) else "thread")


def _load_route(leaf: Leaf, kernel: _Kernel, pipeline: _Pipeline, guard: _Guard) -> Route:
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
        copy = "tma" if "tma" in copies else "async" if "async" in copies else "thread"
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
    kernel: _Kernel,
    pipeline: _Pipeline,
    guard: _Guard,
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
    if kernel.has_tma and _can_use_tma(leaf, kernel):
        return Route("tma", is_ahead=True, buffers=stages, is_producers=pipeline.is_divided)
    by_producer = pipeline.is_divided and (isinstance(leaf.source, Store) or not leaf.source.arith)
    if kernel.async_copy is not None and _is_async_copy(leaf, kernel, by_producer):
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


def _lost_stages(pipeline: _Pipeline, reason: str) -> str:
    """``3 stages: a copy to registers has one buffer``; empty for a loop of one stage."""
    return f"{pipeline.stages} stages: {reason}" if pipeline.stages > 1 else ""


def _is_async_copy(leaf: Leaf, kernel: _Kernel, by_producer: bool) -> bool:
    """Whether a load to shared memory may be cp.async."""
    if leaf.source.arith or not isinstance(leaf.source, (Copy, Store)):
        return False
    if by_producer and isinstance(leaf.source, Copy):
        return False
    if _has_guarded_read(leaf) and not by_producer:
        return False
    read = next(entry for entry in leaf.count.accesses if entry.buffer.scope == "global")
    vector = max(kernel.instructions[leaf].mapping.vector, 1)
    return vector * dtype_bytes(read.buffer.dtype) >= LEAST_ASYNC_BYTES


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


def _can_use_tma(leaf: Leaf, kernel: _Kernel) -> bool:
    """Whether TMA can copy the tile of a ``T.copy`` between global and shared memory."""
    source = leaf.source
    if not isinstance(source, Copy) or not source.may_use_tma or source.arith:
        return False
    scopes = {entry.buffer.scope for entry in leaf.count.accesses}
    if "global" not in scopes or not scopes & _SHARED:
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


def _shared_target(leaf: Leaf, kernel: _Kernel) -> Buffer | None:
    """The shared array that a statement writes."""
    return next(
        (
            kernel.buffer_of(entry)
            for entry in leaf.count.accesses
            if entry.access.mode == "write" and entry.buffer.scope in _SHARED
        ),
        None,
    )


def _fills_registers(leaf: Leaf) -> bool:
    """Whether a statement copies a tile from global memory to registers."""
    writes = [entry for entry in leaf.count.accesses if entry.access.mode == "write"]
    return isinstance(leaf.source, (Copy, Store)) and all(
        entry.buffer.scope.startswith("local") for entry in writes
    )


def _lowered_loads(leaf: Leaf, target: Buffer, kernel: _Kernel) -> list[TileLoad]:
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


def _lowered_buffers(target: Buffer, kernel: _Kernel) -> int | None:
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


__all__ = [
    "buffers_ahead",
    "choose_routes",
    "has_tma_producer",
    "instruction_name",
    "written_stages",
]
