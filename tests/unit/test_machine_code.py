"""What ptxas reports of kernels, and machine code as it is printed."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import pytest

from tirlens.pipeline.machine_code import MachineText, resource_text, with_readable_listing
from tirlens_worker.frameworks.lowering.machine_code import add_machine_code, kernels_of
from tirlens_worker.protocol import CompiledKernel, Compiler, GeneratedCode, GeneratedText

DATA = Path(__file__).parents[1] / "sass" / "data"
MESSAGES = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'functions' for 'sm_90a'
ptxas info    : Function properties for functions
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers
ptxas info    : Compile time = 198.295 ms
ptxas info    : Function properties for _Z8quotientdd
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'local_array' for 'sm_90a'
ptxas info    : Function properties for local_array
    128 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers, 128 bytes cumulative stack size
ptxas info    : Compiling entry function 'product' for 'sm_90a'
ptxas info    : Function properties for product
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 26 registers, used 1 barriers, 2048 bytes smem
"""
FUNCTIONS = CompiledKernel("functions", 30, 0, 0, 0, 0)
LOCAL_ARRAY = CompiledKernel("local_array", 40, 128, 4, 12, 0)
PRODUCT = CompiledKernel("product", 26, 0, 0, 0, 2048)
# With the line of the kernel in line 13 of the source, and of what a header has in line 2.
LISTING = """
\t.target\tsm_80
\t.section\t.text.k,"ax",@progbits
        .type           k,@function
        .other          k,@"STO_CUDA_ENTRY STV_DEFAULT"
k:
\t//## File "/x/math.h", line 7 inlined at "/x/kernel.cu", line 2
\t//## File "/x/kernel.cu", line 2
        /*0000*/    FADD R4, R4, R5 ;                   /* 0x0000000504047221 */
                                                       /* 0x004fca0000000000 */
.L_x_0:
\t//## File "/x/other.h", line 1
        /*0010*/    @P1 BRA `(.L_x_0) ;                 /* 0xfffffffc00001947 */
                                                       /* 0x000fea000383ffff */
        /*0020*/    NOP ;                               /* 0x000000000000794d */
                                                       /* 0x000fea0003800000 */
"""


def code(listing: str) -> GeneratedCode:
    texts = (GeneratedText("cuda", "a\nb\n", (0, 13)), GeneratedText("sass", listing, ()))
    return GeneratedCode(
        "k", "k", "k()", "sm_80", texts, compiled=(CompiledKernel("k", 8, 0, 0, 0),)
    )


def test_resources_of_several_kernels() -> None:
    assert list(kernels_of(MESSAGES)) == [FUNCTIONS, LOCAL_ARRAY, PRODUCT]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (
            PRODUCT,
            (
                "26 registers a thread, stack frame 0 bytes, no spills,"
                " static shared memory 2048 bytes"
            ),
        ),
        (
            LOCAL_ARRAY,
            (
                "40 registers a thread, stack frame 128 bytes, spills 4 stored, 12 loaded bytes,"
                " static shared memory 0 bytes"
            ),
        ),
        (CompiledKernel("k", 8), "8 registers a thread, static shared memory 0 bytes"),
    ],
)
def test_what_is_not_reported_is_left_out(kernel: CompiledKernel, expected: str) -> None:
    assert resource_text(kernel) == expected


def test_instructions_are_linked_by_the_generated_source() -> None:
    cuda, sass = with_readable_listing(code(LISTING)).texts
    assert cuda.lines == (0, 13)
    assert isinstance(sass, MachineText)
    rows = zip(sass.text.splitlines(), sass.lines, sass.cuda_lines, strict=True)
    assert list(rows) == [
        ("// k, sm_80: " + resource_text(code("").compiled[0]), 0, 0),
        ("// line  instr.  reg.  machine code", 0, 0),
        ("//   13       1     2  FADD", 13, 0),
        ("[B--2---:R-:W-:Y:S05] 0000  FADD R4, R4, R5", 13, 2),
        (".L_x_0:", 0, 0),
        ("[B------:R-:W-:-:S05] 0010    @P1 BRA `(.L_x_0)", 0, 0),
    ]
    assert [code.text for code in sass.by_line["k"].values()] == ["FADD"]


def test_a_listing_that_is_not_understood_is_refused() -> None:
    found = with_readable_listing(code("nonsense"))
    assert [text.language for text in found.texts] == ["cuda"]
    assert "no .target" in found.resources_error


@pytest.mark.parametrize("recorded", ["control_flow.sm_80", "instructions.sm_100a"])
def test_every_instruction_is_printed_once(recorded: str) -> None:
    listing = lzma.decompress((DATA / f"{recorded}.sass.xz").read_bytes()).decode()
    found = with_readable_listing(code(listing)).texts[1]
    assert len(found.lines) == found.text.count("\n")
    instructions = [line for line in found.text.splitlines() if line.startswith("[B")]
    assert sum("EXIT" in line for line in instructions) == sum(
        " EXIT" in line and "/*" in line for line in listing.splitlines()
    )


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands for nvcc")
def test_messages_of_the_compiler_may_be_in_any_encoding(tmp_path: Path) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_bytes(b"#!/bin/sh\necho 'kernel.cu(1): error: gr\xf6\xdfe' >&2\nexit 1\n")
    nvcc.chmod(0o700)
    # A module without a version in the place of a framework.
    found = add_machine_code(code(LISTING), "lzma", Compiler(nvcc=str(nvcc)), with_sass=False)
    assert found.resources_error == "nvcc: kernel.cu(1): error: gr\ufffd\ufffde"


def test_a_missing_tool_is_named() -> None:
    found = add_machine_code(code(LISTING), "tvm", Compiler(), with_sass=True)
    assert "no nvcc" in found.resources_error and found.compiled == code(LISTING).compiled
