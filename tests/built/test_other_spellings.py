"""Kernels in spellings that name no function of TVM: figures, or the one right sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tirlens import pipeline, source
from tirlens.cli import main
from tirlens.model.report import KernelReport
from tirlens.pipeline.options import Options
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[[str], Result]

TENSORS = """\
import tvm
from tvm import te
n = {n}
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")
"""


def reports(result: Result, text: str) -> tuple[KernelReport, ...]:
    return pipeline.file_report(source.read(text), result, Options(advice=False)).kernels


def figures(report: KernelReport) -> tuple[object, ...]:
    return report.time_s, report.flop, report.global_bytes, report.compulsory_bytes, report.schedule


@pytest.mark.parametrize("n", ["4096", 'te.var("n")'])
def test_a_tensor_has_the_figures_of_its_function(run: Run, n: str) -> None:
    text = TENSORS.format(n=n)
    with_function = text + "func = te.create_prim_func([A, B, C])\n"
    (tensor,) = reports(run(text), text)
    (function,) = reports(run(with_function), with_function)
    assert (tensor.definition, tensor.span.line) == ("C", 6)
    assert figures(tensor) == figures(function)
    assert tensor.flop == 4096 and tensor.schedule == "unscheduled"
    assert {cost.span.line for _, cost in tensor.walk()} == {6}


def test_only_the_last_of_several_tensors_is_a_kernel(run: Run) -> None:
    text = TENSORS.format(n="1024")
    text += 'k = te.reduce_axis((0, n), name="k")\n'
    text += 'D = te.compute((1,), lambda i: te.sum(C[k] * C[k], axis=k), name="D")\n'
    text += "print(D, type(D))\n"
    (report,) = reports(run(text), text)
    assert (report.definition, report.span.line) == ("D", 8)
    assert report.flop == 3 * 1024
    assert {cost.span.line for _, cost in report.walk()} == {6, 8}


def test_a_tensor_of_which_the_program_makes_a_function_is_no_second_kernel(run: Run) -> None:
    text = TENSORS.format(n="1024") + "sch = tvm.s_tir.Schedule(te.create_prim_func([A, B, C]))\n"
    assert [one.definition for one in reports(run(text), text)] == ["sch"]


def test_tensors_in_a_function_that_nobody_calls_say_what_to_write(
    tmp_path: Path, each_tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = TENSORS.format(n="1024").splitlines()
    text = "\n".join([*lines[:2], "def add():", *(f"    {one}" for one in lines[2:])])
    path = tmp_path / "tensors.py"
    path.write_text(text + "\n    return [A, B, C]\n")
    status = main(["analyze", str(path), "--python", str(each_tvm_python)])
    assert status == 2
    assert "func = te.create_prim_func([A, B, C])" in capsys.readouterr().err


@pytest.mark.parametrize("between", ["; ", "\n"])
def test_calls_of_a_factory_on_one_line_have_their_own_figures(run: Run, between: str) -> None:
    text = TENSORS.format(n="1024")
    text += "def add(m):\n    D = te.compute((n, m), lambda i, j: A[i] + B[i], name='D')\n"
    text += "    return te.create_prim_func([A, B, D])\n"
    text += between.join(f"f{m} = add({m})" for m in (2, 4, 8)) + "\n"
    built = [one for one in reports(run(text), text) if one.definition.startswith("f")]
    flop = {one.definition: one.flop for one in built}
    assert flop == {"f2": 2048, "f4": 4096, "f8": 8192}


def test_the_decorator_of_tvm_tir(run: Run) -> None:
    text = """\
import tvm
from tvm.script import tir as T

@tvm.tir.prim_func
def scale(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        B[i] = A[i] * T.float32(2)
"""
    result = run(text)
    (report,) = reports(result, text)
    assert report.flop == 1024
    assert {problem.kind for problem in result.problems} == {"unsupported"}


def test_tvmc_says_what_has_taken_its_place(run: Run) -> None:
    text = """\
from tvm.driver import tvmc
from tvm.script import tirx as T

@T.prim_func
def scale(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        B[i] = A[i] * T.float32(2)

package = tvmc.compile(tvmc.load("model.onnx"), target="llvm")
"""
    result = run(text)
    assert [one.flop for one in reports(result, text)] == [1024]
    (message,) = {one.message for one in result.problems if one.kind == "import"}
    assert "tvm.relax.frontend" in message and "tvm.compile" in message


LOWER_PASS = """\
import tvm
from tvm import te
A = te.placeholder((1024,), name="A")
B = te.compute((1024,), lambda i: A[i] + 1.0, name="B")
func = te.create_prim_func([A, B])

@tvm.tirx.transform.prim_func_pass(opt_level=0)
def bind(f, mod, ctx):
    schedule = tvm.s_tir.Schedule(f)
    (i,) = schedule.get_loops(schedule.get_sblock("B"))
    o, t = schedule.split(i, [None, 128])
    schedule.bind(o, "blockIdx.x")
    schedule.bind(t, "threadIdx.x")
    return schedule.mod["main"]

"""
COMPILATION = """\
with tvm.transform.PassContext(config={config}):
    lib = tvm.compile({what}, target={{"kind": "cuda", "arch": "sm_80"}})
"""


@pytest.mark.parametrize("what", ["func", 'tvm.IRModule({"main": func})'])
@pytest.mark.parametrize(
    "config",
    [
        '{"tirx.add_lower_pass": [[tvm.tirx.IntImm("int32", 0), bind]]}',
        '{"tir.add_lower_pass": [(0, bind)]}',
    ],
)
def test_a_pass_that_is_the_first_of_all_is_applied(run: Run, what: str, config: str) -> None:
    text = LOWER_PASS + COMPILATION.format(config=config, what=what)
    lib = next(one for one in reports(run(text), text) if one.definition == "lib")
    assert lib.schedule == "gpu"
    assert not any("add_lower_pass" in note.message for note in lib.caveats)


@pytest.mark.parametrize("phase", [1, 2, 3])
def test_a_pass_over_lowered_code_is_told(run: Run, phase: int) -> None:
    config = f'{{"tir.add_lower_pass": [({phase}, bind)]}}'
    text = LOWER_PASS + COMPILATION.format(config=config, what="func")
    lib = next(one for one in reports(run(text), text) if one.definition == "lib")
    assert lib.schedule == "unscheduled"
    assert any("add_lower_pass" in note.message for note in lib.caveats)
