"""Each rule speaks where it should, stays silent where it should, and its saving is the model's."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from support.actions import ACTION
from support.kernels import gemm, scale, site
from tirlens.advice import Question, advise, rewrite, splitting
from tirlens.advice.independence import nests, with_innermost
from tirlens.advice.rules import launch_bound, no_tensor_core, partial_warp, tail_wave
from tirlens.hardware import load
from tirlens.ide import verdicts
from tirlens.model import analyze
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens.model.report import Advice, BreakdownEntry, Waves
from tirlens.model.reporting.bound import find_bound
from tirlens_worker import framework_names
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Branch,
    Buffer,
    Copy,
    Gemm,
    KernelFacts,
    Launch,
    Loop,
    LoweredLaunch,
    Node,
    Statement,
    Store,
)


def half_product(dtype: str = "float16", n: int = 2048, by_row: bool = False) -> KernelFacts:
    """``C[i, j] += A[i, k] * B[k, j]`` on the scalar cores, its operands in registers.

    `by_row`, ``C[i, j] += A[i, j, k] * B[i, j, k]``, which multiplies no matrices.
    """
    i, j = ("+", ("*", "by", 16), "ty"), ("+", ("*", "bx", 16), "tx")
    product = Store(
        label="C[...] = ...",
        arith=(Arith("mul", dtype), Arith("add", dtype)),
        accesses=(
            Access("C", "read", (i, j)),
            Access("A", "read", (i, j, "k") if by_row else (i, "k")),
            Access("B", "read", (i, j, "k") if by_row else ("k", j)),
            Access("C", "write", (i, j)),
        ),
        sites=site(5),
    )
    body: tuple = (Loop("serial", "k", 0, n, (product,), sites=site(4)),)
    for kind, var, extent, tag in (
        ("block", "tx", 16, "threadIdx.x"),
        ("block", "ty", 16, "threadIdx.y"),
        ("grid", "by", n // 16, "blockIdx.y"),
        ("grid", "bx", n // 16, "blockIdx.x"),
    ):
        body = (Loop(kind, var, 0, extent, body, tag=tag, sites=site(3)),)
    return replace(
        scale(),
        name="product",
        buffers=tuple(Buffer(name, name, dtype, (8, 8), scope="local") for name in "ABC"),
        launch=Launch((n // 16, n // 16, 1), (16, 16, 1)),
        body=body,
    )


def copied(transposed: bool = False, n: int = 2048) -> KernelFacts:
    """``B[r, c] = A[r, c]`` in single elements, the threads along the columns or the rows."""
    row, column = "bx", ("+", ("*", "by", 256), "tx")
    place = (column, row) if transposed else (row, column)
    store = Store(
        label="B[...] = ...",
        accesses=(Access("A", "read", place), Access("B", "write", place)),
        sites=site(5),
    )
    return launched((store,), {"bx": n, "by": n // 256}, {"tx": 256}, (n, n))


def strided(stride: int, n: int = 1 << 22) -> KernelFacts:
    """``B[i] = A[i * stride]`` in arrays of one dimension."""
    place = ("+", ("*", "bx", 256), "tx")
    read = Access("A", "read", (("*", place, stride),))
    store = Store(
        label="B[...] = ...", accesses=(read, Access("B", "write", (place,))), sites=site(5)
    )
    facts = launched((store,), {"bx": n // 256}, {"tx": 256}, (n,))
    read_from, written = facts.buffers
    return replace(facts, buffers=(replace(read_from, shape=(n * stride,)), written))


def turned(pitch: int, n: int = 4096) -> KernelFacts:
    """Tiles that are transposed in shared memory whose rows are `pitch` long."""
    high, wide = ("+", ("*", "by", 32), "ty"), ("+", ("*", "bx", 32), "tx")
    out = (("+", ("*", "bx", 32), "ty"), ("+", ("*", "by", 32), "tx"))
    body = (
        Store(
            label="tile[...] = A[...]",
            accesses=(Access("A", "read", (high, wide)), Access("tile", "write", ("ty", "tx"))),
            sites=site(5),
        ),
        Barrier(label="sync", sites=site(6)),
        Store(
            label="B[...] = tile[...]",
            accesses=(Access("tile", "read", ("tx", "ty")), Access("B", "write", out)),
            sites=site(7),
        ),
    )
    facts = launched(body, {"bx": n // 32, "by": n // 32}, {"ty": 32, "tx": 32}, (n, n))
    tile = Buffer("tile", "tile", "float32", (32, pitch), scope="shared")
    return replace(facts, buffers=(*facts.buffers, tile))


def summed(facts: KernelFacts) -> KernelFacts:
    """`facts`, whose products read and write their sums, as the collected ones do."""
    (sums,) = (buffer for buffer in facts.buffers if buffer.id == "Cl")

    def edit(node: Node) -> Node:
        if not isinstance(node, Gemm):
            return node
        read = Access("Cl", "read", (0, 0), sums.shape, route="mma")
        return replace(node, accesses=(*node.accesses, read, replace(read, mode="write")))

    return rewrite.change(facts, edit)


def launched(
    body: tuple[Statement, ...],
    grid: dict[str, int],
    block: dict[str, int],
    shape: tuple[int, ...],
) -> KernelFacts:
    """A kernel over float32 arrays A and B; loops are named as the axes are, outermost first."""
    nodes: tuple[Node, ...] = body
    for kind, sizes in (("block", block), ("grid", grid)):
        for var, extent in reversed(sizes.items()):
            tag = f"{'threadIdx' if kind == 'block' else 'blockIdx'}.{var[1]}"
            nodes = (Loop(kind, var, 0, extent, nodes, tag=tag, sites=site(3)),)
    return replace(
        scale(),
        buffers=tuple(Buffer(name, name, "float32", shape, is_parameter=True) for name in "AB"),
        launch=Launch(tuple(grid.values()), tuple(reversed(block.values()))),
        body=nodes,
    )


def asked(facts: KernelFacts, device: str = "h100-sxm") -> dict[str, Advice]:
    spec = load(device)
    question = Question(facts, spec, report=analyze(facts, spec))
    return {advice.rule: advice for advice in advise(question)}


SPEAKS = [
    ("not-pipelined", gemm(stages=1), "h100-sxm"),
    ("shared-overflow", gemm(tile_m=256, tile_n=256, stages=4, threads=256), "h100-sxm"),
    ("small-grid", gemm(512, 512, 4096), "h100-sxm"),
    ("partial-warp", gemm(threads=100), "h100-sxm"),
    ("launch-bound", scale(4096), "h100-sxm"),
    ("no-tensor-core", half_product(), "h100-sxm"),
    ("threads", summed(gemm(tile_n=256, threads=128)), "h100-sxm"),
    ("threads", summed(gemm(tile_m=256, tile_n=256, tile_k=32, threads=128)), "a100-80-sxm"),
    ("tail-wave", gemm(2048, 1152, 8192, threads=256), "h100-sxm"),
    ("l2-reuse", gemm(16384, 16384, 16384, tile_k=32, threads=256), "h100-sxm"),
    ("stages", gemm(16384, 16384, 16384, tile_k=32, threads=256), "h100-sxm"),
    ("not-vectorized", copied(), "h100-sxm"),
    ("uncoalesced", copied(transposed=True), "h100-sxm"),
    ("uncoalesced", strided(32), "h100-sxm"),
    ("bank-conflict", turned(32), "h100-sxm"),
]
SILENT = [
    ("not-pipelined", gemm(stages=3), "h100-sxm"),
    ("shared-overflow", gemm(), "h100-sxm"),
    ("small-grid", gemm(), "h100-sxm"),
    # Little work is not worth spreading: launch-bound tells all there is to tell.
    ("small-grid", scale(4096), "h100-sxm"),
    ("partial-warp", gemm(), "h100-sxm"),
    ("launch-bound", gemm(8192, 8192, 8192), "h100-sxm"),
    ("no-tensor-core", half_product("float32"), "h100-sxm"),
    ("no-tensor-core", half_product(by_row=True), "h100-sxm"),
    ("no-tensor-core", gemm(), "h100-sxm"),
    ("threads", summed(gemm(tile_n=256, threads=256)), "h100-sxm"),
    ("threads", gemm(threads=128), "h100-sxm"),
    ("tail-wave", gemm(2112 * 4, 2048, 1024), "h100-sxm"),
    ("stages", gemm(4096, 4096, 4096), "h100-sxm"),
    ("not-vectorized", scale(), "h100-sxm"),
    ("uncoalesced", copied(), "h100-sxm"),
    ("uncoalesced", strided(1), "h100-sxm"),
    ("bank-conflict", turned(33), "h100-sxm"),
    ("l2-reuse", replace(gemm(), launch=replace(gemm().launch, panel=8)), "h100-sxm"),
]


def test_only_loops_that_take_turns_become_pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile that a block loads beside its loop makes no pipeline of the blocks or threads."""
    facts = gemm(stages=1)
    turning = next(loop for loop, _ in rewrite.loops(facts) if loop.kind == "pipelined")

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and turning in node.body:
            return replace(node, body=(turning.body[0], *node.body))
        return node

    kinds: list[str] = []

    def with_stages(facts: KernelFacts, loop: Loop, stages: int) -> KernelFacts:
        kinds.append(loop.kind)
        return facts

    monkeypatch.setattr(rewrite, "with_stages", with_stages)
    asked(rewrite.change(facts, edit))
    assert set(kinds) == {"pipelined"}


