"""The timing of opcodes: the data are whole, and compiled code keeps to the latencies."""

from __future__ import annotations

from collections import Counter

import pytest

from tirlens_sass import OPCODES, read
from tirlens_sass.timing import families, timing

from . import oracles
from .distances import find_distances


@pytest.mark.parametrize("family", families())
def test_each_number_has_a_source(family: str) -> None:
    for name in OPCODES:
        found = timing(name, family)
        numbers = [found.threads_per_cycle, found.latency_cycles]
        assert len(found.sources) == sum(number is not None for number in numbers)
        assert all(number is None or number > 0 for number in numbers)


@pytest.mark.parametrize(
    ("name", "architecture", "rate", "latency"),
    [
        ("FFMA", "sm_75", 64, 4),
        ("FFMA", "sm_80", 64, 4),
        ("FFMA", "sm_86", 128, 4),
        ("FFMA", "sm_90a", 128, 4),
        ("HFMA2", "sm_90a", 128, 4),
        ("HFMA2", "sm_100a", 64, 5),
        ("FFMA2", "sm_100a", 64, None),
        ("FFMA2", "sm_120", None, None),
        ("FMNMX", "sm_100a", 128, None),
        ("FMNMX", "sm_120", 64, None),
        ("DFMA", "sm_103a", None, None),
        ("IADD", "sm_120", 128, 5),
        ("MUFU", "sm_90a", 16, None),
        ("LDG", "sm_90a", None, None),
        ("FFMA", "sm_50", None, None),
        ("FNEW9", "sm_90a", None, None),
    ],
)
def test_timing(name: str, architecture: str, rate: float | None, latency: int | None) -> None:
    found = timing(name, architecture)
    assert (found.threads_per_cycle, found.latency_cycles) == (rate, latency)


@pytest.mark.parametrize("recorded", oracles.RECORDED)
def test_no_result_is_read_before_its_latency(recorded: str) -> None:
    listing = read(oracles.text(recorded, "sass"))
    compared: Counter[str] = Counter()
    for (name, file), counts in find_distances(listing).items():
        latency = timing(name, listing.architecture).latency_cycles
        if latency is not None and file in ("R", "UR"):
            assert min(counts) >= latency, (name, file)
            compared[name] += counts.total()
    assert compared.total() > 50 or recorded.startswith("matmul")
