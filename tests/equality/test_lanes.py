"""Random kernels of single threads, executed with data: every figure is equal, or marked.

A figure is marked by the caveat of a condition on data, distinct bytes and sectors where they are
not exact; it is then an upper bound of what was executed.  600 programs are executed by
`TIRLENS_EXAMPLES=600 pytest tests/equality/test_lanes.py`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from equality.lane_programs import TILELANG, TVM, program
from equality.process import shared
from tirlens import model
from tirlens.hardware import load
from tirlens.model.report import KernelReport
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

pytestmark = pytest.mark.slow

ENVIRONMENTS = {TVM: "tvm-0.27.0.post1", TILELANG: "tilelang-0.1.15"}
PROGRAMS = int(os.environ.get("TIRLENS_EXAMPLES", "40"))
_AT_ONCE = 50
#: What a caveat says of counts that are upper bounds.
_MARKS = ("depends on data: counted", "depend on data: counted")


class Figure(NamedTuple):
    """A figure of the model and the executed one; `is_exact`: nothing says that it is a bound."""

    name: str
    mine: int
    executed: int
    is_exact: bool

    @property
    def holds(self) -> bool:
        """Whether it is equal, or the upper bound that it is said to be."""
        return self.mine == self.executed if self.is_exact else self.mine >= self.executed


@pytest.mark.parametrize("framework", [TVM, TILELANG])
def test_random_kernels(framework: str, tmp_path: Path) -> None:
    said: Counter[str] = Counter()
    wrong: list[str] = []
    for seed, text, record in executed(framework, range(PROGRAMS // 2), tmp_path):
        assert "counted" in record, f"{record['refused']}\n{record['detail']}\n{text}"
        facts = from_json(KernelFacts, record["facts"])
        report = model.analyze(facts, load("h100-sxm"), {})
        if report.flop is None:
            wrong.append(f"{seed}: counts are unknown\n{text}")
            continue
        for figure in figures(report, record["counted"]):
            said[f"{figure.name}, {'exact' if figure.is_exact else 'marked'}"] += 1
            if not figure.holds:
                caveats = "\n".join(caveat.message for caveat in report.caveats)
                wrong.append(f"{seed}: {figure}\n{text}\n{caveats}")
    print(framework, dict(sorted(said.items())), f"{len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} wrong, the first:\n" + "\n".join(wrong[:3])


def executed(
    framework: str, seeds: range, folder: Path
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The seed, text and record of programs."""
    process = shared(ENVIRONMENTS[framework])
    for first in range(0, len(seeds), _AT_ONCE):
        some = seeds[first : first + _AT_ONCE]
        asked: list[tuple[str, int]] = []
        for seed in some:
            path = folder / f"program_{seed}.py"
            path.write_text(program(framework, seed), encoding="utf-8")
            asked.append((str(path), seed))
        for seed, record in zip(some, process.programs(asked), strict=True):
            yield seed, Path(record["path"]).read_text(encoding="utf-8"), record


def figures(report: KernelReport, counted: dict[str, Any]) -> Iterator[Figure]:
    """Both sides of each figure."""
    marked = any(mark in caveat.message for caveat in report.caveats for mark in _MARKS)
    assert report.flop is not None and report.int_ops is not None
    read, written = report.global_bytes.read, report.global_bytes.write
    assert read is not None and written is not None and report.compulsory_bytes is not None
    yield Figure("FLOP", report.flop, counted["flop"], not marked)
    yield Figure("integer operations", report.int_ops, counted["int_ops"], not marked)
    yield Figure("read bytes", read, counted["read"], not marked)
    yield Figure("written bytes", written, counted["write"], not marked)
    touched = sum(counted["distinct"].values())
    yield Figure("compulsory bytes", report.compulsory_bytes, touched, report.compulsory_is_exact)
    sectors = report.compulsory_sector_bytes
    assert sectors is not None
    held = sum(counted["sectors"].values())
    yield Figure("sector bytes", sectors, held, report.compulsory_sectors_are_exact)