@pytest.mark.parametrize(("rule", "facts", "device"), SPEAKS, ids=[case[0] for case in SPEAKS])
def test_speaks(rule: str, facts: KernelFacts, device: str) -> None:
    advice = asked(facts, device)
    assert rule in advice
    assert advice[rule].message and advice[rule].span.line > 0
    assert ACTION.fullmatch(advice[rule].action)


@pytest.mark.parametrize(("rule", "facts", "device"), SILENT, ids=[case[0] for case in SILENT])
def test_stays_silent(rule: str, facts: KernelFacts, device: str) -> None:
    assert rule not in asked(facts, device)


def test_a_saving_is_what_the_model_says_of_the_changed_kernel() -> None:
    device = load("h100-sxm")
    facts = gemm(stages=1)
    before = analyze(facts, device).time_s
    assert before is not None
    loop = next(loop for loop, _ in rewrite.loops(facts) if loop.kind == "pipelined")
    after = [analyze(rewrite.with_stages(facts, loop, n), device).time_s for n in (2, 3, 4)]
    best = min(time_s for time_s in after if time_s is not None)
    assert asked(facts)["not-pipelined"].saving_s == pytest.approx(before - best)


def test_errors_come_first_then_the_largest_saving() -> None:
    device = load("h100-sxm")
    facts = gemm(512, 512, 4096, tile_m=256, tile_n=256, stages=4, threads=200)
    advice = advise(Question(facts, device, report=analyze(facts, device)))
    assert advice[0].severity == "error"
    savings = [one.saving_s or 0.0 for one in advice[1:]]
    assert savings == sorted(savings, reverse=True)


