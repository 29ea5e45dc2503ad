"""How often instructions are executed, against what the source of the kernels says."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from tirlens_sass import Function, Instruction, Listing, matrix_operations, read
from tirlens_sass.execution import (
    EvaluationError,
    Executions,
    Launch,
    count_executions,
)

DATA = Path(__file__).parent / "data"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120")
POINTER = 1 << 36


@cache
def listing(name: str) -> Listing:
    return read(lzma.decompress((DATA / f"{name}.sass.xz").read_bytes()).decode())


def words(*parameters: int | str) -> dict[int, int]:
    """The words of parameters: an array for each ``*``, an int for each number, ``.`` unknown."""
    found: dict[int, int] = {}
    offset = 0
    for number, parameter in enumerate(parameters):
        if parameter == "*":
            offset = -(-offset // 8) * 8
            found |= {offset: 0, offset + 4: (number + 1) * (POINTER >> 32)}
            offset += 8
        else:
            if isinstance(parameter, int):
                found[offset] = parameter
            offset += 4
    return found


def executions(recorded: str, kernel: str, launch: Launch) -> list[tuple[Instruction, Executions]]:
    found = listing(recorded)
    (function,) = (one for one in found.kernels if one.name == kernel)
    subroutines = [one for one in found.functions if one.kernel == kernel and one != function]
    counted = count_executions(function, subroutines, launch, found.architecture)
    return [
        pair
        for part in (function, *subroutines)
        for pair in zip(part.instructions, counted.by_function[part.name], strict=True)
    ]


def threads(
    found: list[tuple[Instruction, Executions]], wanted: Callable[[Instruction], bool]
) -> float | None:
    """The executions by threads of all instructions that are wanted; None if one is unknown."""
    counts = [one.threads for instruction, one in found if wanted(instruction)]
    return None if None in counts else sum(count or 0 for count in counts)


def named(*names: str) -> Callable[[Instruction], bool]:
    return lambda one: one.name in names


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("n", [16, 40, 1000])
def test_a_product_by_tiles(architecture: str, n: int) -> None:
    """Two loops over k, each around 16 products, which are unrolled by 4."""
    launch = Launch((-(-n // 16), -(-n // 16), 1), (16, 16, 1), words("*", "*", "*", n))
    found = executions(f"control_flow.{architecture}", "product", launch)
    tiles = -(-n // 16)
    assert all(one.is_known for _, one in found)
    assert threads(found, named("FFMA")) == 2 * tiles * 16 * 256
    assert threads(found, named("LDG")) == 2 * tiles * 2 * 256
    assert threads(found, named("STG")) == 2 * 256
    barriers = [one.warps for instruction, one in found if instruction.name == "BAR"]
    assert sum(barriers) == 2 * tiles * 2 * 8


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("n", "grid"), [(1000, 4), (1000, 2), (100, 1), (3000, 2)])
def test_a_loop_over_the_grid(architecture: str, n: int, grid: int) -> None:
    """Blocks differ in the trip count; the store is under a condition on data."""
    launch = Launch((grid, 1, 1), (256, 1, 1), words("*", "*", ".", n))
    found = executions(f"control_flow.{architecture}", "axpy", launch)
    loads = [(i, one) for i, one in found if i.name == "LDG" and one.is_known]
    assert threads(loads, lambda _: True) == n / grid
    (store,) = (one for instruction, one in found if instruction.name == "STG")
    assert store.is_conditional or store.threads is None
    (fma,) = (one for instruction, one in found if instruction.name == "FFMA")
    assert fma.threads is None or fma.threads == n / grid, "an upper bound"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 102])
def test_an_unrolled_loop_and_its_remainder(architecture: str, n: int) -> None:
    launch = Launch((1, 1, 1), (256, 1, 1), words("*", "*", n))
    found = executions(f"control_flow.{architecture}", "local_array", launch)
    assert all(one.is_known for _, one in found)
    assert threads(found, named("LDG")) == (32 + n) * 256
    assert threads(found, named("STG")) == 256


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("n", [16, 112, 128])
def test_matrix_instructions(architecture: str, n: int) -> None:
    launch = Launch((1, 1, 1), (64, 1, 1), words("*", "*", "*", n))
    found = executions(f"control_flow.{architecture}", "matrix", launch)
    flop = sum(one.warps * (matrix_operations(i) or 0) for i, one in found)
    assert flop == 2 * 16 * 16 * n * 2


def test_warp_roles_of_a_tile_kernel_on_hopper() -> None:
    """128 x 128 x 64 tiles, of which a warp group multiplies and one thread of another copies."""
    launch = Launch((8, 8, 1), (256, 1, 1))
    found = executions("matmul.sm_90a", "matmul_kernel", launch)
    assert all(one.is_known for _, one in found)
    products = [(i, one) for i, one in found if i.name == "HGMMA"]
    steps = {one.warps / 4 for _, one in products}
    assert len(steps) == 1, "every product is in the loop, and of one warp group"
    depth = sum(one.warps * (matrix_operations(i) or 0) for i, one in products)
    copies = [one for i, one in found if i.name == "UTMALDG"]
    assert all(one.warps == one.threads for one in copies)
    assert depth % (2 * 128 * 128) == 0
    stores = threads(found, named("STG"))
    assert stores == 128 * 64, "two elements of 16 bits each"


def test_slow_paths_are_not_taken_and_both_sides_of_other_branches_are() -> None:
    launch = Launch((1, 1, 1), (64, 1, 1), words("*", "*", "*", 5))
    found = listing("control_flow.sm_90a")
    (function,) = (one for one in found.kernels if one.name == "functions")
    subroutines = [one for one in found.functions if one.kernel == "functions" and one != function]
    counted = count_executions(function, subroutines, launch, found.architecture)
    slow = [one for one in subroutines if "slowpath" in one.name]
    assert slow
    for part in slow:
        assert {one.warps for one in counted.by_function[part.name]} == {0.0}
    quotients = [one for one in subroutines if "quotient" in one.name]
    assert all(counted.by_function[one.name][0].warps == 2 for one in quotients)


def test_a_loop_that_ends_by_data() -> None:
    found = listing("control_flow.sm_80")
    (function,) = (one for one in found.kernels if one.name == "matrix")
    # Without the size, the trip count is not known.
    counted = count_executions(function, (), Launch((1, 1, 1), (32, 1, 1)), found.architecture)
    products = [
        one
        for instruction, one in zip(
            function.instructions, counted.by_function["matrix"], strict=True
        )
        if instruction.name == "HMMA"
    ]
    assert products
    assert not any(one.is_known for one in products)


LOOP = """\
	.target	sm_80
	.section	.text.steps,"ax",@progbits
        .type           steps,@function
        .other          steps,@"STO_CUDA_ENTRY STV_DEFAULT"
