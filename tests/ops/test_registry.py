"""The registry: names in every spelling, and no operation of a GPU left without an account."""

from __future__ import annotations

import pytest

from tirlens_worker import ops
from tirlens_worker.ops.registry import accounts, canonical, scalars


@pytest.mark.parametrize(
    ("spelling", "bare"),
    [
        ("tir.exp", "exp"),
        ("tirx.exp", "exp"),
        ("prim.log2", "log2"),
        ("tl.tileop.copy", "tl.copy"),
        ("tl.copy", "tl.copy"),
        ("tirx.ptx.mma_sp", "ptx.mma_sp"),
        ("tirx.tile.copy", "tile.copy"),
    ],
)
def test_a_name_is_the_same_in_all_versions(spelling: str, bare: str) -> None:
    assert canonical(spelling) == bare


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("tirx.exp", "exp"),
        ("prim.log2", "log2"),
        ("tir.fabs", "abs"),
        ("tl.__exp", "fast_exp"),
        ("tl.fma2", "fma"),
        ("tl.clamp", "max min"),
        ("tirx.reinterpret", ""),
        ("tl.infinity", ""),
        ("tirx.sigmoid", "sigmoid"),
        ("tirx.shift_left", "shift"),
        ("tirx.isnan", "compare"),
        ("nobody.knows", None),
    ],
)
def test_scalar_functions(name: str, operation: str | None) -> None:
    assert ops.scalar(name) == operation


@pytest.mark.parametrize(
    "names",
    [
        ("tl.tileop.gemm", "tl.gemm", "tl.tileop.gemm_py", "tl.tileop.wgmma_gemm"),
        ("tl.tileop.gemm_sp", "tl.gemm_sp"),
        ("tl.tileop.copy", "tl.copy"),
        ("tirx.ptx.mbarrier_init", "tirx.ptx.mbarrier_try_wait_parity_report", "tl.wait_wgmma"),
        ("tir.tvm_warp_shuffle_up", "tirx.tvm_warp_shuffle", "tl.shfl_xor_sync"),
    ],
)
def test_one_handler_accounts_for_a_family(names: tuple[str, ...]) -> None:
    assert len({ops.lookup(name) for name in names}) == 1
    assert ops.lookup(names[0]) is not None


def test_the_longest_prefix_wins() -> None:
    multiply, other = ops.lookup("tirx.ptx.mma_f64"), ops.lookup("tirx.ptx.lop3")
    assert multiply is not None
    assert other is not None
    assert multiply is not other


def test_an_operation_nobody_accounts_for_is_not_found() -> None:
    assert ops.lookup("tl.tileop.of_tomorrow") is None


def test_two_accounts_of_one_operation_are_refused() -> None:
    with pytest.raises(ValueError, match=r"tl\.copy"):
        accounts("tl.copy")(lambda call, context: None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="exp"):
        scalars("log", "tir.exp")