def test_a_tail_costs_no_more_than_the_missing_part_of_its_wave() -> None:
    """Equal blocks wait at most for what the last wave lacks of a whole one."""
    facts = gemm(2048, 1152, 8192, threads=256)
    report = analyze(facts, load("h100-sxm"))
    assert report.waves is not None and report.time_s is not None
    saving_s = asked(facts)["tail-wave"].saving_s
    missing = 1 - report.waves.count / math.ceil(report.waves.count)
    assert saving_s is not None and 0 < saving_s <= missing * report.time_s


def test_the_launch_has_one_share_everywhere() -> None:
    facts, device = scale(4096), load("h100-sxm")
    report = analyze(facts, device)
    (advice,) = launch_bound.check(Question(facts, device, report=report))
    (share,) = (entry.share for entry in report.loops if entry.kind == "launch")
    assert share is not None
    assert f"launch takes {share:.0%} of the time" in advice.message
    assert verdicts.verdict(report).limit == f"launch takes {share:.0%}"


@pytest.mark.parametrize(
    ("threads", "text"),
    [
        (1, "a block of 1 thread leaves 31 of the 32 lanes of its warp idle"),
        (100, "a block of 100 threads leaves 28 of the 32 lanes of its last warp idle"),
    ],
)
def test_lanes_of_a_partial_warp(threads: int, text: str) -> None:
    facts, device = gemm(threads=threads), load("h100-sxm")
    report = replace(analyze(facts, device), threads_per_block=threads)
    (advice,) = partial_warp.check(Question(facts, device, report=report))
    assert advice.message == text


def test_a_unit_has_the_name_of_what_is_accessed() -> None:
    utilisation = {"shared": 0.9, "dram": 0.3}
    device = load("h100-sxm")
    shared = find_bound(device, utilisation, 1000, 0.0, 0.0)
    l1 = find_bound(device, utilisation, 1000, 0.0, 0.0, uses_shared=False)
    assert shared.reason == "shared memory is busy 90% of the time; next DRAM at 30%"
    assert l1.reason == "the L1 cache is busy 90% of the time; next DRAM at 30%"


