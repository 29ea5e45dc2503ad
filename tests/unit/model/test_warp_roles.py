"""Warp roles: branches that different warps take, and leaders of clusters."""

from __future__ import annotations

import pytest

from support.kernels import launched, modelled, site, workload
from tirlens.hardware import load
from tirlens.model.gpu.block.warp_roles.program_builder import (
    RoleCosts,
    build_program,
    cluster_leader_share,
)
from tirlens.model.gpu.block.warp_roles.roles import concurrent_groups
from tirlens.model.gpu.block.warp_roles.warp_program import StraightCode
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Expr,
    Statement,
    Store,
)


def fragment(name: str, *shape: int) -> Buffer:
    return Buffer(name, name, "float32", shape, "local.fragment")


def step(reads: tuple[str, ...], writes: str) -> Statement:
    accesses = (
        *(Access(name, "read", (0,), (1024,)) for name in reads),
        Access(writes, "write", (0,), (1024,)),
    )
    return Store(writes, (), accesses, "block")


def branch(condition: Expr) -> Branch:
    return Branch(condition, (step((), "a"),))


@pytest.mark.parametrize(
    "conditions, groups",
    [
        ([("<", "tx", 32), (">=", "tx", 32)], 1),  # different warps
        ([("<", "tx", 32), ("and", (">=", "tx", 32), ("<", "tx", 64)), (">=", "tx", 64)], 1),
        ([("<", "tx", 64), ("<", "tx", 32)], 2),  # one warp takes both
        ([("==", "tx", 0), ("==", "tx", 1)], 2),  # lanes of one warp
        ([("==", "bx", 0), ("==", "bx", 1)], 2),  # conditions on the block are no roles
    ],
)
def test_branches_of_different_warps_are_concurrent(conditions: list[Expr], groups: int) -> None:
    facts = launched(tuple(map(branch, conditions)), (fragment("a", 1024),))
    inner = workload(facts).tree[0].children[0].children
    assert len(list(concurrent_groups(inner))) == groups


def strided_load(array: str = "A") -> Statement:
    accesses = (Access(array, "read", ("tx", 0)), Access("r", "write", (0,)))
    return Store("r", (), accesses, sites=site(3))


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        (("==", ("%", "bx", 2), 0), 0.5),
        (("and", ("==", ("%", "bx", 4), 0), ("<", "tx", 32)), 0.25),
        (("==", ("%", "bx", 2), 1), 0.0),  # not the first block
        (("<", "bx", 4), 0.0),
        (("==", "tx", 0), 0.0),
    ],
)
def test_share_of_the_leaders_of_clusters(condition: Expr, share: float) -> None:
    arrays = Buffer("A", "A", "float32", (128, 64)), Buffer("r", "r", "float32", (1,), "local")
    facts = launched((Branch(condition, (strided_load(),)),), arrays, blocks=64)
    (grid,) = workload(facts).tree
    assert cluster_leader_share(grid.children[0].children[0]) == share


def test_a_load_after_roles_waits_for_itself() -> None:
    """The loads of roles are complete when the roles end, and none is in flight any more."""
    arrays = (
        *(Buffer(name, name, "float32", (256, 64)) for name in "AB"),
        Buffer("r", "r", "float32", (1,), "local"),
    )
    roles = tuple(Branch(one, (strided_load(),)) for one in (("<", "tx", 128), (">=", "tx", 128)))
    alone, followed = (
        modelled(launched(body, arrays, blocks=1, threads=256), load("h100-sxm"))
        for body in (roles, (*roles, strided_load("B")))
    )
    # The arrays are in L2.
    latency_s = followed.context.memory.l2_latency_s
    assert followed.node_times.total_s > alone.node_times.total_s + latency_s > 2 * latency_s


def test_straight_code_keeps_a_unit_busy_for_all_of_its_statements() -> None:
    """Of 128 threads two times three exponentials: an SM starts 16 in a clock, sustained 14.4."""
    exponentials = Store(
        "y[tx] = f(y[tx])",
        (Arith("exp", "float32", 3),),
        (Access("y", "read", ("tx",)), Access("y", "write", ("tx",))),
    )
    array = Buffer("y", "y", "float32", (128,), "shared")
    device = load("h100-sxm")
    found = modelled(launched((exponentials, exponentials), (array,), blocks=264), device)
    costs = RoleCosts(found.context, 264, lambda nodes, executions: ())
    statements = found.tree[0].children[0].children
    (code,) = build_program(statements, costs, 1.0)
    assert isinstance(code, StraightCode)
    busy_clocks = code.unit_busy_s["sfu"] * device.clock_hz
    assert busy_clocks == pytest.approx(2 * 3 * 128 / 14.4)
