"""Targets of real frameworks: the device of each kernel, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.requests import request_of
from tirlens import pipeline, source, worker_client
from tirlens.model.report import KernelReport
from tirlens.pipeline.device_choice import choose_device
from tirlens.pipeline.options import Options
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[[str], Result]

NO_DEVICE = "no device for this target"
NOT_LISTED = "is not in the catalogue"
NO_CHIP = "names no chip"
# The device, and what its caveat says where the device is another one.
TARGETS: list[tuple[str | Mapping[str, Any], str, str]] = [
    ("nvidia/geforce-rtx-3080", "rtx-3080", ""),
    ("nvidia/geforce-rtx-3090", "rtx-3090", ""),
    ("nvidia/geforce-rtx-4090", "rtx-4090", ""),
    ("nvidia/nvidia-a100", "a100-80-sxm", ""),
    ("nvidia/nvidia-h100", "h100-sxm", ""),
    ("nvidia/nvidia-a10", "a10", ""),
    ("nvidia/nvidia-a30", "a30", ""),
    ("nvidia/nvidia-a40", "a40", ""),
    ("nvidia/nvidia-t4", "t4", ""),
    ("nvidia/nvidia-v100", "v100-sxm2", ""),
    ("nvidia/tesla-p100", "p100-pcie", ""),
    ("nvidia/nvidia-a10g", "a10", NOT_LISTED),
    ("nvidia/geforce-rtx-3090-ti", "rtx-3090", NOT_LISTED),
    ("nvidia/geforce-rtx-3070", "rtx-3090", NOT_LISTED),
    ("nvidia/geforce-rtx-2080-ti", "t4", NOT_LISTED),
    ("nvidia/rtx-a6000", "rtx-3090", NOT_LISTED),
    ("nvidia/nvidia-b100", "b200", NOT_LISTED),
    ("nvidia/geforce-rtx-5060-ti", "rtx-5090", NOT_LISTED),
    ("nvidia/tesla-p40", "p4", NOT_LISTED),
    ("nvidia/quadro-gv100", "v100-sxm2", NOT_LISTED),
    ("nvidia/jetson-agx-orin-64gb", "rtx-3090", NO_DEVICE),
    ("nvidia/jetson-agx-xavier", "v100-sxm2", NO_DEVICE),
    ("nvidia/tegra-x1", "p100-pcie", NO_DEVICE),
    ("nvidia/tesla-k80", "p100-pcie", NO_DEVICE),
    ("apple/m1-gpu", "apple-m1", ""),
    ("apple/m2-gpu", "apple-m2", ""),
    ("apple/m1-gpu-restricted", "apple-m1", ""),
    ("metal", "apple-m2", NO_CHIP),
    ("rocm", "mi300x", NO_CHIP),
    ("cuda", "h100-sxm", ""),
    ("vulkan", "h100-sxm", NO_DEVICE),
    ("opencl", "h100-sxm", NO_DEVICE),
    ("webgpu", "h100-sxm", NO_DEVICE),
    ("qcom/adreno-vulkan", "h100-sxm", NO_DEVICE),
    ("hexagon", "x86-avx2", NO_DEVICE),
    ("qcom/hexagon-v75", "x86-avx2", NO_DEVICE),
    ("llvm", "x86-avx2", "names no mcpu"),
    ("c", "x86-avx2", ""),
    ("aws/cpu/c5.large", "x86-avx512", "num-cores"),
    ("aws/cpu/c5.12xlarge", "x86-avx512", "num-cores"),
    ("raspberry-pi/4b-aarch64", "arm-neoverse", NO_DEVICE),
    ("arm/rasp3b", "arm-neoverse", NO_DEVICE),
    ("arm/rk3399", "arm-neoverse", NO_DEVICE),
    ("riscv/sifive-u74", "x86-avx2", NO_DEVICE),
    ({"kind": "cuda", "arch": "sm_90a"}, "h100-sxm", ""),
    ({"kind": "cuda", "arch": "sm_100a"}, "b200", ""),
    ({"kind": "cuda", "arch": "sm_120"}, "rtx-5090", ""),
    ({"kind": "cuda", "arch": "sm_86", "model": "rtx-3080"}, "rtx-3080", ""),
    ({"kind": "cuda", "arch": "sm_87"}, "rtx-3090", NO_DEVICE),
    ({"kind": "cuda", "arch": "sm_103a"}, "b200", NO_DEVICE),
    ({"kind": "rocm", "mcpu": "gfx942"}, "mi300x", ""),
    ({"kind": "rocm", "mcpu": "gfx950"}, "mi355x", ""),
    ({"kind": "rocm", "mcpu": "gfx90a"}, "mi250x", ""),
    ({"kind": "rocm", "mcpu": "gfx1100"}, "mi355x", NO_DEVICE),
    ({"kind": "llvm", "mcpu": "skylake-avx512"}, "x86-avx512", ""),
    ({"kind": "llvm", "mcpu": "znver3"}, "x86-avx2", ""),
    ({"kind": "llvm", "mcpu": "sapphirerapids"}, "x86-avx512", ""),
    ({"kind": "llvm", "mcpu": "nehalem"}, "x86-avx2", NO_DEVICE),
    ({"kind": "llvm", "mcpu": "neoverse-v1", "mtriple": "aarch64-linux-gnu"}, "arm-neoverse", ""),
    ({"kind": "llvm", "mcpu": "neoverse-n2"}, "arm-neoverse", NO_DEVICE),
    ({"kind": "llvm", "mtriple": "riscv64-unknown-linux-gnu"}, "x86-avx2", NO_DEVICE),
    ({"kind": "llvm", "mtriple": "wasm32-unknown-unknown"}, "x86-avx2", NO_DEVICE),
    ({"kind": "llvm", "mattr": ["+avx512f"]}, "x86-avx512", ""),
]  # fmt: skip
HEAD = """\
import tvm
from tvm import te