def test_a_kernel_without_numbers_gets_no_advice() -> None:
    device = load("h100-sxm")
    facts = scale("n")
    report = analyze(facts, device)
    assert report.status == "needs-bindings"
    assert advise(Question(facts, device, report=report)) == ()


def test_a_saving_is_from_the_time_that_is_displayed_where_the_lowered_kernel_is_faster() -> None:
    facts, device = gemm(stages=1), load("h100-sxm")
    report = analyze(facts, device)
    changed = asked(facts)["not-pipelined"]
    assert report.time_s is not None and changed.saving_s is not None
    for faster_by_s in (0.0, changed.saving_s / 2):
        shown = replace(report, time_s=report.time_s - faster_by_s)
        lowered = replace(facts, lowered=(LoweredLaunch("sm_90", 256, 200_000),))
        found = {one.rule: one for one in advise(Question(lowered, device, report=shown))}
        left_s = changed.saving_s - faster_by_s
        assert found["not-pipelined"].saving_s == pytest.approx(left_s)


def test_a_saving_compares_sources_also_where_one_was_lowered() -> None:
    facts = gemm(stages=1)
    lowered = replace(facts, lowered=(LoweredLaunch("sm_90", 256, 200_000),))
    assert analyze(lowered, load("h100-sxm")).shared_bytes_per_block == 200_000
    saving_s = asked(facts)["not-pipelined"].saving_s
    # One of the times is a sum over the lines.
    assert asked(lowered)["not-pipelined"].saving_s == pytest.approx(saving_s)


def nested(
    order: str, accesses: tuple[Access, ...], parallel: str = "", size: int = 512
) -> KernelFacts:
    """A CPU kernel of one statement in loops of these names, outermost first."""
    body: tuple[Node, ...] = (
        Store(
            label="C[...] = ...",
            arith=(Arith("mul", "float32"), Arith("add", "float32")),
            accesses=accesses,
            sites=site(5),
        ),
    )
    for var in reversed(order):
        kind = "parallel" if var == parallel else "serial"
        body = (Loop(kind, var, 0, size, body, sites=site(4)),)
    names = dict.fromkeys(access.buffer for access in accesses)
    ranks = {access.buffer: len(access.indices) for access in accesses}
    buffers = tuple(
        Buffer(name, name, "float32", (size + 1,) * ranks[name], is_parameter=True)
        for name in names
    )
    return replace(
        scale(), framework="tvm", buffers=buffers, launch=Launch(), body=body, variables=()
    )


PRODUCT = (
    Access("C", "read", ("i", "j")),
    Access("A", "read", ("i", "k")),
    Access("B", "read", ("k", "j")),
    Access("C", "write", ("i", "j")),
)
SHIFTED = (Access("A", "read", ("i", ("+", "j", 1))), Access("A", "write", ("i", "j")))
RUNNING = (Access("A", "read", ("i", "j")), Access("A", "write", (("+", "i", 1), "j")))
TOTAL = (Access("S", "read", (0,)), Access("A", "read", ("i", "j")), Access("S", "write", (0,)))
CPU_CASES = [
    ("not-parallel", nested("ikj", PRODUCT), "iterations of i "),
    ("not-parallel", nested("kij", PRODUCT), None),
    ("not-parallel", nested("ikj", PRODUCT, parallel="i"), None),
    # Rows are apart from each other, wherever in a row another element of it is read.
    ("not-parallel", nested("ij", SHIFTED), "iterations of i "),
    ("not-parallel", nested("ij", RUNNING), None),
    ("not-parallel", nested("ji", RUNNING), "iterations of j "),
    ("not-parallel", nested("ij", TOTAL), None),
    ("loop-order", nested("ijk", PRODUCT), "order i, k, j"),
    ("loop-order", nested("jki", PRODUCT), "order k, i, j"),
    ("loop-order", nested("ikj", PRODUCT), None),
    # Another order would read what is written otherwise than before.
    ("loop-order", nested("ji", SHIFTED), None),
]


@pytest.mark.parametrize(
    ("rule", "facts", "words"), CPU_CASES, ids=[f"{n} {c[0]}" for n, c in enumerate(CPU_CASES)]
)
def test_on_a_cpu(rule: str, facts: KernelFacts, words: str | None) -> None:
    advice = asked(facts, "x86-avx2")
    assert (rule in advice) == (words is not None)
    if words is not None:
        assert words in advice[rule].message


