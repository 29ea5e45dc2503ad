"""One owner for each line: the last version of what comes from it, in hints and hovers alike."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tirlens import pipeline, source
from tirlens.ide import labels
from tirlens.ide.hints import Hint, HintOptions, file_hints
from tirlens.ide.hovers import hover
from tirlens.model.report import KernelReport
from tirlens.model.totals import module_totals
from tirlens.pipeline.options import Options
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[[str], Result]

MATMUL = """\
import tvm
from tvm import te
A = te.placeholder((256, 128), name="A")
B = te.placeholder((128, 64), name="B")
k = te.reduce_axis((0, 128), name="k")
C = te.compute((256, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
func = te.create_prim_func([A, B, C])
"""
COMPUTE, FLOP = 6, 2 * 256 * 64 * 128
CPU_SCHEDULE = """\
sch = tvm.s_tir.Schedule(func)
block = sch.get_sblock("C")
x, y, r = sch.get_loops(block)
yo, yi = sch.split(y, [None, 32])
sch.reorder(x, yo, r, yi)
sch.vectorize(yi)
sch.parallel(x)
init = sch.decompose_reduction(block, r)
"""
ADD = """\
import tvm
from tvm import te
A = te.placeholder((1024, 1024), name="A")
B = te.compute((1024, 1024), lambda i, j: A[i, j] + 1.0, name="B")
func = te.create_prim_func([A, B])
"""
GPU_SCHEDULE = """\
sch = tvm.s_tir.Schedule(func)
block = sch.get_sblock("B")
i, j = sch.get_loops(block)
sch.bind(i, "blockIdx.x")
jo, ji = sch.split(j, [None, 128])
sch.bind(ji, "threadIdx.x")
"""


def reports(run: Run, text: str) -> tuple[KernelReport, ...]:
    result = run(text)
    assert not result.problems
    return pipeline.file_report(source.read(text), result, Options(advice=False)).kernels


def hint_at(kernels: tuple[KernelReport, ...], text: str, line: int) -> Hint:
    found = [
        hint for hint in file_hints(kernels, text.splitlines(), HintOptions()) if hint.line == line
    ]
    assert len(found) == 1, found
    return found[0]


def hovered(kernels: tuple[KernelReport, ...], line: int) -> str:
    found = hover(kernels, line, 0)
    assert found is not None
    return found.markdown


def line_of(text: str, start: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if line.startswith(start))


def test_the_hint_of_a_tensor_expression_is_that_of_the_last_version(run: Run) -> None:
    text = MATMUL + CPU_SCHEDULE + 'lib = tvm.compile(sch.mod, target="llvm")\n'
    kernels = reports(run, text)
    last = kernels[-1]
    hint = hint_at(kernels, text, COMPUTE)
    assert last.time_s is not None
    assert f"lib (main), line {line_of(text, 'lib')}" in hint.tooltip
    told = hovered(kernels, COMPUTE)
    assert f"% of lib (main), line {line_of(text, 'lib')}" in told
    first, final = kernels[0].time_s, last.time_s
    assert first is not None and first > 2 * final


def test_the_hover_of_a_tensor_expression_has_all_that_is_on_its_line(run: Run) -> None:
    kernels = reports(run, MATMUL)
    told = hovered(kernels, COMPUTE)
    assert "100% of func (main)" in told
    assert re.search(r"\| 4\.\d+ MFLOP \|", told), told
    assert kernels[0].flop == FLOP
    assert "T.init" not in told.splitlines()[0]


@pytest.mark.parametrize(
    "change",
    [
        'mod["main"] = sch.mod["main"]\n',
        'mod.update_func(mod.get_global_var("main"), sch.mod["main"])\n',
        "mod.update(sch.mod)\n",
    ],
)
def test_a_module_that_is_changed_later_has_its_state_at_each_line(run: Run, change: str) -> None:
    text = ADD + 'mod = tvm.IRModule({"main": func})\n' + GPU_SCHEDULE + change
    kernels = reports(run, text)
    at_line = {item.span.line: item for item in kernels}
    first, module = at_line[line_of(text, "func")], at_line[line_of(text, "mod = ")]
    assert module.schedule == "unscheduled"
    assert module.time_s == first.time_s
    last = [item for item in kernels if item.schedule == "gpu"][-1]
    assert f"line {last.span.line}" in hint_at(kernels, text, 4).tooltip


def test_modules_in_a_list_have_their_state_at_each_line(run: Run) -> None:
    text = ADD + 'mods = [tvm.IRModule({"main": func})]\n' + GPU_SCHEDULE
    text += 'mods[0]["main"] = sch.mod["main"]\n'
    kernels = reports(run, text)
    module = next(item for item in kernels if item.definition == "mods")
    assert module.schedule == "unscheduled"


def test_a_pass_that_gives_another_module_leaves_the_line_of_the_first(run: Run) -> None:
    text = ADD + (
        'mod = tvm.IRModule({"main": func})\n'
        "from tvm.s_tir import dlight as dl\n"
        'with tvm.target.Target("nvidia/nvidia-a100"):\n'
        "    mod = dl.ApplyDefaultSchedule(dl.gpu.Fallback())(mod)\n"
    )
    kernels = reports(run, text)
    first, last = [item for item in kernels if item.definition == "mod"]
    assert (first.schedule, last.schedule) == ("unscheduled", "gpu")
    assert f"line {last.span.line}" in hint_at(kernels, text, 4).tooltip


CACHE = (
    ADD
    + """\
sch = tvm.s_tir.Schedule(func)
block = sch.get_sblock("B")
i, j = sch.get_loops(block)
i0, i1 = sch.split(i, [None, 32])
j0, j1 = sch.split(j, [None, 32])
sch.reorder(i0, j0, i1, j1)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
sch.bind(j1, "threadIdx.x")
copy = sch.cache_read(block, 0, "shared")
sch.compute_at(copy, j0)
"""
)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        'lib = tvm.compile(sch.mod, target=tvm.target.Target("nvidia/nvidia-a100"))\n',
        'lib = tvm.compile(sch.mod["main"], target=tvm.target.Target("nvidia/nvidia-a100"))\n',
        'final = sch.mod["main"].with_attr("global_symbol", "main")\n',
    ],
)
def test_copies_stay_at_the_step_that_added_them(run: Run, statement: str) -> None:
    text = CACHE + statement
    kernels = reports(run, text)
    line = line_of(text, "copy = ")
    hint = hint_at(kernels, text, line)
    assert f"line {kernels[-1].span.line}" in hint.tooltip
    lines = {cost.span.line for _, cost in kernels[-1].walk() if cost.kind != "launch"}
    assert {4, line} <= lines


RELAX = """\
import tvm
from tvm import relax
from tvm.relax.frontend import nn

class Net(nn.Module):
    def forward(self, x: nn.Tensor):
        for _ in range(3):
            x = nn.op.relu(x)
        return nn.op.softmax(x + x, axis=-1)

mod, params = Net().export_tvm({"forward": {"x": nn.spec.Tensor((64, 1024), "float32")}})
"""


def test_the_hint_of_a_module_is_the_sum_of_its_kernels(run: Run) -> None:
    kernels = reports(run, RELAX)
    (total,) = module_totals(kernels)
    assert total.time_s is not None and total.flop is not None and len(total.kernels) > 2
    assert total.calls > len(total.kernels)
    line = line_of(RELAX, "mod, ")
    hint = hint_at(kernels, RELAX, line)
    assert hint.tooltip.startswith(f"{len(total.kernels)} kernels: share of mod (")
    shown = re.match(r"([\d.]+) (\w+) 100% \| ([\d.]+) (\w+)", hint.label)
    assert shown is not None, hint.label
    seconds = float(shown[1]) * {"ns": 1e-9, "us": 1e-6}[shown[2]]
    assert seconds == pytest.approx(total.time_s, rel=0.06)


def test_the_hover_of_a_module_begins_with_the_sum_of_its_kernels(run: Run) -> None:
    kernels = reports(run, RELAX)
    (total,) = module_totals(kernels)
    first = hovered(kernels, line_of(RELAX, "mod, ")).splitlines()[0]
    assert first.startswith(
        f"**mod**: forward: {len(total.kernels)} kernels in {total.calls} calls"
    )


def test_a_script_has_the_figures_of_its_last_schedule(run: Run) -> None:
    text = """\
import tvm
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def add(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32")):
    for i, j in T.grid(1024, 1024):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)

func = add
"""
    text = text.replace("func = add\n", GPU_SCHEDULE.replace("(func)", "(add)"))
    kernels = reports(run, text)
    last = kernels[-1]
    line = line_of(text, "            B[vi")
    assert f"line {last.span.line}" in hovered(kernels, line)
    assert all(
        f"line {last.span.line}" in hint.tooltip
        for hint in file_hints(kernels, text.splitlines(), HintOptions())
    )


def test_of_two_schedules_of_one_expression_the_later_owns_its_line(run: Run) -> None:
    other = GPU_SCHEDULE.replace("sch", "other").replace("128", "256")
    text = ADD + GPU_SCHEDULE + other
    kernels = reports(run, text)
    assert f"other.bind (main), line {kernels[-1].span.line}" in hint_at(kernels, text, 4).tooltip


FACTORY = """\
import tvm
from tvm import te

def build(n=1024):
    A = te.placeholder((n, n), "float32", "A")
    B = te.compute((n, n), lambda i, j: A[i, j] + tvm.tirx.const(1, "float32"), "B")
    sch = tvm.s_tir.Schedule(te.create_prim_func([A, B]))
    f = sch.fuse(*sch.get_loops(sch.get_sblock("B")))
    o, t = sch.split(f, [None, 256])
    sch.bind(o, "blockIdx.x")
    sch.bind(t, "threadIdx.x")
    return {result}

"""


@pytest.mark.parametrize("result", ['sch.mod["main"]', "sch.mod", "sch"])
@pytest.mark.parametrize("call", ["out = build()\n", "out = build(1024)\n", "outs = [build()]\n"])
def test_a_schedule_that_a_factory_builds_once_is_one_kernel(
    run: Run, result: str, call: str
) -> None:
    text = FACTORY.format(result=result) + call
    kernels = reports(run, text)
    bound = [item for item in kernels if item.definition == "build.sch.bind"]
    assert len(bound) == 1
    assert (bound[0].flop, bound[0].dram_bytes.total) == (1 << 20, 1 << 23)
    assert module_totals(kernels) == []
    assert "| 1 M" in hint_at(kernels, text, 6).label


def test_a_factory_that_builds_two_sizes_has_two_kernels(run: Run) -> None:
    text = FACTORY.format(result='sch.mod["main"]') + "a = build(512)\nb = build(1024)\n"
    kernels = reports(run, text)
    bound = [item for item in kernels if item.definition == "build.sch.bind"]
    assert sorted(item.flop or 0 for item in bound) == [1 << 18, 1 << 20]


HELPER = """\
import tvm
from tvm import te

class Options:
    pass

def build(n, dtype="float32", options=None):
    A = te.placeholder((n, 1024), dtype, name="A")
    B = te.compute((n, 1024), lambda i, j: A[i, j] * A[i, j], name="B")
    sch = tvm.s_tir.Schedule(te.create_prim_func([A, B]))
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.bind(i, "blockIdx.x")
    n = n // 2
    return sch

"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("a = build(512)\nb = build(1024, 'float16')\n", [
            "build(..., 'float32', None).sch.bind (main)",
            "build(..., 'float16', None).sch.bind (main)",
        ]),
        ("for n in (512, 1024):\n    build(n, options=Options())\n", [
            "build(..., 'float32', ...).sch.bind (main)",
        ] * 2),
    ],
)  # fmt: skip
def test_an_argument_that_is_not_known_is_left_out(
    run: Run, calls: str, expected: list[str]
) -> None:
    """Of `n`, which the function assigns to, and of an object without a short text."""
    kernels = reports(run, HELPER + calls)
    assert [labels.title(item) for item in kernels if item.definition.endswith("bind")] == expected


@pytest.mark.parametrize(
    "calls",
    [
        "a = build(512)\nb = build(1024)\n",
        "for n in (512, 1024):\n    build(n)\n",
    ],
)
def test_each_kernel_of_a_helper_has_the_call_that_made_it(run: Run, calls: str) -> None:
    kernels = reports(run, HELPER.replace("    n = n // 2\n", "") + calls)
    bound = [item for item in kernels if item.definition == "build.sch.bind"]
    assert [labels.title(item) for item in bound] == [
        f"build({n}, 'float32', None).sch.bind (main)" for n in (512, 1024)
    ]
    assert [item.call for item in bound] == [f"build({n}, 'float32', None)" for n in (512, 1024)]
