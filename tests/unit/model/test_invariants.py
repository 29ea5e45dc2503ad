"""DRAM bytes are never below the compulsory bytes, and time is never below the roofline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.invariants import assert_invariants
from support.kernels import launched, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Copy,
    Expr,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Statement,
)

TILE = 64
TILES = 16


def tile_copy(row: Expr, column: Expr, line: int, source: str = "A") -> Statement:
    at = ("*", row, TILE), ("*", column, TILE)
    accesses = (
        Access(source, "read", at, (TILE, TILE), route="tile"),
        Access("s", "write", (0, 0), (TILE, TILE), route="tile"),
    )
    return Copy(f"T.copy({source}, s)", (), accesses, "block", sites=site(line))


def tiles_kernel(*body: Node) -> KernelFacts:
    """A kernel of TILES x TILES blocks over an array of as many tiles."""
    size = TILE * TILES
    buffers = (
        Buffer("A", "A", "float32", (size, size), is_parameter=True),
        Buffer("s", "s", "float32", (TILE, TILE), "shared.dyn"),
    )
    facts = launched(body, buffers, TILES)
    (grid,) = facts.body
    outer = Loop("grid", "by", 0, TILES, (grid,), tag="blockIdx.y", sites=site(1))
    launch = Launch((TILES, TILES), (128,))
    return replace(facts, body=(outer,), launch=launch)


UPPER, LOWER = tile_copy("bx", "by", 3), tile_copy("bx", "by", 5)
BELOW: Expr = ("<", "bx", "by")


@pytest.mark.parametrize("device", ["h100-sxm", "v100-pcie", "mi210"])
@pytest.mark.parametrize(
    "body, share",
    [
        # Both sides of a branch read a triangle of tiles each, together all of them.
        ((Branch(BELOW, (UPPER,), (LOWER,)),), 1.0),
        ((Branch(BELOW, (tile_copy("by", "bx", 3),), (tile_copy("by", "bx", 5),)),), 1.0),
        # Mirrored tiles: each side reads the same triangle.
        ((Branch(BELOW, (UPPER,), (tile_copy("by", "bx", 5),)),), 0.5),
        ((UPPER, Branch(BELOW, (tile_copy("by", "bx", 5),))), 1.0),
        # Another access of the array, by one index of the block.
        ((Branch(BELOW, (UPPER,), (LOWER,)), tile_copy("bx", 0, 6)), 1.0),
    ],
)
def test_branches_that_read_other_tiles_move_all_of_them(
    body: tuple[Node, ...], share: float, device: str
) -> None:
    report = analyze(tiles_kernel(*body), load(device))
    size = 4 * (TILE * TILES) ** 2
    assert report.dram_bytes.read is not None
    assert report.dram_bytes.read >= share * size
    assert report.compulsory_bytes is not None and report.compulsory_bytes >= share * size
    assert_invariants(report, load(device))
