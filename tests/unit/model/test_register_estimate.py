"""The register estimate against ptxas's figures of compiled products (`tests/measured/sass.py`)."""

import csv
from pathlib import Path
from statistics import mean

import pytest

from support.kernels import launched, workload
from tirlens.hardware import load
from tirlens.model.gpu.compiler.registers import RegisterEstimate, estimate_registers
from tirlens.model.gpu.compiler.temporary_registers import count_temporaries
from tirlens_worker.facts import Access, Arith, Buffer, Loop, Node, Store

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


@pytest.mark.parametrize(
    ("operations", "elements", "stride", "values"),
    [
        # Two values of each of a thread's four elements, in one vector or apart.
        (("tanh",), 512, 1, 8),
        (("tanh",), 512, 3, 8),
        (("tanh", "log"), 512, 3, 14),
        (("exp",), 512, 3, 4),
        # Not more than eight elements are interleaved.
        (("tanh",), 1024, 3, 16),
        (("tanh",), 2048, 3, 16),
        ((), 512, 1, 0),
    ],
)
def test_temporaries_of_the_elements_of_a_thread(
    operations: tuple[str, ...], elements: int, stride: int, values: int
) -> None:
    index = ("*", "i", stride)
    accesses = (Access("A", "read", (index,)), Access("B", "write", (index,)))
    store = Store("", tuple(Arith(op, "float32") for op in operations), accesses, "block")
    tile: Node = Loop("parallel", "i", 0, elements, (store,))
    buffers = (Buffer(name, name, "float32", (elements * stride,)) for name in "AB")
    counted = workload(launched((tile,), tuple(buffers), threads=128))
    assert count_temporaries(counted.tree, counted.instructions) == values