def test_a_reduction_starts_in_loops_of_its_own() -> None:
    """The what-if of another order is the kernel that ``decompose_reduction`` makes of it."""
    init = Store(
        label="C[...] = 0",
        accesses=(Access("C", "write", ("i", "j")),),
        sites=site(5),
    )
    facts = nested("ijk", PRODUCT)
    (nest,) = nests(facts)
    start = Branch(("==", "k", 0), (init,), kind="init")
    inner = replace(nest.loops[-1], body=(start, nest.statement))
    body: Node = inner
    for loop in reversed(nest.loops[:-1]):
        body = replace(loop, body=(body,))
    facts = replace(facts, body=(body,))
    (nest,) = nests(facts)
    assert nest.init == init and nest.reduced == {"k"}
    first, second = with_innermost(facts, nest, 1).body
    assert isinstance(first, Loop) and isinstance(second, Loop)
    assert [node.var for node in walk_nodes((first,)) if isinstance(node, Loop)] == [
        "i_init",
        "j_init",
    ]
    assert [node.var for node in walk_nodes((second,)) if isinstance(node, Loop)] == ["i", "k", "j"]


def summed(facts: KernelFacts) -> KernelFacts:
    """`gemm` with the sums that its products are added to, as the frontend tells them."""

    def edit(node: Node) -> Node:
        if isinstance(node, Gemm):
            sums = [
                Access("Cl", mode, (0, 0), (128, 128), route="mma") for mode in ("read", "write")
            ]
            return replace(node, accesses=(*node.accesses, *sums))
        return node

    return rewrite.change(facts, edit)


def test_a_product_of_few_blocks_is_split_along_its_reduction() -> None:
    """The saving is that of the kernel whose blocks each have a part, less a launch that clears."""
    facts, device = summed(gemm(512, 512, 4096)), load("h100-sxm")
    loop = splitting.reduction(facts)
    assert loop is not None
    split = splitting.with_parts(facts, loop, 8)
    assert split is not None
    before, after = analyze(facts, device), analyze(split, device)
    assert after.grid == (4, 4, 8) and after.flop == before.flop
    advice = asked(facts)["small-grid"]
    assert "over k among" in advice.message and advice.saving_s is not None
    assert before.time_s is not None and after.time_s is not None
    assert advice.saving_s >= before.time_s - after.time_s - device.launch_s


def test_only_a_plain_sum_is_split() -> None:
    """A result that is changed before it is stored is not the sum of its parts."""
    facts = summed(gemm(512, 512, 4096))

    def edit(node: Node) -> Node:
        if isinstance(node, Copy) and node.accesses[0].buffer == "Cl":
            arith = (Arith("max", "float32"),)
            return Store(node.label, arith, node.accesses, node.per, node.sites)
        return node

    assert splitting.reduction(rewrite.change(facts, edit)) is None


