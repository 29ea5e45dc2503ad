"""The kernels of a GPU's calibration under the frameworks, without a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support import environments
from tirlens.cli.calibration.gpu import find_board, timed_steps
from tirlens.cli.errors import UsageError
from tirlens.hardware import load
from tirlens.hardware.calibration.gpu import ADDRESS_OPERATION_ARCH
from tirlens.hardware.calibration.gpu_steps import (
    BARRIERS,
    CHAIN_OPERATIONS,
    CHAIN_STEPS,
    CHASE_STEPS,
    Board,
    calibration_steps,
)
from tirlens_sass import Function, Instruction, read

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("gpu_calibration_program.py")
ROOT = Path(__file__).parents[2]
# The source is the same for all architectures.
COMPILATIONS = [
    *(("tilelang-0.1.15", architecture) for architecture in ("sm_75", "sm_80", "sm_90", "sm_100")),
    *((name, "sm_90") for name in ("tilelang-0.1.8", "tvm-0.27.0.post1", "tvm-0.25.0.post1")),
]
# The instructions between two readings of the clock.
CHAINS = {
    "chain": ("FFMA",),
    "shuffles": ("SHFL",),
    "barriers": ("BAR",),
    "chase": ("LDG",),
    "shared chase": ("LDS",),
}


def run(environment: str, *arguments: str, **variables: str) -> Any:
    """What the program of the kernels prints under an environment."""
    command = [str(environments.environment(environment)), str(PROGRAM), *arguments]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "server"), **variables}
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().rpartition("\n")[2])


def with_nvcc(cuda_home: Path) -> dict[str, str]:
    """The environment variables with which a framework finds nvcc."""
    path = f"{cuda_home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"CUDA_HOME": str(cuda_home), "PATH": path}


@cache
def sources_of(framework: str) -> Mapping[str, str]:
    """The CUDA source of each kernel by a framework."""
    found: dict[str, str] = run(framework, "sources")
    return found


def machine_code(cuda_home: Path, source: str, architecture: str, folder: Path) -> Function:
    """The machine code of the kernel of a source, by the tools of an environment."""
    path, cubin = folder / "kernel.cu", folder / "kernel.cubin"
    path.write_text(source, encoding="utf-8")
    nvcc = [str(cuda_home / "bin/nvcc"), "-w", "-cubin", f"-arch={architecture}", "-o", str(cubin)]
    subprocess.run([*nvcc, str(path)], check=True, capture_output=True)
    disassembler = [str(cuda_home / "bin/nvdisasm"), "-c", "-g", "-hex", str(cubin)]
    listing = subprocess.run(disassembler, check=True, capture_output=True, text=True).stdout
    (kernel,) = read(listing).kernels
    return kernel


def names(kernel: Function) -> Counter[str]:
    """How often the kernel has each instruction, without modifiers."""
    return Counter(instruction.name for instruction in kernel.instructions)


def is_dependent(loads: list[Instruction], kernel: Function) -> bool:
    """Whether the address of each load of a chain is computed from the value before."""
    first, last = (kernel.instructions.index(one) for one in (loads[0], loads[-1]))
    known: set[tuple[str, int]] = set()
    for one in kernel.instructions[first : last + 1]:
        assert one.registers is not None
        reads = {(item.file, item.first) for item in one.registers.reads}
        writes = {(item.file, item.first) for item in one.registers.writes}
        if one in loads:
            if known and not reads & known:
                return False
            known = writes
        elif reads & known:
            known |= writes
    return True


@pytest.mark.parametrize(("framework", "architecture"), COMPILATIONS)
def test_the_compiler_keeps_what_is_measured(
    framework: str, architecture: str, cuda_home: Path, tmp_path: Path
) -> None:
    code = {
        name: machine_code(cuda_home, source, architecture, tmp_path)
        for name, source in sources_of(framework).items()
    }
    found = {name: names(kernel) for name, kernel in code.items()}
    assert found["chain"]["FFMA"] == CHAIN_STEPS
    # The loop may be unrolled; nothing is computed before it.
    assert found["multiply-add"]["FFMA"] % CHAIN_OPERATIONS == 0 < found["multiply-add"]["FFMA"]
    for name in ("exp2", "rsqrt"):
        assert found[name]["MUFU"] % CHAIN_OPERATIONS == 0 < found[name]["MUFU"]
    for name in CHAINS:
        clocks = [one for one in code[name].instructions if "SR_CLOCK" in str(one.operands)]
        chain = [one for one in code[name].instructions if one.name in CHAINS[name]]
        assert len(clocks) >= 2, name
        # The first load of a chase is that of its first index.
        assert clocks[0].address < chain[1].address, name
        assert clocks[-1].address > chain[-1].address, name
    assert found["shuffles"]["SHFL"] >= CHASE_STEPS
    assert found["barriers"]["BAR"] >= BARRIERS
    for name, opcode in (("chase", "LDG"), ("shared chase", "LDS")):
        loads = [one for one in code[name].instructions if one.name == opcode]
        assert len(loads) % CHASE_STEPS in (0, 1)
        assert is_dependent(loads[-CHASE_STEPS:], code[name])
    addresses = found["shared chase"]["LEA"] >= CHASE_STEPS
    assert addresses == (int(architecture[3:]) >= ADDRESS_OPERATION_ARCH)
    for name, loads, stores in (("copy", 4, 4), ("triad", 8, 4)):
        assert (found[name]["LDG"], found[name]["STG"]) == (loads, stores)
    wide = [one for one in code["read"].instructions if one.name == "LDG"]
    assert wide and all("128" in one.modifiers for one in wide)
    assert found["write"]["STG"] % 4 == 0 < found["write"]["STG"]
    assert not any(found[name]["LDL"] or found[name]["STL"] for name in found)


@pytest.mark.parametrize("framework", ["tilelang-0.1.15", "tilelang-0.1.9"])
def test_every_kernel_is_built_and_found_by_its_timer(framework: str, cuda_home: Path) -> None:
    """tilelang's TVM has no LLVM for the part of the host."""
    assert len(run(framework, "timers", **with_nvcc(cuda_home))) == 14


