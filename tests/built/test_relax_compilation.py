"""What ``tvm.compile`` makes of a Relax module: the kernels after TVM's default passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens import pipeline, source
from tirlens.model.report import KernelReport
from tirlens.pipeline.options import Options
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[[str], Result]

MODEL = """\
import tvm
from tvm import relax
from tvm.relax.frontend import nn

class Net(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(1024, 1024)
    def forward(self, x: nn.Tensor):
        return nn.op.softmax(nn.op.relu(self.linear(x)), axis=-1)

mod, params = Net().export_tvm({"forward": {"x": nn.spec.Tensor((64, 1024), "float32")}})
"""


def compiled(run: Run, statement: str) -> list[KernelReport]:
    text = MODEL + statement
    found = pipeline.file_report(source.read(text), run(text), Options(advice=False)).kernels
    return [one for one in found if one.definition == "lib"]


@pytest.mark.parametrize(
    ("target", "device"),
    [
        ('"cuda"', "h100-sxm"),
        ('tvm.target.Target("nvidia/nvidia-a100")', "a100-80-sxm"),
        ('{"kind": "rocm", "mcpu": "gfx942"}', "mi300x"),
        ('tvm.target.Target("apple/m1-gpu")', "apple-m1"),
    ],
)
def test_the_kernels_are_fused_and_scheduled_for_a_gpu(run: Run, target: str, device: str) -> None:
    found = compiled(run, f"lib = tvm.compile(mod, target={target})\n")
    names = {one.name for one in found}
    assert len(found) == 3 and any("fused_matmul_add" in name for name in names), names
    assert {(one.device_id, one.schedule) for one in found} == {(device, "gpu")}
    assert all(one.time_s for one in found), [one.message for one in found]


@pytest.mark.parametrize(
    "statement",
    [
        'lib = tvm.compile(mod, target="cuda")\n',
        'lib = relax.build(mod, target="cuda")\n',
        'lib = tvm.compile(mod, "cuda")\n',
        'with tvm.target.Target("cuda"):\n    lib = tvm.compile(mod)\n',
        'target = tvm.target.Target("cuda")\nlib = relax.build(mod, target, params={})\n',
    ],
)
def test_however_the_compilation_is_written(run: Run, statement: str) -> None:
    found = compiled(run, statement)
    assert len(found) == 3
    assert {one.schedule for one in found} == {"gpu"}


def test_the_kernels_for_a_cpu_are_fused(run: Run) -> None:
    found = compiled(run, 'lib = tvm.compile(mod, target="llvm")\n')
    assert len(found) == 3
    assert {(one.device_id, one.schedule) for one in found} == {("x86-avx2", "cpu")}


def test_another_pipeline_is_told(run: Run) -> None:
    statement = 'lib = tvm.compile(mod, target="cuda", relax_pipeline="zero")\n'
    found = compiled(run, statement)
    assert len(found) == 5
    assert all(
        any("before relax_pipeline" in note.message for note in one.caveats) for one in found
    )


def test_a_module_that_is_scheduled_already_keeps_its_schedule(run: Run) -> None:
    statement = """\
from tvm.s_tir import dlight as dl
with tvm.target.Target("nvidia/nvidia-a100"):
    mod = relax.get_pipeline("zero")(mod)
    mod = dl.ApplyDefaultSchedule(dl.gpu.Fallback())(mod)
lib = tvm.compile(mod, target=tvm.target.Target("nvidia/nvidia-a100"))
"""
    text = MODEL + statement
    found = pipeline.file_report(source.read(text), run(text), Options(advice=False)).kernels
    before = [one for one in found if one.span.line == MODEL.count("\n") + 4]
    after = [one for one in found if one.definition == "lib"]
    assert before and sorted(one.time_s or 0 for one in before) == sorted(
        one.time_s or 0 for one in after
    )
