"""What two frameworks make of one kernel: figures, causes, generated code, and the main reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm
from tirlens.cli.sides import Sides
from tirlens.cli.traced_file import Traced
from tirlens.gate import (
    Cause,
    CodeChange,
    FigureChange,
    causes,
    changes,
    code_change,
    difference,
    figure_changes,
    limits_of,
)
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport, Options
from tirlens.source import read
from tirlens_worker.facts import (
    CompiledLaunch,
    KernelFacts,
    LocalAccess,
    LoweredLaunch,
    LoweredRoutes,
    MatrixProduct,
    Move,
    Span,
    TileLoad,
)
from tirlens_worker.protocol import CUDA, SASS, GeneratedCode, GeneratedText, Problem, Result

H100 = load("h100-sxm")
ROUTES = LoweredRoutes(
    (TileLoad("A", "A_shared", "tma", True), TileLoad("B", "B_shared", "tma", True)),
    (MatrixProduct("C_local", "wgmma"),),
)
LOWERED = LoweredLaunch(
    "sm_90", 256, 99_000, None, "wgmma", (Move("A", "read", "tma"), Move("B", "read", "tma")),
    ROUTES,
)  # fmt: skip
COMPILED = CompiledLaunch("sm_90", 168, 0, 0)
SPILLS = replace(
    COMPILED,
    stack_bytes=4096,
    spill_bytes=8192,
    local_accesses=(
        LocalAccess(Span(7, 0, 7, 0), "read", 1024, 4096, 1, True),
        LocalAccess(Span(7, 0, 7, 0), "write", 1024, 4096, 1, True),
    ),
)
BY_THREADS = replace(LOWERED, moves=(Move("A", "read", "thread", (16,)), Move("B", "read", "tma")))
THREAD_ROUTES = replace(ROUTES, loads=(TileLoad("A", "A_shared", "thread"), ROUTES.loads[1]))


def facts(lowered: LoweredLaunch = LOWERED, compiled: CompiledLaunch = COMPILED) -> KernelFacts:
    return replace(gemm(), lowered=(lowered,), compiled=(compiled,))


def report(lowered: LoweredLaunch = LOWERED, compiled: CompiledLaunch = COMPILED) -> KernelReport:
    return analyze(facts(lowered, compiled), H100)


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        ({}, set()),
        ({"lowered": BY_THREADS}, {("A", "read by TMA", "read 16 B at a time", "copies")}),
        (
            {"lowered": replace(LOWERED, matrix_instruction="mma", routes=None)},
            # The instruction of each product is known on one side alone.
            set(),
        ),
        (
            {"lowered": replace(LOWERED, routes=replace(
                ROUTES, products=(MatrixProduct("C_local", "mma"),)
            ))},
            {("product of C_local", "wgmma", "mma", "products")},
        ),
        (
            {"lowered": replace(LOWERED, routes=replace(
                ROUTES, loads=(ROUTES.loads[0], replace(ROUTES.loads[1], by_producer=False))
            ))},
            {("load of B", "a producer's warps", "the warps that compute", "copies")},
        ),
        ({"compiled": SPILLS}, {("spills", "0 B", "8.19 kB", "spills")}),
        ({"compiled": replace(COMPILED, registers_per_thread=128)},
         {("registers", "168", "128", "registers")}),
    ],
)  # fmt: skip
def test_figures_that_differ(now: dict[str, object], wanted: set[tuple[str, ...]]) -> None:
    found = figure_changes(report(), report(**now))  # type: ignore[arg-type]
    # What follows from an aspect, such as the blocks of an SM, has none.
    assert {(one.name, one.before, one.now, one.aspect) for one in found if one.aspect} == wanted


def test_a_figure_that_one_side_lacks_is_left_out() -> None:
    unknown = replace(report(), spill_bytes=None, bound=None)
    assert not figure_changes(report(), unknown)
    assert not figure_changes(unknown, report(compiled=SPILLS))


@pytest.mark.parametrize(
    ("now", "aspect"),
    [
        (facts(replace(LOWERED, moves=BY_THREADS.moves, routes=THREAD_ROUTES)), "copies"),
        (facts(compiled=SPILLS), "spills"),
        (
            facts(
                replace(
                    LOWERED,
                    matrix_instruction="mma",
                    routes=replace(ROUTES, products=(MatrixProduct("C_local", "mma"),)),
                )
            ),
            "products",
        ),
    ],
    ids=("copies", "spills", "products"),
)
def test_the_aspect_that_costs_time(now: KernelFacts, aspect: str) -> None:
    before = facts()
    old_s, new_s = (analyze(one, H100).time_s for one in (before, now))
    assert old_s is not None
    assert new_s is not None
    assert new_s > old_s
    (cause,) = causes(before, now, H100, {})
    # It is the only one, and its effect is the whole difference; backwards it is gained.
    assert cause == Cause(aspect, pytest.approx(new_s - old_s))  # type: ignore[arg-type]
    (back,) = causes(now, before, H100, {})
    assert back.effect_s == pytest.approx(old_s - new_s)


def test_nothing_costs_time_where_nothing_differs() -> None:
    assert causes(facts(), facts(), H100, {}) == []


COPIES = FigureChange("A", "by TMA", "by cp.async", "copies")
THREADS = FigureChange("threads", "128", "256", "threads")
BOUND = FigureChange("bound", "dram", "latency")
OTHER_CODE = code_change(
    GeneratedCode("k", "k", "k()", "sm_90", (GeneratedText(CUDA, "a;\nb;\n", ()),)),
    GeneratedCode("k", "k", "k()", "sm_90", (GeneratedText(CUDA, "a;\nc;\nd;\n", ()),)),
    ("tilelang 1", "tilelang 2"),
)


@pytest.mark.parametrize(
    ("now_s", "figures", "found", "code", "wanted"),
    [
        (
            130e-6, [BOUND, COPIES, THREADS], [Cause("copies", 28e-6), Cause("threads", 1e-6)],
            None, "30 us more, mainly copies: 28 us (A by TMA -> by cp.async)",
        ),
        (
            80e-6, [THREADS], [Cause("copies", 3e-6), Cause("threads", -19e-6)], None,
            "20 us less, mainly threads: 19 us (threads 128 -> 256)",
        ),
        (
            130e-6, [COPIES], [Cause("copies", 9e-6)], None,
            "30 us more, of several differences: 9 us of the largest (A by TMA -> by cp.async)",
        ),
        # An aspect without a figure of its own has its name.
        (
            130e-6, [], [Cause("program", 30e-6)], None,
            "30 us more, mainly program: 30 us (program)",
        ),
        (
            130e-6, [], [Cause("copies", -5e-6)], None,
            "30 us more: no single difference has this effect",
        ),
        (100e-6, [COPIES], [], None, "the same time by the model, with A by TMA -> by cp.async"),
        (
            100e-6, [], [], OTHER_CODE,
            "the same time by the model, with 2 lines of the generated code that differ",
        ),
        (
            100e-6, [], [], replace(OTHER_CODE, texts=(replace(OTHER_CODE.texts[0], diff=""),)),
            "the same generated code",
        ),
        (None, [COPIES], [], None, ""),
    ],
)  # fmt: skip
def test_the_main_reason(
    now_s: float | None,
    figures: list[FigureChange],
    found: list[Cause],
    code: CodeChange | None,
    wanted: str,
) -> None:
    before = replace(report(), time_s=100e-6)
    now = replace(before, time_s=now_s)
    assert difference(before, now, figures, found, code).reason == wanted


def test_lines_of_generated_code_that_differ() -> None:
    (text,) = OTHER_CODE.texts
    assert (text.language, text.removed, text.added) == (CUDA, 1, 2)
    assert text.diff.splitlines() == [
        "--- tilelang 1", "+++ tilelang 2", "@@ -1,2 +1,3 @@", " a;", "-b;", "+c;", "+d;",
    ]  # fmt: skip
    assert OTHER_CODE.differs
    assert not OTHER_CODE.opcodes


HEAD = """
\t.target\tsm_90a
\t.section\t.text.k,"ax",@progbits
        .type           k,@function
        .other          k,@"STO_CUDA_ENTRY STV_DEFAULT"
