"""The register estimate against ptxas's figures of compiled products (`tests/measured/sass.py`)."""

import csv
from pathlib import Path
from statistics import mean

import pytest

from tirlens.hardware import load
from tirlens.model.gpu.compiler.registers import RegisterEstimate, estimate_registers

TABLE = Path(__file__).parents[2] / "measured/registers.csv"
DEVICES = {"sm_80": "a100-80-sxm", "sm_89": "l40s", "sm_90a": "h100-sxm"}
with TABLE.open(encoding="utf-8") as file:
    PRODUCTS = list(csv.DictReader(file))


def estimate(row: dict[str, str]) -> RegisterEstimate:
    """Registers and the share that spills; on Hopper warpgroups reallocate registers."""
    device = load(DEVICES[row["arch"]])
    fragment_bytes = 4 * int(row["block_m"]) * int(row["block_n"])
    hopper = row["arch"] == "sm_90a"
    return estimate_registers(device, fragment_bytes, int(row["threads"]), not hopper, hopper)


@pytest.mark.parametrize("row", PRODUCTS, ids=lambda row: "-".join(list(row.values())[:7]))
def test_which_products_spill(row: dict[str, str]) -> None:
    spilled = estimate(row).spilled_share
    assert (spilled > 0) == (int(row["spill_bytes"]) > 0)


@pytest.mark.parametrize(("arch", "bar"), [("sm_80", 10), ("sm_89", 12)])
def test_registers_of_products(arch: str, bar: float) -> None:
    rows = [row for row in PRODUCTS if row["arch"] == arch]
    errors = [abs(estimate(row).registers_per_thread - int(row["registers"])) for row in rows]
    assert len(rows) >= 18 and mean(errors) <= bar
