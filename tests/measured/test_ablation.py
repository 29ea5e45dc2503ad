"""The model with other values of its constants."""

from __future__ import annotations

import pytest

from measured.ablation import LEDGER, changed_constants, ledger_cases
from support.stored_facts import entries
from tirlens import model
from tirlens.hardware import load
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts


def test_a_changed_constant_changes_the_time_until_the_end() -> None:
    facts, device = from_json(KernelFacts, entries("h200_tileops")[0]), load("h200")
    time_s = model.analyze(facts, device).time_s
    assert time_s is not None
    with changed_constants({"BLOCK_START_S": 10e-6}) as changed:
        changed_s = changed.analyze(facts, device, None, changed.workload_of(facts)).time_s
        assert changed_s is not None and changed_s > time_s + 5e-6
        assert model.analyze(facts, device).time_s == time_s
    assert model.analyze(facts, device).time_s == time_s


@pytest.mark.parametrize("name", ["NONE", "CALL_COST_RATIOS.none"])
def test_a_name_must_be_known(name: str) -> None:
    with pytest.raises(KeyError), changed_constants({name: 1.0}):
        pass


def test_the_ledger_has_each_constant_with_its_value() -> None:
    lines = LEDGER.read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    listed = {name.strip("`"): value for name, value, *_ in rows}
    assert listed == {name: f"{value:g}" for name, _, value in ledger_cases()}