def streamed(n: int = 4096, threads: int = 256) -> KernelFacts:
    """``Y[c] = sum of X[k, c]`` over `n` rows, a column a thread: few blocks, long loops."""
    column = ("+", ("*", "bx", threads), "tx")
    add = Store(
        label="acc[0] += X[k, ...]",
        arith=(Arith("add", "float32"),),
        accesses=(
            Access("acc", "read", (0,)),
            Access("A", "read", ("k", column)),
            Access("acc", "write", (0,)),
        ),
        sites=site(5),
    )
    store = Store(
        label="Y[...] = acc[0]",
        accesses=(Access("acc", "read", (0,)), Access("B", "write", (0, column))),
        sites=site(7),
    )
    facts = launched((add, store), {"bx": n // threads}, {"tx": threads}, (n, n))
    own = Buffer("acc", "acc", "float32", (1,), scope="local")

    def edit(node: Node) -> Node:
        if node == add:
            return Loop("unroll", "k", 0, n, (add,), sites=site(4))
        return node

    return replace(rewrite.change(facts, edit), buffers=(*facts.buffers, own))


@pytest.mark.parametrize("threads", [64, 128, 256])
def test_smaller_blocks_are_what_is_evaluated(threads: int) -> None:
    """The saving is that of the same kernel written with smaller blocks, not more."""
    device = load("h100-sxm")
    facts = streamed(threads=threads)
    report = analyze(facts, device)
    divided = splitting.with_smaller_blocks(facts, 2, 32)
    written = analyze(streamed(threads=threads // 2), device)
    assert divided is not None
    changed = analyze(divided, device)
    assert changed.time_s == pytest.approx(written.time_s, rel=0.02)
    assert (changed.flop, changed.compulsory_bytes) == (report.flop, report.compulsory_bytes)
    advice = asked(facts)["small-grid"]
    assert report.time_s is not None and report.roofline_time_s is not None
    assert advice.saving_s is not None
    assert report.time_s - advice.saving_s >= report.roofline_time_s


def test_blocks_whose_elements_depend_on_each_other_are_not_divided() -> None:
    assert splitting.with_smaller_blocks(turned(33), 2, 32) is None
    assert splitting.with_smaller_blocks(gemm(), 2, 32) is None
    # A part has no whole warp.
    assert splitting.with_smaller_blocks(streamed(threads=256), 16, 32) is None


SIZED = [*(facts for _, facts, _ in SPEAKS), streamed(), streamed(2048, 128)]


@pytest.mark.parametrize("facts", SIZED)
@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm", "rtx-4090", "b200", "v100-pcie"])
def test_no_advice_promises_more_than_there_is(facts: KernelFacts, device: str) -> None:
    spec = load(device)
    report = analyze(facts, spec)
    rooflines_s = [report.roofline_time_s or 0.0]
    question = Question(facts, spec, report=report)
    launch_s = sum(item.time_s or 0.0 for item in report.loops if item.kind == "launch")
    for advice in advise(question):
        if advice.saving_s is None:
            continue
        assert report.time_s is not None
        left_s = report.time_s - advice.saving_s
        assert left_s >= launch_s * (1 - 1e-9)
        if advice.rule != "no-tensor-core":
            # Matrix units have another roofline.
            assert left_s >= min(rooflines_s) * (1 - 1e-9)


@pytest.mark.parametrize("assumed", [{"M": "4096"}, {"A": "torch.empty((64, 64))"}])
def test_waves_of_assumed_sizes_are_no_advice(assumed: dict[str, str]) -> None:
    device = load("h100-sxm")
    for facts, rule in ((gemm(2048, 1152, 8192, threads=256), "tail-wave"),
                        (streamed(), "small-grid")):  # fmt: skip
        report = analyze(facts, device)
        known = {advice.rule for advice in advise(Question(facts, device, report=report))}
        guessed = replace(report, assumed=assumed)
        found = {advice.rule for advice in advise(Question(facts, device, report=guessed))}
        typed = replace(report, assumed={"dtype": "'float16'"})
        assert rule in known and rule not in found
        assert rule in {one.rule for one in advise(Question(facts, device, report=typed))}


def tail(time_s: float) -> BreakdownEntry:
    return BreakdownEntry(kind="tail", label="tail", span=site(1)[0], executions=1, time_s=time_s)


def test_one_block_a_row_has_no_tiles_to_change() -> None:
    """The number of tokens is given: no tile fills the last wave."""
    device = load("h100-sxm")
    facts = launched(
        (
            Store(
                label="B[...] = A[...]",
                accesses=(Access("A", "read", ("bx", "tx")), Access("B", "write", ("bx", "tx"))),
                sites=site(5),
            ),
        ),
        {"bx": 132 * 16 + 40},
        {"tx": 128},
        (132 * 16 + 40, 128),
    )
    report = replace(
        analyze(facts, device),
        waves=Waves(2.2, 0.4),
        loops=(*analyze(facts, device).loops, tail(5e-5)),
        time_s=1e-4,
        roofline_time_s=1e-6,
    )
    assert not list(tail_wave.check(Question(facts, device, report=report)))
    assert list(tail_wave.check(Question(copied(), device, report=report)))


@pytest.mark.parametrize(("tile", "fits"), [(128, True), (256, False)])
def test_fragments_that_fill_the_register_file(tile: int, fits: bool) -> None:
    """256 x 256 accumulators are all registers of an SM, whatever the number of threads."""
    facts = summed(gemm(4096, 4096, 4096, tile_m=256, tile_n=tile, threads=64))
    advice = asked(facts)["threads"]
    assert (advice.change is not None, advice.saving_s is not None) == (fits, fits)
    assert ("smaller tiles" in advice.action) == (not fits)


def test_matrix_units_have_a_name_in_each_framework() -> None:
    assert set(no_tensor_core.MATRIX_UNITS) == set(framework_names.MODULES)


def test_matrix_units_have_the_name_of_the_framework() -> None:
    of_tilelang = asked(replace(half_product(), framework="tilelang"))["no-tensor-core"]
    assert "T.gemm" in of_tilelang.message
    of_tvm = asked(replace(half_product(), framework="tvm"))["no-tensor-core"]
    assert "T.gemm" not in of_tvm.message + of_tvm.action
