"""tilelang's copies to LDS: which of them a thread of an AMD GPU waits for."""

from __future__ import annotations

import pytest

from support.kernels import gemm
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import KernelReport

WAITED_FOR = ("loads and stores of threads", "3 buffers")
ASYNCHRONOUS = ("global_load_lds", "3 buffers")


def product(tile_k: int, stages: int = 3) -> KernelReport:
    return analyze(gemm(1024, 1024, 1024, tile_k=tile_k, stages=stages), load("mi355x"))


@pytest.mark.parametrize(
    ("tile_k", "path"),
    # A row of 4 bytes is one element of a copy of 4 bytes, one of 8 a copy of 8.
    [(2, ASYNCHRONOUS), (4, WAITED_FOR), (64, WAITED_FOR)],
)
def test_only_copies_of_four_bytes_are_asynchronous(tile_k: int, path: tuple[str, ...]) -> None:
    entries = {entry.label: entry for _, entry in product(tile_k).walk()}
    copy, loop = entries["T.copy(A, As)"], entries["for k in T.Pipelined"]
    assert copy.path == path
    assert copy.lost.startswith("3 stages: ") == (path is WAITED_FOR)
    assert (loop.path[0] == "not pipelined") == (path is WAITED_FOR)


def test_stages_gain_nothing_where_a_thread_waits_for_its_copies() -> None:
    one, three = (product(64, stages).time_s for stages in (1, 3))
    assert one is not None and three is not None
    assert three == pytest.approx(one, rel=0.02)
