"""The executions of instructions for the launch that the facts and the CUDA source give."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

import pytest

from tirlens.machine_code.executions import count_kernels
from tirlens.machine_code.launches import LaunchError, find_launch, parameter_words
from tirlens_sass import Listing, read
from tirlens_worker.facts import KernelFacts, Launch, Loop, Span, Store, Variable

DATA = Path(__file__).parents[1] / "sass" / "data"
HERE = Span(1, 0, 1, 0)
SOURCE = """\
extern "C" __global__ void product(const float* __restrict__ a, float* __restrict__ c, int n);
extern "C" __global__ void __launch_bounds__(256) product(
    const float *a, const float *b, float *c, int n) {
}
"""
A, B, C = ({offset: 0, offset + 4: 16 * place} for offset, place in ((0, 1), (8, 2), (16, 3)))


@cache
def listing() -> Listing:
    text = lzma.decompress((DATA / "control_flow.sm_90a.sass.xz").read_bytes()).decode()
    return read(text)


def facts(threads: tuple[int, ...] = (16, 16), body: tuple[Loop, ...] = ()) -> KernelFacts:
    return KernelFacts(
        name="product",
        definition="product",
        span=HERE,
        framework="tvm",
        framework_version="0.27",
        call="",
        call_source="module-level",
        variables=(Variable("n"),),
        buffers=(),
        launch=Launch(grid=(("//", ("+", "n", 15), 16), 1), threads=threads),
        body=body,
    )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("const float* __restrict__ a, float *b, float* c, int n", {**A, **B, **C, 24: 40}),
        ("int n, float* a", {0: 40, 8: 0, 12: 32}),
        ("int n, int64_t n", {0: 40, 8: 40, 12: 0}),
        ("half s, short t, bool u, int n", {8: 40}),
        ("float n, int m", {}),
        ("__grid_constant__ const CUtensorMap A_desc, int n", {128: 40}),
        ("float* a, __grid_constant__ const CUtensorMap A_desc, int n", {**A, 192: 40}),
        ("float* a, strange_t s, int n", A),
        ("", {}),
    ],
)
def test_words_of_parameters(parameters: str, words: dict[int, int]) -> None:
    assert parameter_words(parameters, {"n": 40}) == words


def test_the_launch_of_a_kernel() -> None:
    launch = find_launch(facts(), SOURCE, "product", {"n": 40})
    assert (launch.grid, launch.block) == ((3, 1, 1), (16, 16, 1))
    assert launch.parameters == {**A, **B, **C, 24: 40}


def test_a_launch_with_warps_that_lowering_adds() -> None:
    launch = find_launch(facts(threads=(128,)), SOURCE, "product", {"n": 40})
    assert launch.block == (256, 1, 1)


@pytest.mark.parametrize(
    ("kernel", "bindings", "message"),
    [("other", {"n": 40}, "no kernel other"), ("product", {}, "not known: n")],
)
def test_a_launch_that_is_not_known(kernel: str, bindings: dict[str, int], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        find_launch(facts(), SOURCE, kernel, bindings)


def test_executions_of_a_kernel_with_its_size() -> None:
    kernels = {one.name: one for one in count_kernels(listing(), facts(), SOURCE, (), {"n": 40})}
    assert kernels["axpy"].reason == "the source has no kernel axpy"
    assert kernels["axpy"].known_share == 0.0
    product = kernels["product"]
    assert (product.known_share, product.is_exact, product.data_loops) == (1.0, True, ())
    (part,) = product.functions
    multiplied = sum(
        count.threads or 0
        for one, count in zip(part.function.instructions, part.executions, strict=True)
        if one.name == "FFMA"
    )
    assert multiplied == 2 * 3 * 16 * 256


@pytest.mark.parametrize(
    ("lines", "reason"),
    [((17,), ""), ((16,), "no loop"), ((17, 17), "2 loops")],
)
def test_a_loop_that_depends_on_data(lines: tuple[int, ...], reason: str) -> None:
    """The size is no parameter that is known: the loops over it are found by their line."""
    source = SOURCE.replace("int n) {", "unknown_t n) {")
    body = tuple(
        Loop("serial", "k", 0, ("load", "n", 0), (Store(""),), sites=(Span(line, 0, line, 9),))
        for line in lines
    )
    found = listing()
    renamed = lzma.decompress((DATA / "control_flow.sm_90a.sass.xz").read_bytes()).decode()
    found = read(renamed.replace("control_flow.cu", "kernel.cu"))
    document = tuple(range(1, 200))
    kernels = count_kernels(found, facts(body=body), source, document, {"n": 40})
    (product,) = (one for one in kernels if one.name == "product")
    assert product.known_share < 0.5
    assert product.data_loops
    for loop in product.data_loops:
        assert loop.reason.startswith(reason)
        assert (loop.node is None) == bool(reason)
