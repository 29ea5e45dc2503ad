"""Random launches of GPU kernels, of some size: what times are asked of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from support.generate import SPAN
from support.kernels import gemm, launched
from tirlens_worker.facts import Access, Arith, Buffer, Expr, KernelFacts, Loop, Store

THREADS = 128
_OPERATIONS = ("add", "fma", "mul", "max", "exp", "div", "cast")


@st.composite
def products(draw: Any) -> dict[str, int]:
    """The sizes of a product of matrices, as `gemm` of the support takes them."""
    tile_m, tile_n = (draw(st.sampled_from([64, 128])) for _ in "mn")
    tile_k = draw(st.sampled_from([32, 64]))
    return {
        "m": tile_m * draw(st.integers(1, 40)),
        "n": tile_n * draw(st.integers(1, 40)),
        "k": tile_k * draw(st.integers(1, 64)),
        "tile_m": tile_m,
        "tile_n": tile_n,
        "tile_k": tile_k,
        "stages": draw(st.integers(0, 4)),
        "threads": draw(st.sampled_from([128, 256])),
    }


@st.composite
def streams(draw: Any) -> dict[str, Any]:
    """What `stream` takes: how much is moved and done, and how."""
    return {
        "blocks": draw(st.integers(1, 20_000)),
        "turns": draw(st.integers(1, 64)),
        "dtype": draw(st.sampled_from(["float16", "float32"])),
        "lanes": draw(st.sampled_from([1, 2, 4])),
        "stride": draw(st.sampled_from([1, 1, 2, 8])),
        "reads": draw(st.integers(1, 3)),
        "work": draw(st.dictionaries(st.sampled_from(_OPERATIONS), st.integers(1, 60), max_size=3)),
    }


def stream(
    blocks: int, turns: int, dtype: str, lanes: int, stride: int, reads: int, work: dict[str, int]
) -> KernelFacts:
    """Each thread reads vectors of some arrays, works on them and writes one, again and again."""
    elements = THREADS * lanes * stride
    place: Expr = (
        "+", ("*", ("+", ("*", "bx", turns), "k"), elements), ("*", "tx", lanes * stride),
    )  # fmt: skip
    size = blocks * turns * elements
    names = [f"A{number}" for number in range(reads)]
    accesses = [Access(name, "read", (place,), lanes=lanes) for name in names]
    store = Store(
        "B[i] = f(A[i])",
        tuple(Arith(name, dtype, count * lanes) for name, count in work.items()),
        (*accesses, Access("B", "write", (place,), lanes=lanes)),
        sites=(SPAN,),
    )
    loop = Loop("serial", "k", 0, turns, (store,), sites=(SPAN,))
    buffers = tuple(Buffer(name, name, dtype, (size,), is_parameter=True) for name in [*names, "B"])
    return launched((loop,), buffers, blocks, THREADS)


def kernels() -> st.SearchStrategy[KernelFacts]:
    """Any of them."""
    return st.one_of(
        products().map(lambda sizes: gemm(**sizes)), streams().map(lambda sizes: stream(**sizes))
    )
