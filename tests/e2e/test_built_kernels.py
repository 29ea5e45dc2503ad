"""Kernels that a file builds, in the real server: lenses at each version of a schedule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.rpc import Client

pytestmark = pytest.mark.slow

SCHEDULE = Path(__file__).parent.parent / "built" / "data" / "matmul_schedule.py"


def test_versions_of_a_schedule(tmp_path: Path, tvm_python: Path) -> None:
    path = tmp_path / "schedule.py"
    text = SCHEDULE.read_text()
    path.write_text(text)

    def line_of(part: str) -> int:
        return text[: text.index(part)].count("\n")

    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        uri = client.open(path)
        before = list(client.lenses(uri))
        client.wait_ready(uri)
        lenses = client.lenses(uri)
        assert list(lenses) == before, "the analysis changes the titles alone"
        assert line_of("func = te") in before
        assert line_of("sch.unroll") in before
        assert line_of("by, ty = sch.split") not in before
        assert lenses[line_of("sch = tvm")][0].endswith("lower bound, unscheduled")
        first = line_of('sch.bind(by, "blockIdx.y")')
        assert re.fullmatch(r"[\d.]+ us -> (about )?[\d.]+ us( \(.*\))?", lenses[first][0])
        assert first + 1 not in lenses, "adjacent steps of one kind have one lens"
        hints = dict(client.hints(uri))
        assert "268 MFLOP" in hints[line_of("C = te.compute")]

        line = line_of("N = 512")
        span = {
            "start": {"line": line, "character": 4},
            "end": {"line": line, "character": 7},
        }
        client.edit(uri, 2, {"range": span, "text": "256"})
        path.write_text(text.replace("N = 512", "N = 256"))
        client.save(uri)
        client.wait_ready(uri, times=2)
        assert list(client.lenses(uri)) == before
        smaller = client.lenses(uri)[first][0]
        assert re.fullmatch(r"[\d.]+ [nu]s -> (about )?[\d.]+ us( \(.*\))?", smaller)
        assert smaller != lenses[first][0]