A = te.placeholder((1024,), name="A")
B = te.compute((1024,), lambda i: A[i] + 1.0, name="B")
func = te.create_prim_func([A, B])
"""
SCHEDULE = (
    HEAD
    + """\
sch = tvm.s_tir.Schedule(func)
(i,) = sch.get_loops(sch.get_sblock("B"))
o, t = sch.split(i, [None, 128])
sch.bind(o, "blockIdx.x")
sch.bind(t, "threadIdx.x")
"""
)


@pytest.fixture(scope="module")
def run(each_tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("targets")
    interpreter = worker_client.find_interpreter(folder, setting=each_tvm_python)
    with worker_client.BlockingClient(interpreter) as client:
        yield lambda text: client.analyze(request_of(folder / "document.py", text))


def devices(result: Result) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """The device of each kernel with its caveats, by definition."""
    assert not result.problems
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for facts in result.kernels:
        device = choose_device(None, facts, Options()).device
        found.setdefault(facts.definition, []).append((device.id, device.caveats))
    return found


def test_each_target_has_its_device_or_a_word(run: Run) -> None:
    lines = [
        f"lib{number} = tvm.compile(func, target=tvm.target.Target({target!r}))\n"
        for number, (target, _, _) in enumerate(TARGETS)
    ]
    found = devices(run(HEAD + "".join(lines)))
    wrong: list[object] = []
    for number, (target, expected, words) in enumerate(TARGETS):
        ((device, caveats),) = found[f"lib{number}"]
        said = [text for text in caveats if words and words in text]
        unasked = [
            text
            for text in caveats
            if not words and any(w in text for w in (NO_DEVICE, NOT_LISTED, "no mcpu"))
        ]
        if device != expected or bool(said) != bool(words) or unasked:
            wrong.append((target, device, caveats))
    assert wrong == []


@pytest.mark.parametrize(
    "compilation",
    [
        'lib = tvm.compile(sch.mod, target=tvm.target.Target("nvidia/geforce-rtx-3080"))',
        'lib = tvm.compile(sch.mod, target="nvidia/geforce-rtx-3080")',
        'lib = tvm.compile(sch.mod, target=tvm.target.Target({"tag": "nvidia/geforce-rtx-3080"}))',
        'TARGET = tvm.target.Target("nvidia/geforce-rtx-3080")\nlib = tvm.compile(sch.mod, TARGET)',
        'with tvm.target.Target("nvidia/geforce-rtx-3080"):\n    lib = tvm.compile(sch.mod)',
    ],
)
def test_all_versions_are_of_the_target_of_the_only_compilation(run: Run, compilation: str) -> None:
    found = devices(run(SCHEDULE + compilation + "\n"))
    ids = {device for versions in found.values() for device, _ in versions}
    assert ids == {"rtx-3080"}


def test_versions_are_of_no_target_where_the_text_has_several(run: Run) -> None:
    text = SCHEDULE + (
        'one = tvm.compile(sch.mod, target=tvm.target.Target("nvidia/geforce-rtx-3080"))\n'
        'two = tvm.compile(sch.mod, target=tvm.target.Target("nvidia/nvidia-a100"))\n'
    )
    found = devices(run(text))
    assert {device for device, _ in found["sch.bind"]} == {"h100-sxm"}
    assert [device for device, _ in found["one"]] == ["rtx-3080"]
    assert [device for device, _ in found["two"]] == ["a100-80-sxm"]


def test_a_target_that_is_changed_reaches_the_versions_before_it(run: Run) -> None:
    for tag, expected in (("nvidia/nvidia-a40", "a40"), ("nvidia/nvidia-t4", "t4")):
        text = SCHEDULE + f'lib = tvm.compile(sch.mod, target=tvm.target.Target("{tag}"))\n'
        ids = {device for versions in devices(run(text)).values() for device, _ in versions}
        assert ids == {expected}


def test_a_function_of_tvmscript_has_the_target_of_its_compilation(run: Run) -> None:
    text = """\
import tvm
from tvm.script import tirx as T

