"""What is read of a kernel's machine code, and how it becomes a part of the kernel's facts.

The listing is of a kernel of tilelang for sm_80: a local array of 64 floats is filled in line 22 of
the CUDA source and read, at an index that data determine, in line 26.
"""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from support.kernels import scale
from tirlens.pipeline import Options, analysis_request
from tirlens.pipeline.compilation_request import (
    compilation_request,
    compilation_steps,
    complete_compilation,
    merge_compilations,
)
from tirlens.pipeline.compiled_launch import compiled_launch
from tirlens.source import read
from tirlens_worker import codec
from tirlens_worker.facts import CompiledLaunch, KernelFacts, Launch
from tirlens_worker.protocol import (
    Analyze,
    CompiledKernel,
    Compiler,
    GeneratedCode,
    GeneratedText,
    Problem,
    Result,
)

LISTING = lzma.decompress(
    (Path(__file__).parent / "listings" / "local_array.sm_80.sass.xz").read_bytes()
).decode()
# The line of the document of each line of the CUDA source.
LINES = tuple(100 + number for number in range(1, 61))
COMPILER = Compiler("nvcc", "nvdisasm")
SOURCE = """
import tilelang.language as T

@T.prim_func
def scale(A: T.Tensor((4,), "float32")):
    with T.Kernel(1) as bx:
        A[0] = 1.0
"""


def code(stores: int = 0, loads: int = 0, listing: str = LISTING) -> GeneratedCode:
    texts = (GeneratedText("cuda", "\n" * 60, LINES), GeneratedText("sass", listing, ()))
    kernels = (CompiledKernel("main_kernel", 72, 256, stores, loads, 16),)
    return GeneratedCode("scale", "scale", "scale", "sm_80", texts, compiled=kernels)


def accesses(found: CompiledLaunch | None) -> dict[tuple[str, int, bool], tuple[int, int]]:
    """Instructions and bytes by mode, loops around, and whether they are spills."""
    assert found is not None
    sums: dict[tuple[str, int, bool], tuple[int, int]] = {}
    for one in found.local_accesses:
        key = (one.mode, one.loops, one.is_spill)
        before = sums.get(key, (0, 0))
        sums[key] = (before[0] + one.instructions, before[1] + one.bytes)
    return sums


def test_an_array_that_is_indexed_by_a_variable() -> None:
    found = compiled_launch(code(), None)
    assert found is not None
    assert replace(found, local_accesses=()) == CompiledLaunch("sm_80", 72, 256, 0, 16, ())
    counted = accesses(found)
    # All elements are stored once, 16 bytes at a time; the loop that reads them is unrolled.
    assert counted["write", 0, False] == (16, 256)
    assert counted["read", 1, False][1] == 4 * counted["read", 1, False][0]
    assert not any(is_spill for _, _, is_spill in counted)
    assert {one.span and one.span.line for one in found.local_accesses} == {122, 126}
    assert codec.from_json(CompiledLaunch, codec.to_json(found)) == found


def test_what_ptxas_reports_as_spilled_is_at_fixed_addresses() -> None:
    counted = accesses(compiled_launch(code(stores=256, loads=64), None))
    assert counted["write", 0, True] == (16, 256)
    # An address in a register is that of an element.
    assert all(not is_spill for mode, _, is_spill in counted if mode == "read")


@pytest.mark.parametrize("threads", [128, 96])
def test_spills_are_executed_by_the_warps_of_the_launch(threads: int) -> None:
    signature = "__global__ void main_kernel(float* A, float* B) {"
    given = code(stores=256)
    texts = (replace(given.texts[0], text=signature + "\n" * 60), *given.texts[1:])
    facts = replace(scale(), launch=Launch((8,), (threads,)))
    found = compiled_launch(replace(given, texts=texts), facts)
    assert found is not None
    assert {one.warp_executions for one in found.local_accesses if one.is_spill} == {threads / 32}
    # Without a signature the launch is not known.
    unknown = compiled_launch(given, facts)
    assert unknown is not None and not unknown.executed
    assert {one.warp_executions for one in unknown.local_accesses} == {None}


def test_what_was_not_compiled_has_none() -> None:
    assert compiled_launch(replace(code(), compiled=()), None) is None


