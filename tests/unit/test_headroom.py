"""What the best known structure reaches: which job a kernel does, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support import kernels
from tirlens.hardware import load
from tirlens.headroom import reachable
from tirlens.headroom.job import Attention, Job, Pass, Product, attention_of, job_of
from tirlens.headroom.structures import attention, tiled_product
from tirlens.ide import hovers, tables
from tirlens.model import workload_of
from tirlens.model.report import KernelReport
from tirlens.pipeline.kernel_json import kernel_json
from tirlens.pipeline.report_cache import evaluate_kernel
from tirlens_worker.facts import Arith, Buffer, Evaluate, KernelFacts, While

SMALL = {"tile_m": 64, "tile_n": 64, "tile_k": 32, "stages": 1}
#: 1 Mi elements of 4 bytes, each times 2.
SCALE = Pass(1 << 22, 1 << 22, (("mul", "float32", 1 << 20),))


def job(facts: KernelFacts) -> Job | None:
    workload = workload_of(facts)
    assert workload is not None
    return job_of(workload)


def with_statement(facts: KernelFacts, *body: object) -> KernelFacts:
    return replace(facts, body=(*facts.body, *body))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (kernels.gemm(1024, 2048, 512), Product(1, 1024, 2048, 512, "float16", "float16")),
        (kernels.gemm(1024, 2048, 512, **SMALL), Product(1, 1024, 2048, 512, "float16", "float16")),
        (
            kernels.gemm(512, 512, 512, dtype="float8_e4m3"),
            Product(1, 512, 512, 512, "float8_e4m3", "float16"),
        ),
        (kernels.gemm(512, 512, 512, dtype="float32"), None),
        (kernels.scale(), SCALE),
        (with_statement(kernels.scale(), While(True, (), var="i")), None),
        (with_statement(kernels.scale(), Evaluate("f()", (Arith("unknown:f", "int32"),))), None),
    ],
    ids=(
        "product",
        "other tiles",
        "8 bits",
        "no narrow product",
        "pass",
        "while",
        "unknown operation",
    ),
)
def test_a_job_is_known_by_what_is_counted(facts: KernelFacts, expected: Job | None) -> None:
    assert job(facts) == expected


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm", "rtx-4090", "mi300x", "b200"])
def test_a_better_structure_is_reachable(device: str) -> None:
    small = evaluate_kernel(kernels.gemm(**SMALL), load(device), {}, advice=True)
    assert small.reachable_time_s is not None and small.time_s is not None
    assert small.roofline_time_s is not None
    assert small.roofline_time_s < small.reachable_time_s < small.time_s
    assert small.reachable_by.startswith("tiles of ")


def test_few_tiles_share_their_depth() -> None:
    facts = kernels.gemm(256, 256, 32768)
    buffers = tuple(
        replace(one, dtype="float32") if one.id == "C" else one for one in facts.buffers
    )
    workload = workload_of(replace(facts, buffers=buffers))
    assert workload is not None
    found = reachable(workload, load("h100-sxm"))
    assert found is not None and found.structure.endswith("parts of the depth")


def test_a_kernel_that_is_as_fast_is_its_own_measure() -> None:
    facts = kernels.gemm(tile_n=256, stages=4, threads=256)
    report = evaluate_kernel(facts, load("h100-sxm"), {}, advice=True)
    assert report.reachable_time_s is not None and report.time_s is not None
    assert report.reachable_time_s == pytest.approx(report.time_s, rel=0.05)


@pytest.mark.parametrize("n", [1 << 26, 1 << 12], ids=["at the roofline", "as short as a launch"])
def test_nothing_is_said_where_there_is_no_room(n: int) -> None:
    report = evaluate_kernel(kernels.scale(n), load("h100-sxm"), {}, advice=True)
    assert report.reachable_time_s is None


@pytest.mark.parametrize("device", ["x86-avx512", "h100-sxm"])
def test_none_is_said_where_none_is_known(device: str) -> None:
    facts = kernels.scale(scheduled=False)
    assert evaluate_kernel(facts, load(device), {}, advice=True).reachable_time_s is None


@pytest.mark.parametrize(
    "expected",
    [
        Product(1, 1024, 2048, 512, "float16", "float16"),
        Product(4, 256, 1024, 512, "float8_e4m3", "bfloat16"),
        Attention(8, 1024, 2048, 2048.0, 128, "bfloat16"),
        # Four heads of queries for one of keys: more queries than keys.
        Attention(2, 8192, 2048, 2048.0, 64, "float16"),
    ],
    ids=("product", "batched product of 8 bits", "attention", "grouped queries"),
)
def test_a_structure_does_the_job_that_it_is_for(expected: Product | Attention) -> None:
    device = load("h100-sxm")
    candidates = (
        attention.candidates(expected, device)
        if isinstance(expected, Attention)
        else tiled_product.candidates(expected, device)
    )
    found = [job(one.facts) for one in candidates]
    assert len(found) >= 3 and set(found) == {expected}


@pytest.mark.parametrize("exponentials", [1 << 24, 1 << 26], ids=["twice as many", "five times"])
def test_products_with_other_exponentials_are_no_attention(exponentials: int) -> None:
    asked = Attention(8, 1024, 2048, 2048.0, 128, "bfloat16")
    facts = next(attention.candidates(asked, load("h100-sxm"))).facts
    more = Evaluate("g()", (Arith("exp", "float32", exponentials),))
    assert job(facts) == asked
    assert job(with_statement(facts, more)) is None


@pytest.mark.parametrize(
    ("heads", "keys"), [(8, 256), (200, None)], ids=["few heads", "as many heads as keys"]
)
def test_a_length_that_could_be_the_number_of_heads_is_not_known(
    heads: int, keys: int | None
) -> None:
    # Behind a causal mask the mean query sees (n + 1) / 2 of n keys: 128.5 of 256, or most of 200.
    buffers = {
        name: Buffer(name, name, "float16", (1, heads, 256, 64), is_parameter=True)
        for name in ("Q", "K", "V", "out")
    }
    size = heads * 256 * 64 * 2
    scores = heads * 256 * 257 // 2
    found = attention_of(
        {"Q": size, "K": size, "V": size}, {"out": size}, buffers, scores * 2 * 64, scores
    )
    assert (None if found is None else found.keys) == keys


def report() -> KernelReport:
    return evaluate_kernel(kernels.gemm(**SMALL), load("h100-sxm"), {}, advice=True)


def test_the_hover_the_table_and_the_json_have_it() -> None:
    found = report()
    _, second, *_ = hovers.kernel(found).split("\n\n")
    assert second.startswith("2.7 ms | [reachable](") and "by tiles of 128 x 256 x 64" in second
    assert tables.kernel_cells(found)["reachable"] == "187 us"
    assert "reachable" in tables.kernel_columns([found])
    assert "tiles of 128 x 256 x 64" in dict(tables.particulars(found))["reachable"]
    data = kernel_json(found, "")
    assert (data["reachable_time_s"], data["reachable_by"]) == (
        found.reachable_time_s,
        found.reachable_by,
    )


def test_without_advice_it_is_not_known() -> None:
    found = evaluate_kernel(kernels.gemm(**SMALL), load("h100-sxm"), {}, advice=False)
    assert (found.reachable_time_s, found.reachable_by) == (None, "")
    assert tables.kernel_cells(found)["reachable"] == ""
    assert "reachable" not in tables.kernel_columns([found])