@T.prim_func
def scale(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in T.parallel(1024):
        B[i] = A[i] * T.float32(2)

lib = tvm.compile(scale, target={"kind": "llvm", "mcpu": "sapphirerapids"})
"""
    found = devices(run(text))
    assert [device for device, _ in found["scale"]] == ["x86-avx512"]


CPU_SCHEDULE = """\
import tvm
from tvm import te

n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")
func = te.create_prim_func([A, B, C])
sch = tvm.s_tir.Schedule(func)
(i,) = sch.get_loops(sch.get_sblock("C"))
xo, xi = sch.split(i, factors=[None, 32])
sch.parallel(xo)
sch.vectorize(xi)
"""
THREADS = """\
gpu = tvm.s_tir.Schedule(func)
(j,) = gpu.get_loops(gpu.get_sblock("C"))
o, t = gpu.split(j, factors=[None, 128])
gpu.bind(o, "blockIdx.x")
gpu.bind(t, "threadIdx.x")
"""


def reports(run: Run, text: str, device: str | None = None) -> tuple[KernelReport, ...]:
    options = Options(advice=False, device=device)
    return pipeline.file_report(source.read(text), run(text), options).kernels


def test_a_cpu_schedule_without_a_target_is_on_a_cpu_from_its_first_version(run: Run) -> None:
    found = reports(run, CPU_SCHEDULE)
    assert {(one.device_id, one.device_source) for one in found} == {("x86-avx2", "schedule")}
    last = found[-1]
    assert last.schedule == "cpu"
    assert last.previous_s is not None


def test_a_cpu_schedule_beside_a_gpu_schedule_is_not_compared_with_it(run: Run) -> None:
    found = reports(run, CPU_SCHEDULE + THREADS)
    by_step = {one.definition: one for one in found}
    assert by_step["gpu.bind"].device_id == "h100-sxm"
    assert by_step["gpu"].device_id == "h100-sxm"
    assert by_step["sch.vectorize"].device_id == "x86-avx2"
    # The version before it has no parallel loop, and is on the device of its schedule.
    assert (by_step["sch"].device_id, by_step["sch"].device_source) == ("x86-avx2", "schedule")
    first_s = by_step["sch"].time_s
    assert first_s is not None and by_step["sch.parallel"].previous_s == first_s


def test_a_schedule_that_gets_threads_has_one_target(run: Run) -> None:
    """The text compiles for a CPU alone, which is not the device of a schedule with threads."""
    text = CPU_SCHEDULE + THREADS + 'lib = tvm.compile(sch.mod, target="llvm")\n'
    by_step = {one.definition: one.device_id for one in reports(run, text)}
    assert by_step["sch"] == by_step["sch.vectorize"] == by_step["lib"] == "x86-avx2"
    assert by_step["gpu"] == by_step["gpu.bind"] == "h100-sxm"


def test_a_gpu_that_is_asked_for_says_that_the_schedule_is_of_a_cpu(run: Run) -> None:
    found = reports(run, CPU_SCHEDULE, device="a100-80-sxm")
    notes = [[note.message for note in one.caveats] for one in found]
    assert any("cores of a CPU" in text for text in notes[-1])
    assert not any("cores of a CPU" in text for text in notes[0])


def test_a_script_with_a_parallel_loop_is_on_a_cpu(run: Run) -> None:
    text = """\
from tvm.script import tirx as T

@T.prim_func
def scale(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in T.parallel(32):
        for j in T.vectorized(32):
            B[i * 32 + j] = A[i * 32 + j] * T.float32(2)

@T.prim_func
def plain(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        B[i] = A[i] * T.float32(2)
"""
    assert [one.device_id for one in reports(run, text)] == ["x86-avx2", "h100-sxm"]


TILELANG = """\
import tilelang
import tilelang.language as T

def copy(n=1024, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((n, n), dtype), B: T.Tensor((n, n), dtype)):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            tile = T.alloc_shared((128, 128), dtype)
            T.copy(A[by * 128, bx * 128], tile)
            T.copy(tile, B[by * 128, bx * 128])
    return main

"""


@pytest.mark.parametrize(
    ("compilation", "expected", "words"),
    [
        ('kernel = tilelang.compile(copy(), target="cuda")', "h100-sxm", ""),
        ('kernel = tilelang.compile(copy(), target="auto")', "h100-sxm", ""),
        ('kernel = tilelang.compile(copy(), target={"kind": "cuda", "arch": "sm_80"})',
         "a100-80-sxm", ""),
        ('kernel = tilelang.compile(copy(), target={"kind": "cuda", "arch": "sm_87"})',
         "rtx-3090", NO_DEVICE),
        ('kernel = tilelang.compile(copy(), target="hip")', "mi300x", NO_CHIP),
        ('jitted = tilelang.jit(copy, target={"kind": "cuda", "arch": "sm_89"})', "rtx-4090", ""),
    ],
)  # fmt: skip
def test_a_kernel_of_tilelang_has_the_target_of_its_compilation(
    run_tilelang: Run, compilation: str, expected: str, words: str
) -> None:
    found = devices(run_tilelang(TILELANG + compilation + "\n"))
    ((device, caveats), *_) = found["copy"]
    assert device == expected
    assert not words or any(words in text for text in caveats)
