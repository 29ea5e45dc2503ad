"""Facts of a few kernels, built by hand: what the model and the rules are tested on."""

from __future__ import annotations

from collections.abc import Mapping

from tirlens.hardware import Device
from tirlens.model.counting.kernel_counts import NodeCount
from tirlens.model.gpu.compiler.memory_instructions import issue_requests
from tirlens.model.gpu.kernel import GpuKernel, model_gpu_kernel
from tirlens.model.gpu.mapping.thread_mapping import map_to_threads
from tirlens.model.tree.compiled import Instructions
from tirlens.model.tree.context import LoopContext
from tirlens.model.tree.node import NO_ARITH, Leaf, leaves_of
from tirlens.model.tree.table import Table
from tirlens.model.tree.thread_mapping import Mapped, ThreadMapping
from tirlens.model.workload import Workload, count_workload
from tirlens_worker.facts import (
    Access,
    Arith,
    Buffer,
    Copy,
    Gemm,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Span,
    Statement,
    Store,
    Variable,
)


def site(line: int) -> tuple[Span, ...]:
    return (Span(line, 0, line, 20),)


def facts(
    body: tuple[Node, ...], buffers: tuple[Buffer, ...], launch: Launch | None = None
) -> KernelFacts:
    """Facts about a kernel of this body: nothing in them tells where it was written."""
    return KernelFacts(
        name="main",
        definition="main",
        span=Span(1, 0, 1, 4),
        framework="tilelang",
        framework_version="0.1.15",
        call="main()",
        call_source="option",
        variables=(),
        buffers=buffers,
        launch=launch or Launch(),
        body=body,
    )


def launched(
    body: tuple[Node, ...], buffers: tuple[Buffer, ...], blocks: int = 8, threads: int = 128
) -> KernelFacts:
    """Facts about a body that each of `threads` threads runs, in each of `blocks` blocks."""
    block = Loop("block", "tx", 0, threads, body, tag="threadIdx.x", sites=site(2))
    grid = Loop("grid", "bx", 0, blocks, (block,), tag="blockIdx.x", sites=site(1))
    return facts((grid,), buffers, Launch((blocks,), (threads,)))


def workload(kernel: KernelFacts, sizes: Mapping[str, int] | None = None) -> Workload:
    """What an analysis computes of a kernel before a device is chosen."""
    return count_workload(kernel, sizes or {})


def leaves(kernel: KernelFacts, sizes: Mapping[str, int] | None = None) -> tuple[Leaf, ...]:
    """The statements of a kernel as the model works on them, in program order."""
    return tuple(leaves_of(workload(kernel, sizes).tree))


def instructions(
    kernel: KernelFacts, sizes: Mapping[str, int] | None = None
) -> tuple[Instructions, ...]:
    """The instructions of the statements of a kernel, in program order."""
    return tuple(workload(kernel, sizes).instructions)


def modelled(kernel: KernelFacts, device: Device) -> GpuKernel:
    """A kernel with what each stage finds of it on a GPU."""
    return model_gpu_kernel(workload(kernel), device)


def busy_times(kernel: KernelFacts, device: Device) -> tuple[Mapping[str, float], ...]:
    """The busy times of the statements of a kernel on a GPU, in program order."""
    return tuple(modelled(kernel, device).busy.unit_s)


def statement(
    source: Statement, context: LoopContext, threads: int = 1, count: NodeCount | None = None
) -> Leaf:
    """A statement of which nothing is counted, the first of its kernel."""
    return Leaf(
        number=0,
        source=source,
        count=count or NodeCount(source, 1, 1),
        context=context,
        threads=threads,
        arith=NO_ARITH,
        flop=0,
        useful_flop=0,
        masked_flop=0,
        read_bytes=0,
        write_bytes=0,
        shared_bytes=0,
    )


def issued_mapping(
    source: Statement,
    context: LoopContext,
    buffers: Mapping[str, Buffer],
    threads: int,
    accumulators: frozenset[str] = frozenset(),
) -> ThreadMapping:
    """The thread mapping of a statement with the loads and stores that the compiler issues."""
    mapping = map_to_threads(source, context, buffers, threads, accumulators)
    mapped = Mapped(Table([mapping]), Table([0]), accumulators)
    return issue_requests(statement(source, context, threads), mapped, buffers, {})


