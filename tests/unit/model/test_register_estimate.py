"""The register estimate against ptxas's figures of compiled products (`tests/measured/sass.py`)."""

import csv
from pathlib import Path
from statistics import mean

import pytest

from support.kernels import launched, leaves, workload
from tirlens.hardware import load
from tirlens.model.gpu.compiler.local_memory import estimated_local_memory, spilled_accumulators
from tirlens.model.gpu.compiler.registers import (
    PRODUCT_SPILL_MARGIN,
    RegisterEstimate,
    estimate_registers,
)
from tirlens.model.gpu.compiler.temporary_registers import count_temporaries
from tirlens.model.tree.route import Route
from tirlens.model.tree.table import Table
from tirlens_worker.facts import Access, Arith, Buffer, Gemm, Loop, Node, Store

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


@pytest.mark.parametrize(
    "row",
    [row for row in PRODUCTS if row["arch"] == "sm_90a"],
    ids=lambda row: "-".join(list(row.values())[:7]),
)
def test_accumulators_that_spill(row: dict[str, str]) -> None:
    """The code has the spills of one iteration, or of two, and a few before and after the loop."""
    rows, columns, depth = (int(row[name]) for name in ("block_m", "block_n", "block_k"))
    box = (rows, columns)
    # The operand in registers does not spill.
    accesses = (
        Access("a", "read", (0, 0), (rows, depth)),
        Access("c", "read", (0, 0), box),
        Access("c", "write", (0, 0), box),
    )
    product = Gemm("T.gemm", (), accesses, "block", m_n_k=(rows, columns, depth))
    facts = launched(
        (Loop("serial", "k", 0, 9, (product,)),),
        (
            Buffer("a", "a", "float16", (rows, depth), "local.fragment"),
            Buffer("c", "c", "float32", box, "local.fragment"),
        ),
        threads=int(row["threads"]),
    )
    (leaf,) = leaves(facts)
    most = 240 - PRODUCT_SPILL_MARGIN
    products = spilled_accumulators([leaf], Table([Route(instruction="wgmma")]), most)
    code_bytes = int(row["spill_bytes"])
    if not code_bytes:
        assert not products
        return
    assert 1.0 <= code_bytes / (2 * products[0].bytes) <= 2.2
    (local,) = estimated_local_memory([leaf], 0.0, products)
    each_way = 9 * 8 * int(row["threads"]) * products[0].bytes
    assert (local.read_bytes, local.written_bytes) == (each_way, each_way)


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