steps:
        /*0000*/    MOV R0, RZ ;
.L_x_1:
        /*0010*/    {body} ;
        /*0020*/    ISETP.{compare} P0, PT, R0, {end}, PT ;
        /*0030*/    @{guard}P0 {leave} ;
        /*0040*/    BRA `(.L_x_1) ;
.L_x_0:
        /*0050*/    EXIT ;
"""
STEPS: list[tuple[Mapping[str, str], int]] = [
    ({"body": "IADD3 R0, R0, 0x1, RZ", "compare": "LT.AND", "end": "0xa", "guard": "!"}, 10),
    ({"body": "IADD3 R0, R0, 0x3, RZ", "compare": "GE.AND", "end": "0xa", "guard": ""}, 4),
    ({"body": "IADD3 R0, R0, -0x1, RZ", "compare": "GT.AND", "end": "-0x5", "guard": "!"}, 5),
    ({"body": "IADD3 R0, R0, -0x1, RZ", "compare": "GT.U32.AND", "end": "0x5", "guard": "!"}, 0),
    ({"body": "IMAD R0, R0, 0x2, R0", "compare": "LT.AND", "end": "0x1", "guard": ""}, 1),
    ({"body": "LEA R0, R0, 0x1, 0x1", "compare": "GE.AND", "end": "0xff", "guard": ""}, 8),
    ({"body": "VIADDMNMX R0, R0, 0x2, 0x7, PT", "compare": "EQ.AND", "end": "0x7", "guard": ""}, 4),
]


@pytest.mark.parametrize("leave", ["BRA `(.L_x_0)", "CALL.REL.NOINC `(.L_x_0)"])
@pytest.mark.parametrize(("parts", "trips"), STEPS)
def test_trip_counts(parts: Mapping[str, str], trips: int, leave: str) -> None:
    """A loop is left by a branch, or by a call that never returns, as ptxas does for sm_80."""
    found = read(LOOP.format(**parts, leave=leave))
    (function,) = found.kernels
    launch = Launch((1, 1, 1), (32, 1, 1))
    if trips == 0:
        with pytest.raises(EvaluationError, match="basic blocks"):
            count_executions(function, (), launch, "sm_80")
        return
    counted = count_executions(function, (), launch, "sm_80").by_function["steps"]
    assert [one.warps for one in counted] == [1, trips, trips, trips, trips - 1, 1]


def test_every_function_has_a_count_for_each_instruction() -> None:
    for architecture in ARCHITECTURES:
        found = listing(f"instructions.{architecture}")
        for kernel in found.kernels:
            others = [one for one in found.functions if one.kernel == kernel.name and one != kernel]
            launch = Launch((2, 1, 1), (64, 1, 1))
            counted = count_executions(kernel, others, launch, found.architecture)
            parts: list[Function] = [kernel, *others]
            for part in parts:
                assert len(counted.by_function[part.name]) == len(part.instructions)
            assert counted.by_function[kernel.name][0].warps == 2


SPILLED_COUNTER = """
    /*0000*/  IADD3 R1, R1, -0x10, RZ ;
    /*0010*/  STL{width} [R1+0x4], {zero} ;
.L_x_0:
    /*0020*/  LDL{width} R2, [R1+0x4] ;
    /*0030*/  IADD3 R2, R2, 0x1, RZ ;
    /*0040*/  STL [R1+0x4], R2 ;
    /*0050*/  {other} ;
    /*0060*/  ISETP.GE.AND P0, PT, R2, 0x8, PT ;
    /*0070*/  @!P0 BRA `(.L_x_0) ;
    /*0080*/  EXIT ;
"""
KERNEL = (
    '\t.target\tsm_90a\n\t.section\t.text.k,"ax",@progbits\n\t.type\tk,@function\n'
    '\t.other\tk,@"STO_CUDA_ENTRY STV_DEFAULT"\nk:\n.text.k:\n'
)


@pytest.mark.parametrize(
    ("width", "zero", "other", "is_known"),
    [
        ("", "RZ", "NOP", True),
        (".64", "RZ", "NOP", True),
        ("", "RZ", "STL [R1+0x8], R9", True),
        # Another word, at an address that is not known, may be that of the counter.
        ("", "RZ", "STL [R8], R9", False),
        # What is stored comes from memory.
        ("", "R7", "NOP", False),
    ],
)
def test_a_counter_that_is_kept_in_the_stack_frame(
    width: str, zero: str, other: str, is_known: bool
) -> None:
    text = KERNEL + SPILLED_COUNTER.format(width=width, zero=zero, other=other)
    (kernel,) = read(text).kernels
    found = count_executions(kernel, (), Launch((1, 1, 1), (64, 1, 1), {}), "sm_90a")
    body = found.by_function["k"][3]
    assert body.is_known == is_known
    assert not is_known or body.warps == 2 * 8