k:"""


def machine_code(*instructions: str) -> GeneratedCode:
    rows = [f"        /*{16 * n:04x}*/    {one} ;" for n, one in enumerate(instructions)]
    text = GeneratedText(SASS, "\n".join((HEAD, *rows, "")), ())
    return GeneratedCode("k", "k", "k()", "sm_90", (text,))


def test_instructions_by_opcode() -> None:
    load_, store = "LDG.E R5, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R5"
    found = code_change(
        machine_code(load_, store, "EXIT", "NOP", "NOP"),
        machine_code(load_, load_, load_, store, "EXIT", "NOP"),
        ("old", "new"),
    )
    # The padding behind the end is no instruction of the kernel.
    assert found.opcodes == {"LDG": (1, 3), "STG": (1, 1), "EXIT": (1, 1)}
    assert found.changed_opcodes == {"LDG": (1, 3)}
    assert not code_change(machine_code("EXIT"), OTHER_NOW, ("old", "new")).opcodes


OTHER_NOW = GeneratedCode("k", "k", "k()", "sm_90", resources_error="nvcc: out of memory")
TEXT = """
import tilelang
import tilelang.language as T

@tilelang.jit
def matmul():
    pass

@tilelang.jit
def newer():
    pass
"""


def test_a_kernel_of_one_side_does_not_change_the_tier_of_the_others() -> None:
    def traced(*kernels: KernelFacts) -> Traced:
        return Traced("k.py", TEXT, read(TEXT), Result(1, kernels), Options(device="h100-sxm"))

    newer = replace(facts(), definition="newer", compiled=())
    now, before = Sides(traced(facts(), newer), traced(facts())).reports()
    assert before is not None
    assert [one.launch_facts for one in before.kernels] == ["compiled"]
    unlowered = replace(facts(), lowered=())
    now, before = Sides(traced(unlowered), traced(facts())).reports()
    assert before is not None
    # Compiled on both sides, and lowered on one alone: neither is known of both.
    assert [one.launch_facts for one in (*now.kernels, *before.kernels)] == ["source", "source"]


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ({"problems": (Problem("trace", "T has no wgmma_gemm", kernel="matmul"),)},
         "before: T has no wgmma_gemm"),
        ({"kernels": (replace(report(), status="error", message="a defect"),)}, "before: a defect"),
        ({"kernels": (replace(report(), time_s=None, status="no-time", message="no layout"),)},
         "its time could not be estimated before: no layout"),
    ],
)  # fmt: skip
def test_why_one_side_has_no_figures(old: dict[str, object], message: str) -> None:
    now = FileReport(kernels=(report(),), path="k.py", source=read(TEXT))
    before = replace(now, **{"kernels": (), **old})  # type: ignore[arg-type]
    (change,) = changes(before, now, limits_of([]))
    assert change.message == message
