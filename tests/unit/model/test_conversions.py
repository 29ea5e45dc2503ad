"""Conversions against the instructions that ptxas 12.9 gives for them on sm_80 and sm_90."""

import pytest

from tirlens.model.gpu.compiler.instruction_costs import (
    conversion_instructions,
    is_packed,
    issue_operations,
)
from tirlens_worker.facts import Arith


@pytest.mark.parametrize(
    ("source", "target", "costs"),
    [
        ("float16", "float32", {"fma": 1}),  # HADD2.F32
        ("bfloat16", "float32", {"int": 1}),  # IMAD.U32, PRMT
        ("float32", "float16", {"int": 1}),  # F2FP.PACK_AB, of two
        ("float8_e4m3", "float16", {"int": 1}),  # F2FP.F16.E4M3.UNPACK_B, of two
        ("float8_e4m3", "float32", {"int": 1, "fma": 1}),  # and HADD2.F32
        ("int32", "float32", {"cvt": 1}),  # I2F
        ("int8", "float32", {"cvt": 1, "int": 1.5}),  # I2F of what SHF and PRMT take out
        ("int8", "float16", {"cvt": 1, "fma": 1, "int": 2}),  # I2F.F16, HADD2, F2FP
        ("float32", "int32", {"cvt": 1}),  # F2I
        ("uint8", "int32", {"int": 1}),  # LOP3, PRMT
        ("int32", "uint32", {}),
        ("float32", "float64", {"cvt": 1, "fma": 1}),  # F2F.F64.F32, at the slower of the two rates
    ],
)
def test_instructions_of_a_conversion(source: str, target: str, costs: dict[str, float]) -> None:
    assert conversion_instructions(source, target) == costs


def test_what_is_converted_in_pairs() -> None:
    assert is_packed("float32", "bfloat16") and is_packed("float8_e5m2", "float16")
    assert not is_packed("float16", "float32") and not is_packed("int8", "float16")


@pytest.mark.parametrize(
    ("operations", "shares", "fma"),
    [
        ("mul add", (1, 1), 64),  # FFMA
        ("mul sub", (1, 1), 64),
        ("add mul", (1, 1), 128),  # (a + b) * c
        ("mul add add", (1, 1, 1), 128),
        ("mul mul add", (1, 1, 1), 128),
        # Of 64 products and 16 sums that are not hoisted 16 are contracted, and the reverse.
        ("mul add", (1, 1 / 4), 64),
        ("mul add", (1 / 4, 1), 64),
    ],
)
def test_sums_of_products_are_contracted(
    operations: str, shares: tuple[float, ...], fma: float
) -> None:
    counts = [(Arith(name, "float32"), 64) for name in operations.split()]
    assert issue_operations(counts, shares).instructions == {("fma", "fp32"): fma}
