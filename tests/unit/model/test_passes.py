"""Passes of one warp's instruction through the data path of L1 and shared memory."""

import math
from collections.abc import Sequence

import pytest

from tirlens.hardware import load
from tirlens.model.gpu.mapping.memory_requests import memory_request
from tirlens.model.gpu.units.unit_times import tag_clocks
from tirlens_worker.facts import Buffer

LANES = range(32)


@pytest.mark.parametrize("scope", ["global", "shared"])
@pytest.mark.parametrize(
    ("starts", "vector", "passes"),
    [
        (list(LANES), 1, 1),
        ([4 * lane for lane in LANES], 4, 4),
        # One value for all lanes is read once, but comes to each, two registers in a clock.
        ([0] * 32, 1, 1),
        ([0] * 32, 4, 2),
        # Lanes beside each other, or every second ones, ask for the same; others do not count.
        ([4 * (lane // 2) for lane in LANES], 4, 2),
        ([4 * (lane // 4 * 2 + lane % 2) for lane in LANES], 4, 2),
        ([4 * (lane % 4) for lane in LANES], 4, 4),
        ([2 * (lane // 2) for lane in LANES], 2, 1),
        # Eight places of 16 bytes, 64 bytes apart, for each quarter of the warp.
        ([16 * (lane % 8) for lane in LANES], 4, 16),
        ([32 * lane for lane in LANES], 1, 32),
    ],
)
def test_passes(scope: str, starts: list[int], vector: int, passes: int) -> None:
    buffer = Buffer(id="A", name="A", scope=scope, dtype="float32", shape=(4096,))
    assert memory_request(starts, vector, buffer, written=True, loads=True).wavefronts == passes


def test_what_is_stored_comes_from_every_lane() -> None:
    buffer = Buffer(id="A", name="A", scope="shared", dtype="float32", shape=(4096,))
    pairs = [4 * (lane // 2) for lane in LANES]
    assert memory_request(pairs, 4, buffer, written=True, loads=False).wavefronts == 4


@pytest.mark.parametrize(
    ("stride", "clocks"),
    [
        *((1, 1.02), (2, 2.0), (3, 1.63), (4, 4.0), (5, 2.2), (7, 2.67), (8, 8.0), (9, 3.03)),
        *((11, 3.64), (13, 4.02), (15, 4.45), (16, 16.0), (17, 5.1), (21, 6.0), (26, 7.1)),
    ],
)
def test_loads_of_floats_so_far_apart(stride: int, clocks: float) -> None:
    """As te42kyfo/gpu-benches@1c36d50 gpu-strides/a100.txt has them."""
    buffer = Buffer(id="A", name="A", scope="global", dtype="float32", shape=(4096,))
    starts = [stride * lane for lane in LANES]
    found = memory_request(starts, 1, buffer, written=True, loads=True)
    lines = tag_clocks(found.lines, True, load("a100-80-pcie"))
    assert max(found.wavefronts, lines) == pytest.approx(clocks, rel=0.1)


@pytest.mark.parametrize(
    ("starts", "vector", "sectors", "lines"),
    [
        (range(32), 1, 4, 1),
        (range(0, 128, 4), 4, 16, 4),
        # From the middle of a sector on: one more at the end.
        (range(2, 130, 4), 4, 17, 5),
        ([6], 4, 2, 1),
        ([30], 4, 2, 2),
        (range(0, 256, 8), 1, 32, 8),
        ([5] * 32, 1, 1, 1),
    ],
)
def test_sectors_and_lines(starts: Sequence[int], vector: int, sectors: int, lines: int) -> None:
    buffer = Buffer("A", "A", "float32", (1 << 20,), "global")
    found = memory_request(list(starts), vector, buffer, written=True, loads=True)
    assert (found.sectors, found.lines) == (sectors, lines)


@pytest.mark.parametrize("dtype", ["int1", "float4_e2m1fn", "float6_e2m3fn", "int8", "float64"])
@pytest.mark.parametrize("stride", [1, 3, 16])
@pytest.mark.parametrize("begin", [0, 1, 171, 1000, 1 << 20, (1 << 20) + 341])
def test_sectors_and_lines_are_those_of_the_bytes(begin: int, stride: int, dtype: str) -> None:
    """Wherever in the array a warp begins, also where elements do not fill lines evenly."""
    size = {"int1": 1 / 8, "float4_e2m1fn": 1 / 2, "float6_e2m3fn": 3 / 4, "int8": 1}.get(dtype, 8)
    buffer = Buffer(id="A", name="A", scope="global", dtype=dtype, shape=(1 << 24,))
    starts = [begin + stride * lane for lane in LANES]
    touched = {
        math.floor(start * size) + byte for start in starts for byte in range(max(int(size), 1))
    }
    found = memory_request(starts, 1, buffer, written=True, loads=True)
    assert found.sectors == len({byte // 32 for byte in touched})
    assert found.lines == len({byte // 128 for byte in touched})
