"""Sizes that are assumed for the dynamic dimensions of a kernel fit together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm
from tirlens_worker.facts import Access, Branch, Buffer, Expr, Loop, Statement
from tirlens_worker.tracing.array_extents import sizes_of_accesses
from tirlens_worker.tracing.assumed_sizes import compact_strides
from tirlens_worker.tracing.packed_lengths import chunk_counts, longest_sequences


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        (("m", 64), ("stride", 1), {"stride": 64}),
        (("m", ("*", "n", 2)), ("stride", 1), {"stride": 512}),
        (("b", "m", "n"), ("outer", "stride", 1), {"outer": 128 * 256, "stride": 256}),
        (("m", 4), (1, "stride"), {"stride": 128}),
        (("m", "n"), (64, "stride"), {}),
        (("m", "unknown"), ("stride", 1), {}),
        (("m", "n"), (), {}),
    ],
)
def test_a_stride_is_that_of_an_array_without_gaps(
    shape: tuple[Expr, ...], strides: tuple[Expr, ...], expected: dict[str, int]
) -> None:
    array = Buffer("X", "X", "float16", shape, strides=strides, is_parameter=True)
    facts = replace(gemm(), buffers=(array,))
    assert compact_strides(facts, {"b": 2, "m": 128, "n": 256}) == expected


# Chunks of 64 rows of a batch of 8 with 4096 rows each, of 32 heads.
_INDEX: Expr = ("+", ("*", ("+", ("*", "b", 64), "chunk"), 32), "head")


@pytest.mark.parametrize(
    ("index", "length", "expected"),
    [
        (_INDEX, 1, {"total": 8 * 64 * 32}),
        (_INDEX, ("min", 4, ("-", "total", _INDEX)), {"total": 8 * 64 * 32 + 3}),
        ("head", 1, {}),
        (("load", "places", "b"), 1, {}),
        (("%", "total", 7), 1, {}),
    ],
)
def test_a_dimension_holds_what_is_accessed(
    index: Expr, length: Expr, expected: dict[str, int]
) -> None:
    access = Access("H", "read", (index, 0), (length, 128))
    statement = Statement("H", accesses=(access,))
    inner = Loop("serial", "head", 0, 32, (Branch(("<", "b", 8), (statement,)),))
    loops = Loop("block", "b", 0, "batch", (Loop("block", "chunk", 0, 64, (inner,)),))
    array = Buffer("H", "H", "float16", ("total", 128), is_parameter=True)
    facts = replace(gemm(), buffers=(array,), body=(loops,))
    sizes = {"total": 64, "batch": 8}
    assert sizes_of_accesses(facts, ["total", "batch"], sizes) == expected


@pytest.mark.parametrize(
    ("offsets", "names", "expected"),
    [
        ("cu_seqlens_q", ["max_seqlen_q", "total"], {"max_seqlen_q": 512}),
        ("cu_seqlens_q", ["max_seqlen_kv"], {"max_seqlen_kv": 1024}),
        ("q_offsets", ["max_len"], {"max_len": 1024}),
        ("table", ["max_seqlen_q"], {}),
        ("cu_seqlens_q", ["seqlen_q"], {}),
    ],
)
def test_the_longest_sequence_fits_the_rows_and_the_number_of_sequences(
    offsets: str, names: list[str], expected: dict[str, int]
) -> None:
    arrays = (
        Buffer("Q", "Q", "float16", ("total", 32, 128), is_parameter=True),
        Buffer("K", "K", "float16", ("total_kv", 128), is_parameter=True),
        Buffer("offsets", offsets, "int32", ("batch",), is_parameter=True),
    )
    facts = replace(gemm(), buffers=arrays)
    sizes = {"total": 4096, "total_kv": 8192, "batch": 9, "max_seqlen_q": 4096}
    assert longest_sequences(facts, names, sizes) == expected


@pytest.mark.parametrize(
    ("of_chunk", "expected"),
    [
        # 8 sequences of 512 tokens, each of chunks of 48.
        ({"BT": 48}, {"n_chunks": 8 * 11}),
        ({"chunk_size": 64, "n_heads": 32}, {"n_chunks": 64}),
        ({"BT": 48, "chunk_size": 64}, {}),
        ({"BK": 64}, {}),
    ],
)
def test_the_chunks_hold_the_rows_of_all_sequences(
    of_chunk: dict[str, int], expected: dict[str, int]
) -> None:
    arrays = (
        Buffer("K", "K", "float16", ("n_tokens", 32, 128), is_parameter=True),
        Buffer("H", "H", "float16", ("n_chunks", 32, 128, 128), is_parameter=True),
        Buffer("O", "chunk_offsets", "int32", ("n_seqs_plus_one",), is_parameter=True),
    )
    facts = replace(gemm(), buffers=arrays)
    sizes = {"n_tokens": 4096, "n_chunks": 64, "n_seqs_plus_one": 9, **of_chunk}
    assert chunk_counts(facts, ["n_chunks", "n_tokens"], sizes) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (("batch", "num_chunks", 32), {"num_chunks": 8}),
        # The first dimension of the keys is no number of rows.
        (("num_chunks", 2), {}),
    ],
)
def test_the_chunks_of_each_sequence_of_a_batch(
    shape: tuple[Expr, ...], expected: dict[str, int]
) -> None:
    arrays = (
        Buffer("K", "K", "float16", ("batch", "tokens", 32, 128), is_parameter=True),
        Buffer("H", "H", "float16", shape, is_parameter=True),
    )
    facts = replace(gemm(), buffers=arrays)
    sizes = {"batch": 2, "tokens": 512, "num_chunks": 64, "chunk_size": 64}
    assert chunk_counts(facts, ["num_chunks"], sizes) == expected
