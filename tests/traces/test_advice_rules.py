"""The docstring of each rule is its page, and the example in it is a test.

An example is one ``diff`` block of operations. The rule finds something in its old lines and
nothing in its new ones, and saves no more than the time of the old ones.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main
from tirlens.hardware import Device, load
from tirlens.measured.advice import MeasuredAdvice, advice_for, rules
from tirlens.measured.advice.fidelity_need import needed_fidelity
from tirlens.measured.performance.rates import BOUND_FRACTION, Performance
from tirlens.measured.records import Operation, Position, Tensor

SECTIONS = [
    "What it finds",
    "Why it costs time",
    "Evidence",
    "How to change it",
    "Example",
    "Source",
]
SAMPLES = Path(__file__).parent / "samples"
MODULES = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))


@dataclass
class Step:
    """The operations of an example, as its lines add them."""

    device: Device | None = None
    rows: list[Performance] = field(default_factory=list)

    def names(self) -> dict[str, Callable[..., None]]:
        return {
            "device": self.set_device,
            "operation": self.add,
            "kernel": self.add,
            "product": self.add_product,
        }

    def set_device(self, name: str) -> None:
        self.device = load(name)

    def add(self, name: str, time_s: float | None, **given: Any) -> None:
        number = len(self.rows) + 2
        operation = Operation(name, Position("trace.csv", number), time_s=time_s, **given)
        self.rows.append(performance_of(operation, number, self.device))

    def add_product(
        self,
        activations: str,
        weights: str,
        result: str,
        fidelity: str,
        time_s: float,
        *,
        flop: int = 1 << 30,
        dram_bytes: int = 4_000_000,
        memory: str = "DEV_1_DRAM_INTERLEAVED",
        attributes: str = "",
        cores: int = 64,
    ) -> None:
        shape = (1, 1, 512, 1024)
        self.add(
            "MatmulDeviceOperation",
            time_s,
            flop=flop,
            dram_bytes=dram_bytes,
            cores=cores,
            inputs=(Tensor(shape, None, activations, "TILE", memory), Tensor(shape, dtype=weights)),
            outputs=(Tensor(shape, dtype=result),),
            attributes={"MATH FIDELITY": fidelity, "ATTRIBUTES": attributes},
        )

    @property
    def advice(self) -> tuple[MeasuredAdvice, ...]:
        return advice_for(self.rows, lambda _: self.device)

    @property
    def time_s(self) -> float:
        times = (each.operation.time_s or each.operation.host_time_s or 0.0 for each in self.rows)
        return sum(times) + sum(row.operation.gap_s or 0.0 for row in self.rows)


def performance_of(operation: Operation, number: int, device: Device | None) -> Performance:
    """The row with the shares of the device's peaks, as the report has them."""
    time_s, fractions = operation.time_s, (None, None)
    fidelity = operation.attributes.get("MATH FIDELITY")
    if device is not None and fidelity and operation.flop and operation.dram_bytes and time_s:
        peak = device.fidelities[fidelity]["tensor.bfloat16"].flop_per_s
        peak *= (operation.cores or device.sm_count) / device.sm_count
        fractions = (
            operation.dram_bytes / time_s / device.dram.bytes_per_s,
            operation.flop / time_s / peak,
        )
    dram, flop = fractions
    bound: Any = None
    if operation.kind == "host":
        bound = "HOST"
    elif dram is not None and flop is not None:
        above = (dram >= BOUND_FRACTION, flop >= BOUND_FRACTION)
        bound = {(True, True): "BOTH", (True, False): "DRAM", (False, True): "FLOP"}.get(
            above, "SLOW"
        )
    return Performance(number, operation, bound=bound, dram_fraction=dram, flop_fraction=flop)


def step_of(lines: Sequence[str]) -> Step:
    step = Step()
    exec("\n".join(lines), dict(step.names()))
    return step


def example(module: str) -> tuple[Step, Step]:
    """The operations before and after the change."""
    text = docstring(module)
    block = re.search(r"```diff\n(.*?)\n```", text, re.DOTALL)
    assert block is not None
    lines = block[1].split("\n")
    before = step_of([line[1:] for line in lines if not line.startswith("+")])
    after = step_of([line[1:] for line in lines if not line.startswith("-")])
    return before, after