def test_products_of_every_type_have_matrix_instructions(cuda_home: Path) -> None:
    sources = run("tilelang-0.1.15", "products", **with_nvcc(cuda_home))
    assert len(sources) == 10
    for name, source in sources.items():
        assert re.search(r"tl::(gemm|wgmma|mma_sync)", source), name


def test_the_kernels_compute_what_they_say() -> None:
    """On a CPU; a chase visits every line once before it returns to the first."""
    found = run("tvm-0.26.0", "results")
    assert found["copy"] and found["triad"] and found["write"]
    assert found["read"][0] == pytest.approx(found["read"][1])
    visited, lines = found["visited"], found["lines"]
    assert lines == list(range(0, 8192, 32))
    assert visited[-1] == 0 and len(set(visited)) == len(visited) == len(lines) // CHASE_STEPS


def test_the_steps_are_measured_and_reported() -> None:
    """The steps of a GPU, smaller, on a CPU: arrays, numbers, repetition, failures."""
    base = load("t4")
    board = Board("T4", "NVIDIA", "sm_75", 1, 1 << 20, 64 << 20)
    wanted = (
        "long chain",
        "read dram",
        "copy dram",
        "triad dram",
        "chase dram",
        "exp2",
        "write l2",
    )
    steps = [step for step in calibration_steps(base, board) if step.name in wanted]
    steps.append(replace(steps[0], name="unknown", kernel="unknown"))
    steps.append(
        replace(steps[0], name="product", kernel="product", sizes={"dtype": "int8", "size": 64})
    )
    answers = run("tvm-0.26.0", "measure", json.dumps([step.request() for step in steps]))
    timed = timed_steps(answers)
    assert set(timed.times) == set(wanted)
    assert set(timed.problems) == {"unknown", "product"}
    assert all(0 < time.seconds < 10 for time in timed.times.values())
    assert "torch" in timed.problems["product"]


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ("tilelang-0.1.15", "tilelang 0.1.15 finds no cuda device"),
        ("tvm-0.27.0.post1", "tvm 0.27.0.post1 was built without cuda"),
    ],
)
def test_a_machine_without_a_gpu_is_told_what_was_looked_for(environment: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        find_board(environments.environment(environment))
    assert "--cpu" in str(raised.value) and "no driver's tool reports a GPU" in str(raised.value)