def tile(
    source: str, target: str, box: tuple[int, int], at: dict[str, tuple], line: int
) -> Statement:
    zero = (0, 0)
    return Copy(
        label=f"T.copy({source}, {target})",
        accesses=(
            Access(source, "read", at.get(source, zero), box, clipped=source in at, route="tile"),
            Access(target, "write", at.get(target, zero), box, clipped=target in at, route="tile"),
        ),
        per="block",
        sites=site(line),
    )


def gemm(
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    tile_m: int = 128,
    tile_n: int = 128,
    tile_k: int = 64,
    stages: int = 3,
    threads: int = 128,
    dtype: str = "float16",
) -> KernelFacts:
    buffers = (
        Buffer("A", "A", dtype, (m, k), is_parameter=True),
        Buffer("B", "B", dtype, (k, n), is_parameter=True),
        Buffer("C", "C", "float16", (m, n), is_parameter=True),
        Buffer("As", "A_shared", dtype, (tile_m, tile_k), scope="shared.dyn"),
        Buffer("Bs", "B_shared", dtype, (tile_k, tile_n), scope="shared.dyn"),
        Buffer("Cl", "C_local", "float32", (tile_m, tile_n), scope="local.fragment"),
    )
    row, column, depth = ("*", "by", tile_m), ("*", "bx", tile_n), ("*", "k", tile_k)
    mma = Gemm(
        label="T.gemm(A_shared, B_shared, C_local)",
        arith=(Arith("mma", dtype, tile_m * tile_n * tile_k, accumulator="float32"),),
        accesses=(
            Access("As", "read", (0, 0), (tile_m, tile_k), route="mma"),
            Access("Bs", "read", (0, 0), (tile_k, tile_n), route="mma"),
        ),
        per="block",
        sites=site(7),
    )
    loop = Loop(
        "pipelined",
        "k",
        0,
        k // tile_k,
        (
            tile("A", "As", (tile_m, tile_k), {"A": (row, depth)}, 5),
            tile("B", "Bs", (tile_k, tile_n), {"B": (depth, column)}, 6),
            mma,
        ),
        label="for k in T.Pipelined",
        sites=site(4),
        annotations={"num_stages": stages},
    )
    store = tile("Cl", "C", (tile_m, tile_n), {"C": (row, column)}, 8)
    body: tuple = (loop, store)
    for kind, var, extent, tag in (
        ("block", "tx", threads, "threadIdx.x"),
        ("grid", "by", m // tile_m, "blockIdx.y"),
        ("grid", "bx", n // tile_n, "blockIdx.x"),
    ):
        body = (Loop(kind, var, 0, extent, body, tag=tag, label="T.Kernel", sites=site(3)),)
    return KernelFacts(
        name="main",
        definition="matmul",
        span=Span(1, 0, 1, 5),
        framework="tilelang",
        framework_version="0.1.15",
        call="matmul()",
        call_source="directive",
        variables=(),
        buffers=buffers,
        launch=Launch((n // tile_n, m // tile_m, 1), (threads, 1, 1)),
        body=body,
    )


def scale(n: object = 1 << 20, scheduled: bool = True) -> KernelFacts:
    """``B[i] = A[i] * 2`` with four elements a thread, or as a plain loop."""
    lanes = 4 if scheduled else 1
    index = ("*", ("+", ("*", "bx", 256), "tx"), 4) if scheduled else "i"
    store = Store(
        label="B[...] = ...",
        arith=(Arith("mul", "float32", lanes),),
        accesses=(
            Access("A", "read", (index,), lanes=lanes),
            Access("B", "write", (index,), lanes=lanes),
        ),
        sites=site(4),
    )
    body: tuple = (store,)
    if scheduled:
        body = (Loop("block", "tx", 0, 256, body, tag="threadIdx.x", sites=site(3)),)
        blocks = ("//", n, 1024)
        body = (Loop("grid", "bx", 0, blocks, body, tag="blockIdx.x", sites=site(2)),)
    else:
        body = (Loop("parallel", "i", 0, n, body, sites=site(2)),)
    return KernelFacts(
        name="scale",
        definition="scale",
        span=Span(1, 0, 1, 5),
        framework="tvm",
        framework_version="0.27",
        call="scale",
        call_source="module-level",
        variables=(Variable("n"),) if n == "n" else (),
        buffers=tuple(
            Buffer(name, name, "float32", (n,), is_parameter=True) for name in ("A", "B")
        ),
        launch=Launch((("//", n, 1024),), (256,)) if scheduled else Launch(),
        body=body,
    )
