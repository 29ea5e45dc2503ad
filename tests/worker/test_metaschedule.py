"""Predicted times as MetaSchedule's cost model and post-processor."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("metaschedule_program.py")


@pytest.mark.slow
def test_schedules_are_scored_and_what_cannot_run_is_dropped(tvm_python: Path) -> None:
    done = subprocess.run(
        [tvm_python, PROGRAM],
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    best, narrow, refused = found["scores"]
    assert best == 1 and 0 < narrow < 0.7 and refused == 0
    assert found["kept"] == [True, False, False]
    (line,) = found["lines"]
    assert line.startswith(
        "2 candidates measured: the best takes 10 us; the predicted best takes 20 us"
    )
