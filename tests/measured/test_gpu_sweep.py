"""What is to be measured where there is a GPU, and the score of a table of that form."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from measured.gpu_sweep import score, searches
from tirlens.cli.measured_table import COLUMNS


def test_the_sweep_is_wide_enough_and_names_no_call_twice() -> None:
    calls = [call for search in searches() for call in search.calls]
    assert len(calls) == len(set(calls)) >= 200


def test_the_score_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    search = next(searches())
    # Predicted a tenth too long, and the last two in the wrong order.
    measured = [10.0, 20.0, 40.0, 30.0]
    predicted = [11.0, 22.0, 33.0, 44.0]
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for call, real, model in zip(search.calls, measured, predicted, strict=False):
            writer.writerow(
                {"call": call, "measured_s": real, "predicted_s": model}
                | {"band_low_s": 0.9 * model, "band_high_s": 1.1 * model}
            )
    score(table)
    problem, everything = capsys.readouterr().out.splitlines()[1:]
    assert problem.startswith(search.call)
    assert problem[70:].split() == ["4", "21.0%", "1.10", "50%", "0.67", "100%"]
    assert everything[70:].split() == ["4", "21.0%", "1.10", "50%"]
