"""Which values of a thread's tiles are kept in registers, in halves and floats of 128 threads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched, workload
from tirlens.model.counting.kernel_counter import KernelCounter
from tirlens.model.gpu.compiler.register_pressure import RegisterDemand, find_register_demand
from tirlens_worker.facts import (
    Access,
    Arith,
    Buffer,
    Copy,
    Loop,
    Node,
    Reduce,
    Statement,
    Store,
)

# The bytes of a thread for a tile of 64 x 128 elements.
HALVES, FLOATS = 64 * 128 * 2 / 128, 64 * 128 * 4 / 128
WHOLE = ((0, 0), (64, 128))


def tile(name: str, dtype: str, scope: str = "local.fragment") -> Buffer:
    return Buffer(name, name, dtype, (64, 128), scope)


BUFFERS = (
    tile("staged", "float16", "shared.dyn"),
    tile("x", "float16"),
    tile("wide", "float32"),
    tile("square", "float32"),
    Buffer("sum", "sum", "float32", (64,), "local.fragment"),
)


def read(name: str) -> Access:
    return Access(name, "read", *WHOLE)


def store(source: str, target: str, *operations: str) -> Statement:
    accesses = (read(source), Access(target, "write", *WHOLE))
    arith = tuple(
        Arith(name, "float16", 64 * 128, accumulator="float32")
        if name == "cast"
        else Arith(name, "float32", 64 * 128)
        for name in operations
    )
    return Store(target, arith, accesses, "block")


LOAD = Copy("x", (), (read("staged"), Access("x", "write", *WHOLE)), "block")


def total(name: str) -> Statement:
    accesses = (read(name), Access("sum", "write", (0,), (64,)))
    return Reduce("sum", (), accesses, "block", dim=1)


def of_row(access: Access) -> Access:
    return replace(access, indices=("row", 0), extents=(1, 128))


def rows(statement: Statement) -> Node:
    """The loop over rows that a program writes around a statement of one row."""
    accesses = tuple(map(of_row, statement.accesses))
    arith = tuple(replace(one, count=128) for one in statement.arith)
    return Loop("serial", "row", 0, 64, (replace(statement, accesses=accesses, arith=arith),))


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        # Of a copy in single precision that is summed, the halves alone are kept.
        ((LOAD, store("x", "wide", "cast"), total("wide")), HALVES),
        # So are they with a further statement between, and none where shared memory has them.
        (
            (LOAD, store("x", "wide", "cast"), store("wide", "square", "mul"), total("square")),
            HALVES,
        ),
        ((store("staged", "wide", "cast"), total("wide")), 0),
        # A loop over rows of registers is unrolled.
        ((rows(store("staged", "wide", "cast")), total("wide")), 0),
        # The results of special functions are kept, and what two statements of other pieces read.
        ((LOAD, store("x", "wide", "cast", "exp"), total("wide")), FLOATS),
        ((store("staged", "wide", "cast"), total("wide"), total("wide")), FLOATS),
        # What is converted twice is converted once.
        ((LOAD, store("x", "wide", "cast"), total("wide"), store("x", "square", "cast")), FLOATS),
    ],
)
def test_what_is_kept_of_tiles(body: tuple[Node, ...], kept: float) -> None:
    row = 64 * 4 / 128
    assert kept <= demand(body).peak_bytes <= kept + row


def test_loads_wait_beside_what_is_kept() -> None:
    body = (LOAD, store("x", "wide", "cast", "exp"), total("wide"))
    assert demand(body, {1: 16}).loading_bytes >= FLOATS + 64


def demand(body: tuple[Node, ...], loads: dict[int, float] | None = None) -> RegisterDemand:
    facts = launched(body, BUFFERS)
    return find_register_demand(
        workload(facts).tree, KernelCounter(facts, {}).counts(), loads or {}
    )