def docstring(module: str) -> str:
    return inspect.cleandoc(importlib.import_module(f"{rules.__name__}.{module}").__doc__ or "")


def advised(step: Step, rule: str) -> list[MeasuredAdvice]:
    return [advice for advice in step.advice if advice.rule == rule]


@pytest.mark.parametrize("module", MODULES)
def test_a_rule_is_documented(module: str) -> None:
    text = docstring(module)
    assert re.findall(r"^(.+)\n-+$", text, re.MULTILINE) == SECTIONS
    assert text.startswith(module.replace("_", "-") + ": ")


@pytest.mark.parametrize("module", MODULES)
def test_the_example_of_a_rule(module: str) -> None:
    before, after = example(module)
    rule = module.replace("_", "-")
    (advice,) = advised(before, rule)
    assert not advised(after, rule)
    assert advice.rows and advice.evidence
    if advice.saving_s is not None:
        assert 0 < advice.saving_s <= before.time_s
        assert before.time_s - advice.saving_s <= after.time_s * (1 + 1e-9)


@pytest.mark.parametrize("module", MODULES)
def test_without_a_known_device_there_is_no_figure_of_one(module: str) -> None:
    before, _ = example(module)
    found = advice_for(before.rows, lambda _: None)
    assert {advice.rule for advice in found} <= {"copies-of-the-host"}


#: What Tenstorrent's performance report says of each combination (tt-perf-report 1.4.1): the least
#: fidelity that it calls sufficient. It differs in one: bfloat16 with bfloat4_b weights.
NEEDED = {
    ("BFLOAT16", "BFLOAT16", "BFLOAT16"): "HiFi4",
    ("BFLOAT16", "BFLOAT8_B", "BFLOAT16"): "HiFi4",
    ("BFLOAT16", "BFLOAT8_B", "BFLOAT8_B"): "HiFi4",
    ("BFLOAT16", "BFLOAT16", "BFLOAT4_B"): "HiFi2",
    ("BFLOAT16", "BFLOAT8_B", "BFLOAT4_B"): "HiFi2",
    ("BFLOAT8_B", "BFLOAT8_B", "BFLOAT8_B"): "HiFi2",
    ("BFLOAT8_B", "BFLOAT16", "BFLOAT16"): "HiFi2",
    ("BFLOAT8_B", "BFLOAT8_B", "BFLOAT4_B"): "HiFi2",
    ("BFLOAT4_B", "BFLOAT8_B", "BFLOAT16"): "HiFi2",
    ("BFLOAT8_B", "BFLOAT4_B", "BFLOAT16"): "LoFi",
    ("BFLOAT4_B", "BFLOAT4_B", "BFLOAT4_B"): "LoFi",
    # The weights have no bits for the passes of HiFi2 and HiFi4.
    ("BFLOAT16", "BFLOAT4_B", "BFLOAT16"): "HiFi3",
    ("BFLOAT16", "BFLOAT4_B", "BFLOAT4_B"): "LoFi",
    ("FLOAT32", "BFLOAT16", "FLOAT32"): None,
    ("UINT32", "BFLOAT16", "BFLOAT16"): None,
}


@pytest.mark.parametrize("types", NEEDED, ids="-".join)
def test_the_fidelity_that_types_need(types: tuple[str, str, str]) -> None:
    assert needed_fidelity(*types) == NEEDED[types]


def test_a_saving_below_half_a_percent_is_left_out() -> None:
    lines = ['device("wormhole-n150")', 'operation("LayerNorm", 80e-6, cores=8)']
    assert advised(step_of(lines), "more-cores")
    assert not advised(step_of([*lines, 'operation("Other", 1.0, cores=64)']), "more-cores")


