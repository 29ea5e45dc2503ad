"""The lens: time, what to do or what limits it, size of the call, and the device, which stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.ide import lenses, sizes, verdicts
from tirlens.ide.history import Comparison, History
from tirlens.model.report import (
    Advice,
    ArrayShape,
    BreakdownEntry,
    KernelReport,
    Occupancy,
    ReadWrite,
    Waves,
)
from tirlens.settings import DEFAULT_LENS_CHARACTERS, LENS_PARTS, Settings
from tirlens_worker.facts import ModelSizes, Span

AT = Span(3, 0, 3, 20)


def entry(step: str, time_s: float, kind: str = "op") -> BreakdownEntry:
    return BreakdownEntry(
        kind=kind, label=step, span=AT, executions=1, flop=0, global_bytes=0, dram_bytes=0.0,
        time_s=time_s, share=time_s / 1e-4, bound="latency", step=step,
    )  # fmt: skip


def busy(step: str, time_s: float) -> BreakdownEntry:
    return replace(entry(step, time_s), bound="tensor")


def advice(action: str, saving_s: float | None, severity: str = "hint") -> Advice:
    return Advice("rule", AT, severity, "message", action, saving_s)


REPORT = KernelReport(
    name="main",
    definition="matmul",
    span=AT,
    framework="tilelang",
    framework_version="0.1.15",
    call="matmul(8192, 8192, 1024, block_M=128)",
    call_source="directive",
    bindings={},
    device_id="h100-sxm",
    device_name="NVIDIA H100 SXM5 80 GB",
    arrays=(ArrayShape("A", "float16", (8192, 1024)), ArrayShape("C", "float32", (8192, 8192))),
    sizes={"M": 8192, "N": 8192, "K": 1024},
    sm_count=132,
    grid=(4, 8, 1),
    flop=137438953472,
    flop_by_class={"tensor.float16": 137438953472, "fp32": 2**20},
    dram_bytes=ReadWrite(10**9, 21 * 10**7),
    time_s=1e-4,
    roofline_time_s=4.5e-5,
    bound="latency",
    peak_fraction=0.45,
    dram_fraction=0.3,
    utilisation={"tensor": 0.5, "dram": 0.3},
    waves=Waves(1.2, 0.31),
    loops=(entry("load", 7e-5), entry("product", 3e-5)),
)


def test_the_lens_says_what_to_do() -> None:
    report = replace(REPORT, advice=(advice("3 stages", 3e-5),))
    before = Comparison("last save", replace(REPORT, time_s=2e-4), ())
    titles = [part.title for part in lenses.parts(report, History(before))]
    assert titles == [
        "100 us (-50%)",
        "waits for loads: 3 stages save 30 us",
        "137 GFLOP, 1.2 GB",
        "h100-sxm",
    ]


BUSY = {"utilisation": {"l2": 0.83, "issue": 0.7, "latency": 0.9}}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "100 us | waits for loads | 137 GFLOP, 1.2 GB | h100-sxm"),
        (
            {"loops": (entry("load", 4e-5), entry("product", 5e-5))},
            "waits for products and loads |",
        ),
        ({"loops": (entry("load", 4e-5), busy("product", 5e-5))}, "waits for loads |"),
        ({"loops": (busy("product", 5e-5),)}, "waits for products |"),
        ({"occupancy": Occupancy(1, 0.1, "registers")}, "loads: 1 block per SM (registers) |"),
        ({"occupancy": Occupancy(2, 0.2, "registers")}, "waits for loads |"),
        ({"advice": (advice("3 stages", 1e-6),)}, "waits for loads |"),
        ({"advice": (advice("fused launches", None),)}, "waits for loads |"),
        ({"advice": (advice("smaller tiles", None, "error"),)}, ": does not fit, try smaller tile"),
        ({"bound": "tensor", "peak_fraction": 0.71}, "us | tensor cores 71% of peak | 137 GFLOP"),
        ({"bound": "dram", "dram_fraction": 0.88}, "us | DRAM 88% of peak | 137 GFLOP"),
        (
            {"bound": "dram", "dram_fraction": 0.92, "roofline_time_s": 9e-5},
            "DRAM 92% of peak: at the roofline | 137 GFLOP",
        ),
        ({"bound": "l2", **BUSY}, "L2 83% busy | 137 GFLOP"),
        ({"bound": "issue", **BUSY}, "instruction issue 70% busy | "),
        ({"bound": "latency", "schedule": "cpu", **BUSY}, "dependency chains 90% | "),
        ({"bound": "parallelism"}, "too few blocks: 32 of 132 SMs | "),
        (
            {"bound": "parallelism", "advice": (advice("8 splits of loop k", 6e-5),)},
            "too few blocks: 32 of 132 SMs; 8 splits of loop k save 60 us | ",
        ),
        ({"bound": "tail"}, "last wave leaves SMs idle 31% | "),
        ({"bound": "launch", "loops": (entry("", 7e-5, "launch"),)}, "launch takes 70% | "),
        ({"schedule": "unscheduled"}, "100 us lower bound, unscheduled | at best limited by waits"),
        (
            {
                "status": "no-time",
                "message": "some counts are not",
                "time_s": None,
                "bound": None,
                "peak_fraction": None,
                "dram_fraction": None,
            },
            "no time: some counts are not | 137 GFLOP",
        ),
        ({"status": "needs-bindings", "needs": ("M", "N")}, "needs M, N: click to set | h100-sxm"),
        ({"status": "error", "message": "it broke"}, "not analysed: it broke"),
    ],
)
def test_lens(changes: dict[str, Any], text: str) -> None:
    assert text in lenses.lens(replace(REPORT, **changes))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "8192x8192x1024 fp16"),
        ({"flop_by_class": {"tensor.float8": 10, "fp32": 1}}, "8192x8192x1024 fp8"),
        ({"flop_by_class": {"fp32": 1}}, "8192x8192x1024 fp32"),
        ({"sizes": {}}, "8192x8192 fp16"),
        ({"sizes": dict.fromkeys("abcdefg", 2)}, "8192x8192 fp16"),
        ({"sizes": {"N": 8192}}, "8192x8192 fp16"),
        ({"sizes": {"N": 8192}, "assumed": {"N": "8192"}}, "8192?x8192? fp16"),
        ({"sizes": {}, "arrays": (ArrayShape("x", "bfloat16", None),)}, "? fp16"),
        ({"sizes": {}, "arrays": (ArrayShape("x", "float32", ()),)}, "? fp16"),
        ({"arrays": ()}, ""),
        ({"assumed": {"M": "8192", "K": "1024"}}, "8192?x8192x1024? fp16"),
        (
            {"assumed": {"M": "8192", "dtype": "'float32'", "block_M": "128"}},
            "8192?x8192x1024 fp16?, 1 more assumed",
        ),
        ({"assumed": {"dtype": "T.float32"}}, "8192x8192x1024 fp16?"),
        ({"assumed": {"causal": "True"}}, "8192x8192x1024 fp16, 1 assumed"),
        ({"assumed": {"causal": "True"}, "arrays": ()}, "1 assumed"),
        (
            {"assumed": {"M": "8192"}, "model": ModelSizes("qwen3-32b", {"M": 8192})},
            "8192?x8192x1024 fp16, as in Qwen3-32B",
        ),
    ],
)
def test_size(changes: dict[str, Any], text: str) -> None:
    assert sizes.size(replace(REPORT, **changes)) == text


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("float16", "fp16"),
        ("bfloat16", "bf16"),
        ("float8_e4m3fn", "fp8"),
        ("float4_e2m1fn", "fp4"),
        ("float64", "fp64"),
        ("tf32", "tf32"),
        ("uint8", "uint8"),
        ("bool", "bool"),
    ],
)
def test_types_are_short(dtype: str, text: str) -> None:
    assert sizes.short_type(dtype) == text


LIST = [1000] * 20
LONG = replace(
    REPORT,
    bound="parallelism",
    occupancy=Occupancy(1, 0.1, "registers"),
    sizes=dict.fromkeys("abcdef", 123456),
    advice=(advice("coalesced accesses to an_array", 5e-5),),
)


def test_a_long_lens_gives_up_parts_in_a_stated_order() -> None:
    def titles(report: KernelReport, *names: str) -> list[str]:
        return [part.title for part in lenses.parts(report, names=names, limit=110)]

    wide = titles(LONG, *LENS_PARTS)
    assert wide == [
        "100 us",
        "too few blocks: coalesced accesses to an_array save 50 us",
        "137 GFLOP, 1.2 GB",
        "h100-sxm",
    ]
    assert titles(replace(LONG, assumed={"a": "123456"}), *LENS_PARTS) == [
        "100 us",
        "too few blocks",
        "137 GFLOP, 1.2 GB",
        "123456?x123456x123456x123456x123456x123456 fp16",
        "h100-sxm",
    ]
    assert titles(LONG, "time", "verdict") == [
        "100 us",
        "too few blocks: 32 of 132 SMs; coalesced accesses to an_array save 50 us",
        "h100-sxm",
    ]
    short = replace(REPORT, bound="dram", call=f"matmul(8192, 8192, {LIST})")
    assert titles(short, *LENS_PARTS) == [
        "100 us",
        "DRAM 30% of peak",
        "137 GFLOP, 1.2 GB",
        "8192x8192x1024 fp16",
        "matmul(8192, 8192, ...)",
        "h100-sxm",
    ]


def test_what_the_advice_saves_stays_where_its_text_has_no_room() -> None:
    scores = replace(
        LONG,
        bound="tensor",
        peak_fraction=0.62,
        sizes={"batch": 16, "length": 4096, "width": 128, "groups": 65536, "heads": 32},
        advice=(advice("shorter loops up to the mask", 6.6e-5),),
        time_s=2.23e-4,
    )
    titles = [part.title for part in lenses.parts(scores, limit=92)]
    assert titles == [
        "223 us",
        "tensor cores 62% of peak: advice saves 66 us",
        "137 GFLOP, 1.2 GB",
        "h100-sxm",
    ]
    refused = replace(LONG, advice=(advice("shared arrays of 64 x 128 float16", None, "error"),))
    assert lenses.parts(refused, limit=92)[1].title == "too few blocks: does not fit"


@pytest.mark.parametrize(("shared_bytes", "name"), [(0, "L1"), (2**20, "shared memory")])
def test_l1_is_not_called_shared_memory(shared_bytes: int, name: str) -> None:
    """They are one unit: a kernel without shared arrays keeps it busy by its loads."""
    report = replace(
        REPORT, bound="shared", utilisation={"shared": 0.96}, shared_bytes=shared_bytes
    )
    assert f"| {name} 96% busy" in lenses.lens(report)
    line = replace(entry("load", 1e-4), bound="shared", shared_bytes=shared_bytes)
    assert verdicts.unit(line) == name


def test_the_parts_and_their_order_are_a_setting() -> None:
    settings, problems = Settings.from_mapping({"lensParts": ["size", "time"]})
    assert (settings.lens_parts, problems) == (("size", "time"), ())
    titles = [part.title for part in lenses.parts(REPORT, names=settings.lens_parts)]
    assert titles == ["8192x8192x1024 fp16", "100 us", "h100-sxm"]
    for wrong in (["speed"], ["time", "time"], "time"):
        assert Settings.from_mapping({"lens-parts": wrong})[1]


@given(
    st.sampled_from(["latency", "parallelism", "tail", "dram", "tensor", "l2", "shared"]),
    st.text(max_size=200),
    st.floats(1e-9, 900.0),
    st.lists(st.integers(0, 10**7), min_size=1, max_size=6),
    st.permutations(LENS_PARTS),
)
def test_the_device_stays_on_the_screen(
    bound: str, action: str, time_s: float, extents: list[int], names: list[str]
) -> None:
    report = replace(
        REPORT,
        bound=bound,
        time_s=time_s,
        call=f"matmul({action})",
        sizes={f"n{index}": extent for index, extent in enumerate(extents)},
        advice=(advice(action[:30], time_s / 2),),
        assumed={"n0": "1", "x": "2"},
    )
    found = lenses.parts(report, names=names)
    text = " | ".join(part.title for part in found)
    assert len(text) <= DEFAULT_LENS_CHARACTERS and text.isascii() and "\n" not in text
    assert found[-1].title == "h100-sxm"
    assert sizes.size(report) in text, "what is assumed is never given up"


TILED = replace(
    REPORT,
    time_s=2.56e-3,
    time_band_s=(1.377e-3, 4.762e-3),
    flop=2 * 8192**3,
    dram_bytes=ReadWrite(42 * 10**8, 3 * 10**8),
    advice=(advice("3 stages", 5.29e-4),),
    loops=(
        replace(entry("load", 1.5e-3), step_arrays=("A",)),
        replace(entry("load", 0.9e-3), step_arrays=("B",)),
        busy("product", 2e-5),
    ),
)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (
            110,
            (
                "about 2.6 ms (1.4 to 4.8) | waits for loads of A, B: 3 stages save 0.5 ms | "
                "1.1 TFLOP, 4.5 GB | h100-sxm"
            ),
        ),
        (
            94,
            (
                "about 2.6 ms | waits for loads of A, B: 3 stages save 0.5 ms | "
                "1.1 TFLOP, 4.5 GB | h100-sxm"
            ),
        ),
        (
            85,
            ("about 2.6 ms (1.4 to 4.8) | waits for loads of A, B | 1.1 TFLOP, 4.5 GB | h100-sxm"),
        ),
        (50, "about 2.6 ms | waits for loads of A, B | h100-sxm"),
        (45, "about 2.6 ms | waits for loads | h100-sxm"),
    ],
)
def test_the_four_figures_stay_longest(limit: int, text: str) -> None:
    """Time, what limits it, FLOP and bytes; in a narrow window time, limit and device."""
    assert " | ".join(part.title for part in lenses.parts(TILED, limit=limit)) == text


def test_an_assumed_size_is_always_said() -> None:
    assert "8192x8192x1024" not in lenses.lens(REPORT)
    assumed = replace(REPORT, assumed={"M": "8192"})
    assert lenses.lens(assumed).endswith("1.2 GB | 8192?x8192x1024 fp16 | h100-sxm")
    for limit in range(1, 141):
        titles = [part.title for part in lenses.parts(assumed, limit=limit)]
        assert titles[-2] == "8192?x8192x1024 fp16"


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        (("A",), "waits for loads of A |"),
        (("A", "B", "A"), "waits for loads of A, B |"),
        (("q", "k", "v", "mask", "out"), "waits for loads of q, k, v and 2 more |"),
        ((), "waits for loads |"),
    ],
)
def test_waits_name_their_arrays(arrays: tuple[str, ...], text: str) -> None:
    loop = replace(entry("load", 7e-5), step_arrays=arrays)
    assert text in lenses.lens(replace(REPORT, loops=(loop,)))
    stored = replace(loop, step="store")
    assert text.replace("loads", "stores") in lenses.lens(replace(REPORT, loops=(stored,)))
    both = replace(REPORT, loops=(entry("arithmetic", 7e-5), loop))
    assert "waits for arithmetic and loads" in lenses.lens(both)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"bound": "dram", "dram_bytes": 2.9e8}, "DRAM, 2.9 TB/s"),
        ({"bound": "dram", "dram_bytes": 2.9e8, "overlapped_s": 1e-4}, "DRAM, 1.5 TB/s"),
        ({"bound": "tensor", "flop": 52 * 10**9}, "tensor cores, 520 TFLOP/s"),
        ({"bound": "issue"}, "instruction issue"),
        ({"bound": "l2", "l2_bytes": 5.2e8}, "L2, 5.2 TB/s"),
        (
            {"bound": "latency", "step_arrays": ("A",), "dram_bytes": 3.1e7},
            "waits for loads of A, 310 GB/s of DRAM",
        ),
        ({"bound": "latency", "step": "barrier"}, "waits for barriers"),
        ({"bound": None}, ""),
        # What of the line overlaps other work is not known: nor is a rate.
        ({"bound": "dram", "dram_bytes": 2.9e8, "overlapped_s": None}, "DRAM"),
    ],
)
def test_a_line_names_its_rate_and_what_it_waits_for(changes: dict[str, Any], text: str) -> None:
    line = replace(entry("load", 1e-4), overlapped_s=0.0)
    assert verdicts.line_limit(replace(line, **changes)) == text


def test_the_rate_of_a_loop_is_that_of_its_statements() -> None:
    inner = replace(entry("load", 5e-5), overlapped_s=5e-5, step_arrays=("A",), dram_bytes=1e8)
    loop = replace(entry("", 1e-4, "serial"), bound="dram", dram_bytes=2e8, children=(inner, inner))
    assert verdicts.line_limit(loop) == "DRAM, 1 TB/s"


def test_several_calls_share_a_line() -> None:
    reports = [
        (replace(REPORT, sizes={"M": 2**n, "N": 8}, time_s=1e-4 * 2**n), History())
        for n in range(9)
    ]
    titles = [part.title for part in lenses.several(reports[:2])]
    assert titles == ["100 us, 1x8 fp16", "200 us, 2x8 fp16", "h100-sxm"]
    titles = [part.title for part in lenses.several(reports)]
    assert titles[-2:] == ["5 more", "h100-sxm"]
    assert len(" | ".join(titles)) <= DEFAULT_LENS_CHARACTERS