def request(facts: KernelFacts, options: Options, compiler: Compiler = COMPILER) -> Analyze | None:
    first = analysis_request(1, "/x.py", SOURCE, read(SOURCE), options)
    return compilation_request(first, Result(1, kernels=(facts,)), read(SOURCE), options, compiler)


FACTS = replace(scale(), definition="scale", name="scale", call="scale")
COMPILED = (CompiledLaunch("sm_80", 72),)


@pytest.mark.parametrize(
    ("changes", "device", "compiler", "is_compiled"),
    [
        ({}, "a100-80-sxm", COMPILER, True),
        ({"framework": "tvm"}, "a100-80-sxm", COMPILER, True),
        ({"framework": "tirx"}, "a100-80-sxm", COMPILER, False),
        ({}, "mi300x", COMPILER, False),
        ({}, "a100-80-sxm", Compiler("nvcc", ""), False),
        ({}, "a100-80-sxm", Compiler(), False),
        ({"refused": {"sm_80": "no"}}, "a100-80-sxm", COMPILER, False),
        ({"compiled": COMPILED}, "a100-80-sxm", COMPILER, False),
        ({"compiled": COMPILED}, "h100-sxm", COMPILER, True),
    ],
)
def test_which_kernels_are_compiled(
    changes: dict[str, object], device: str, compiler: Compiler, is_compiled: bool
) -> None:
    facts = replace(FACTS, **changes)  # pyright: ignore[reportArgumentType]
    found = request(facts, Options(device=device), compiler)
    assert (found is not None) is is_compiled
    assert request(facts, Options(device=device, compile=False), compiler) is None


def test_outcomes_are_merged_into_the_facts() -> None:
    asked = request(FACTS, Options(device="a100-80-sxm"))
    assert asked is not None
    (step,) = compilation_steps(asked)
    assert step.kernels[0].emit == ("cuda", "sass") and step.compiler == COMPILER
    result = Result(1, kernels=(FACTS,))

    def merged(answer: Result) -> KernelFacts:
        done = complete_compilation(step, answer, result.kernels)
        assert not done.generated and not done.problems
        (facts,) = merge_compilations(result, done).kernels
        return facts

    launch = merged(Result(1, generated=(code(),))).compiled_for("sm_80")
    assert launch is not None and launch.registers_per_thread == 72
    failed = replace(code(), compiled=(), resources_error="nvcc: no such option")
    for answer, reason in (
        (Result(1, generated=(failed,)), "nvcc: no such option"),
        (Result(1, generated=(code(listing="x"),)), "nvdisasm: the text has no .target"),
        (Result(1, problems=(Problem("timeout", "over", None, "scale"),)), "over"),
    ):
        facts = merged(answer)
        assert facts.compiled_for("sm_80") is None
        assert [one.message for one in facts.caveats] == [f"was not compiled for sm_80: {reason}"]
    interrupted = Result(1, problems=(Problem("cancelled", "given up"),))
    assert complete_compilation(step, interrupted, result.kernels) == interrupted


def test_a_kernel_on_a_cpu_is_compiled_for_its_processor(tmp_path: Path) -> None:
    """LLVM is a part of TVM, so that no other compiler is needed."""
    device = tmp_path / "mine.toml"
    device.write_text(
        'extends = "x86-avx512"\nid = "mine"\nname = "Mine"\naliases = []\n'
        '[cpu]\nprocessor = "znver4"\n'
    )
    facts = replace(FACTS, framework="tvm", launch=Launch())
    options = Options(device=str(device))
    asked = request(facts, options, Compiler())
    assert asked is not None
    (kernel,) = asked.kernels
    assert kernel.lower_to == {"kind": "llvm", "arch": "znver4"} and kernel.emit == ("assembly",)
    listing = '\t.file\t"x"\n\t.type\tf,@function\nf:\n\tretq\n'
    texts = (GeneratedText("assembly", listing, ()),)
    answer = Result(1, generated=(GeneratedCode("scale", "scale", "scale", "znver4", texts),))
    (merged,) = merge_compilations(
        Result(1, kernels=(facts,)), complete_compilation(asked, answer, (facts,))
    ).kernels
    (assembly,) = merged.assembly
    assert assembly.processor == "znver4" and ".file" not in assembly.text
    assert not merged.caveats
    assert request(merged, options, Compiler()) is None
    assert request(facts, Options(device="x86-avx512"), Compiler()) is None
