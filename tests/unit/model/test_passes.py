"""Passes of one warp's instruction through the data path of L1 and shared memory."""

import pytest

from tirlens.model.instructions.requests import requests_of
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
    assert requests_of(starts, vector, buffer, written=True, loads=True).wavefronts == passes


def test_what_is_stored_comes_from_every_lane() -> None:
    buffer = Buffer(id="A", name="A", scope="shared", dtype="float32", shape=(4096,))
    pairs = [4 * (lane // 2) for lane in LANES]
    assert requests_of(pairs, 4, buffer, written=True, loads=False).wavefronts == 4
