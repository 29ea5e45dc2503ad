"""What the compiler's fast math makes of single precision."""

from __future__ import annotations

import pytest

from tirlens.model.counting.operation_classes import sum_operations
from tirlens.model.gpu.compiler.instruction_costs import (
    INSTRUCTIONS_PER_OPERATION,
    issue_operations,
)
from tirlens_worker.facts import Arith


def instructions(op: str, dtype: str, fast_math: bool) -> float:
    found = issue_operations([(Arith(op, dtype), 1000)], fast_math=fast_math)
    return sum(found.instructions.values())


@pytest.mark.parametrize("op", sorted(INSTRUCTIONS_PER_OPERATION))
def test_it_costs_nothing_more(op: str) -> None:
    assert instructions(op, "float32", True) <= instructions(op, "float32", False)
    for dtype in ("float16", "float64", "int32"):
        assert instructions(op, dtype, True) == instructions(op, dtype, False)


@pytest.mark.parametrize(
    ("op", "special", "other"),
    [
        ("exp", 1, 1),
        ("div", 1, 1),
        ("tanh", 1, 0),
        ("pow", 2, 1),
        ("pow_of_constant", 1, 1),
        ("rsqrt", 1, 0),
    ],
)
def test_approximations_are_special_functions(op: str, special: int, other: int) -> None:
    found = issue_operations([(Arith(op, "float32"), 1)], fast_math=True).instructions
    assert found.get(("sfu", "fp32"), 0) == special
    assert sum(found.values()) == special + other


@pytest.mark.parametrize("op", ["add", "sub"])
def test_a_product_is_part_of_a_sum_or_difference(op: str) -> None:
    both = [(Arith("mul", "float32"), 2), (Arith(op, "float32"), 3)]
    assert issue_operations(both).instructions[("fma", "fp32")] == 3
    assert sum_operations(both).flop_by_class["fp32"] == 5


@pytest.mark.parametrize("op", ["add", "sub"])
def test_a_sum_before_any_product_is_an_instruction_of_its_own(op: str) -> None:
    """``(q - zero) * scale`` has nothing to contract, ``(q - zero) * scale + c`` one of two."""
    first, product = (Arith(op, "float32", over=("i",)), 4), (Arith("mul", "float32"), 4)
    assert issue_operations([first, product]).instructions == {("fma", "fp32"): 8}
    last = (Arith("add", "float32", over=("j",)), 4)
    assert issue_operations([first, product, last]).instructions == {("fma", "fp32"): 8}


@pytest.mark.parametrize(
    ("op", "dtype", "branches"),
    [
        ("div", "float32", True),
        ("rcp", "float32", True),
        ("sqrt", "float64", True),
        ("rsqrt", "float32", False),
        ("exp", "float32", False),
        ("div", "float16", False),
        ("div", "int32", False),
    ],
)
def test_what_branches_for_rare_values(op: str, dtype: str, branches: bool) -> None:
    assert issue_operations([(Arith(op, dtype), 1)]).has_slow_path == branches
    assert issue_operations([(Arith(op, dtype), 1)], fast_math=True).has_slow_path == (
        branches and "64" in dtype
    )


def test_doubles_are_compared_by_their_own_unit() -> None:
    """``DSETP``, ``FSEL`` and ``SEL`` for the larger of two."""
    larger = issue_operations([(Arith("max", "float64"), 5)]).instructions
    assert larger == {("fma", "fp64"): 5, ("int", "fp64"): 10}
    assert issue_operations([(Arith("max", "float32"), 5)]).instructions == {("int", "fp32"): 5}
