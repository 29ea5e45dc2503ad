"""Bits that are said to be known are those of every value that the rest can take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tirlens_worker.facts import Expr
from tirlens_worker.ops.known_bits import known_bits

_MASK = (1 << 64) - 1
_LEAVES = st.one_of(st.integers(0, _MASK), st.sampled_from(["a", "b"]))


def _grown(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.tuples(st.sampled_from(["&", "|", "^"]), inner, inner),
        st.tuples(st.sampled_from(["<<", ">>"]), inner, st.integers(0, 40)),
        st.tuples(st.just("%"), inner, st.integers(1, 1 << 20)),
    )


def _value(expr: Expr, env: dict[str, int]) -> int:
    if isinstance(expr, str):
        return env[expr]
    if not isinstance(expr, tuple):
        return int(expr)
    left, right = (_value(part, env) for part in expr[1:])
    operations = {
        "&": left & right,
        "|": left | right,
        "^": left ^ right,
        "<<": left << right if right <= 40 else 0,
        ">>": left >> min(right, 64),
        "%": left % max(right, 1),
    }
    return operations[expr[0]] & _MASK


@given(
    st.recursive(_LEAVES, _grown, max_leaves=6),
    st.integers(0, _MASK),
    st.integers(0, _MASK),
)
def test_known_bits_hold(expr: Expr, a: int, b: int) -> None:
    bits = known_bits(expr)
    assert _value(expr, {"a": a, "b": b}) & bits.known == bits.value & bits.known
