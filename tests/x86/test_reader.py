"""Instructions, their operands, and what they do."""

from __future__ import annotations

import pytest

from tirlens_x86 import Memory, essential, flow_graph, operation_of, read

LISTING = """\
\t.file\t"TVMMod"
\t.type\tscale,@function
scale:
.Lfunc_begin0:
\t.loc\t1 5 0
\txorl\t%eax, %eax
.LBB0_1:                                # =>This Inner Loop Header
\t.loc\t1 7 9 is_stmt 1
\tvmulss\t(%rdi,%rax,4), %xmm0, %xmm1
\tvmovss\t%xmm1, 8(%rsi,%rax,4)
\tincq\t%rax
\tcmpq\t$100, %rax
\tjne\t.LBB0_1
\tretq
"""


def instruction(text: str):
    (function,) = read(f"\t.type\tf,@function\nf:\n\t{text}\n").values()
    return function.instructions[0]


def test_functions_instructions_and_lines() -> None:
    function = read(LISTING)["scale"]
    assert [one.mnemonic for one in function.instructions] == [
        *("xorl", "vmulss", "vmovss", "incq", "cmpq", "jne", "retq")
    ]
    assert [one.line for one in function.instructions] == [5, 7, 7, 7, 7, 7, 7]
    assert function.instructions[2].memory == Memory(8, "rsi", "rax", 4, "")
    assert read(essential(LISTING)) == read(LISTING)


def test_loops() -> None:
    graph = flow_graph(read(LISTING)["scale"])
    (loop,) = graph.loops.values()
    assert loop.blocks == {1} and loop.parent is None
    assert [(one.start, one.end) for one in graph.blocks] == [(0, 1), (1, 6), (6, 7)]


@pytest.mark.parametrize(
    ("text", "kind", "width", "load", "store"),
    [
        ("vfmadd231ps\t(%rax), %zmm1, %zmm2", "multiply_add", 64, 64, 0),
        ("vfmadd231ps\t4(%rax){1to16}, %zmm1, %zmm2", "multiply_add", 64, 4, 0),
        ("vaddss\t%xmm0, %xmm1, %xmm1", "add", 4, 0, 0),
        ("vaddpd\t%ymm0, %ymm1, %ymm1", "add", 32, 0, 0),
        ("vmovups\t%ymm0, 32(%rdi,%rcx)", "move", 32, 0, 32),
        ("vbroadcastss\t4(%rax), %zmm3", "move", 64, 4, 0),
        ("vbroadcastss\t%xmm1, %zmm3", "shuffle", 64, 0, 0),
        ("vpmovsxbw\t16(%rcx), %ymm3", "convert", 32, 16, 0),
        ("vgatherdps\t(%rax,%zmm1,4), %zmm2 {%k1}", "gather", 64, 64, 0),
        ("vscatterdps\t%zmm2, (%rax,%zmm1,4) {%k1}", "scatter", 64, 0, 64),
        ("vgatherqps\t(%rax,%zmm1,4), %ymm2 {%k1}", "gather", 32, 32, 0),
        ("vdivps\t%zmm1, %zmm2, %zmm3", "divide", 64, 0, 0),
        ("vxorps\t%xmm0, %xmm0, %xmm0", "zero", 16, 0, 0),
        ("vpdpwssd\t%ymm1, %ymm2, %ymm0", "vector_product", 32, 0, 0),
        ("vmaxss\t%xmm1, %xmm2, %xmm3", "extremum", 4, 0, 0),
        ("vmovd\t%xmm0, (%r11,%r15,4)", "move", 4, 0, 4),
        ("vmovd\t%eax, %xmm0", "convert", 4, 0, 0),
        ("movsbl\t-7(%r14,%r12), %ebp", "move", 4, 1, 0),
        ("addl\t%eax, (%rdi)", "integer", 4, 4, 4),
        ("imull\t%ebp, %esi", "integer_product", 4, 0, 0),
        ("callq\texpf@PLT", "call", 8, 0, 0),
        ("jne\t.LBB0_1", "branch", 8, 0, 0),
        ("kmovd\t%eax, %k1", "mask", 4, 0, 0),
    ],
)
def test_what_instructions_do(text: str, kind: str, width: int, load: int, store: int) -> None:
    found = operation_of(instruction(text))
    assert (found.kind, found.width_bytes, found.load_bytes, found.store_bytes) == (
        *(kind, width, load, store),
    )


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("vfmadd231ps\t%zmm0, %zmm1, %zmm2", {"v0", "v1", "v2"}, {"v2"}),
        ("vaddps\t%zmm0, %zmm1, %zmm2", {"v0", "v1"}, {"v2"}),
        ("vmovups\t%zmm0, (%rax)", {"v0"}, set()),
        ("addq\t%rax, %rbx", {"rax", "rbx"}, {"rbx", "flags"}),
        ("cmpq\t%rax, %rbx", {"rax", "rbx"}, {"flags"}),
        ("cmovll\t%edx, %esi", {"rdx", "rsi", "flags"}, {"rsi"}),
        ("leaq\t8(%rax,%rbx), %rcx", {"rax", "rbx"}, {"rcx"}),
        ("vmovaps\t%zmm0, %zmm1 {%k1}", {"v0", "v1", "k1"}, {"v1"}),
    ],
)
def test_registers(text: str, reads: set[str], writes: set[str]) -> None:
    found = operation_of(instruction(text))
    assert (set(found.reads), set(found.writes)) == (reads, writes)