def test_equal_operations_are_one_advice_with_the_sum_of_their_savings() -> None:
    line = 'operation("LayerNorm", 80e-6, cores=8)'
    (one,) = advised(step_of(['device("wormhole-n150")', line]), "more-cores")
    (many,) = advised(step_of(['device("wormhole-n150")', *[line] * 5]), "more-cores")
    assert one.saving_s == pytest.approx(70e-6)
    assert many.saving_s == pytest.approx(5 * 70e-6)
    assert many.rows == (2, 3, 4, 5, 6)


SHARDED = "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(per_core_M=1)"
AS_THEY_SHOULD_BE = {
    "dram-sharded-weights": 'product("BFLOAT16", "BFLOAT8_B", "BFLOAT16", "HiFi2", 150e-6, '
    f'dram_bytes=35_000_000, attributes="{SHARDED}", cores=12)',
    # All cores of a sub-device.
    "more-cores": 'operation("LayerNorm", 80e-6, cores=8, '
    'attributes={"AVAILABLE WORKER CORE COUNT": "8"})',
    "dispatch-gaps": 'operation("LayerNorm", 80e-6, cores=64, gap_s=6.2e-6)',
    # DRAM takes 140 us, the products in HiFi4 165 us.
    "unused-accuracy": 'product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi2", 140e-6, '
    "flop=1 << 33, dram_bytes=35_000_000)",
}


@pytest.mark.parametrize("rule", AS_THEY_SHOULD_BE)
def test_what_is_as_it_should_be(rule: str) -> None:
    assert not advised(step_of(['device("wormhole-n150")', AS_THEY_SHOULD_BE[rule]]), rule)


def test_gaps_within_a_launch_of_a_graph_are_no_launches() -> None:
    lines = [
        'device("h100-sxm")',
        'kernel("a", 20e-6, graph_launch="1")',
        'kernel("b", 20e-6, graph_launch="1", gap_s=9e-6)',
        'kernel("c", 20e-6, graph_launch="2", gap_s=9e-6)',
    ]
    (advice,) = advised(step_of(lines), "launch-gaps")
    assert advice.rows == (4,)


@pytest.mark.parametrize("name", ["mi300x", "h100-sxm"])
def test_each_vendor_has_its_graphs(name: str) -> None:
    lines = [f'device("{name}")', 'kernel("a", 9e-6)', 'kernel("b", 9e-6, gap_s=50e-6)']
    (advice,) = advised(step_of(lines), "launch-gaps")
    assert ("HIP" if name == "mi300x" else "CUDA") in advice.message


def test_pageable_copies() -> None:
    lines = [
        'device("h100-sxm")',
        'operation("Memcpy HtoD (Pageable)", 30e-6, kind="copy", counters={"bytes": 1e6})',
        'operation("MEMORY_COPY_DEVICE_TO_HOST", 10e-6, kind="copy")',
    ]
    up, down = advised(step_of(lines), "copies-of-the-host")
    assert "pinned" in up.message and up.saving_s == 30e-6
    assert "pinned" not in down.message and down.saving_s == 10e-6


@pytest.mark.parametrize(("options", "has_advice"), [([], True), (["--no-advice"], False)])
def test_the_command_prints_advice(
    options: list[str], has_advice: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = str(SAMPLES / "torch_rocm.json.gz")
    main(["report", "--measured", sample, "--no-color", *options])
    assert ("(copies-of-the-host)" in capsys.readouterr().out) is has_advice
    main(["report", "--measured", sample, "--format", "json", *options])
    advice = json.loads(capsys.readouterr().out)["advice"]
    assert any(one["rule"] == "copies-of-the-host" for one in advice) is has_advice


def test_advice_on_the_operations_of_a_public_trace(capsys: pytest.CaptureFixture[str]) -> None:
    sample = str(SAMPLES / "tenstorrent_wormhole_clip.csv")
    main(["report", "--measured", sample, "--ignore-signposts", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    names = {each["id"]: each["name"] for each in document["operations"]}
    assert document["advice"]
    for advice in document["advice"]:
        assert advice["evidence"]
        assert all(number in names for number in advice["ids"])
        if advice["rule"] in ("lowest-bit", "activations-in-dram", "larger-blocks"):
            assert all("Matmul" in names[number] for number in advice["ids"])
