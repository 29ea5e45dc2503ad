"""Tile operations of TIRx as the instructions that TIRx makes of them.

``T.cuda.tile.apply`` names a PTX instruction and repeats it over regions whose layouts say which
thread has which element; ``T.cuda.tile.ewise`` inlines a scalar function.  TIRx chooses neither
width nor instruction, so that its own pass gives the instructions for every architecture that has
them.  The pass drops the source of what it inserts; it is that of the call.

Source: apache-tvm-tirx 0.1.0a4, ``tirx/tile/instruction.py``, ``tirx/transform`` (TileDispatch).
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import Any, Callable, Generator

from ..ir import dialect

_TILE = "tirx.cuda.tile."
#: Architectures with all instructions; the first that TIRx lowers the function for is taken.
_ARCHITECTURES = ("sm_100a", "sm_103a", "sm_90a", "sm_120a")


def dispatch_tile_calls(function: Any) -> Any:
    """The function with instructions in place of tile operations.

    A function that TIRx cannot lower stays as it is: the walk reports each operation that it does
    not know.
    """
    if not _has_tile_calls(function.body):
        return function
    package = importlib.import_module("tvm_tirx")
    transform = importlib.import_module("tvm_tirx.tirx.transform")
    with _with_sources():
        for architecture in _ARCHITECTURES:
            try:
                with package.target.Target({"kind": "cuda", "arch": architecture}):
                    return transform.TileDispatch()(package.IRModule({"main": function}))["main"]
            except Exception:
                # Another architecture has the instructions, or none.
                continue
    return function


def _has_tile_calls(body: Any) -> bool:
    return any(
        dialect.kind(stmt) == "Evaluate"
        and dialect.kind(stmt.value) == "Call"
        and dialect.op_name(stmt.value).startswith(_TILE)
        for stmt in dialect.statements(body)
    )


@contextmanager
def _with_sources() -> Generator[None, None, None]:
    """While active, lowered tile operations have the source of their calls."""
    instructions = importlib.import_module("tvm_tirx.tirx.tile.instruction").SPECS
    before = {name: spec.lower for name, spec in instructions.items()}
    for name, lower in before.items():
        if name.startswith(_TILE):
            instructions[name].lower = _located(lower)
    try:
        yield
    finally:
        for name, lower in before.items():
            instructions[name].lower = lower


def _located(lower: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def lower_at_call(view: Any, context: Any) -> Any:
        return _at(lower(view, context), view.call.loc)

    return lower_at_call


def _at(stmt: Any, location: Any) -> Any:
    """A copy of the statement, and of those in it, at `location`."""
    ir = importlib.import_module("tvm_tirx.ir")
    kind = dialect.kind(stmt)
    if kind == "SeqStmt":
        return ir.SeqStmt([_at(part, location) for part in stmt.seq])
    if kind == "For":
        body = _at(stmt.body, location)
        loop = (stmt.var, stmt.begin, stmt.end, stmt.step, stmt.kind, body, stmt.annotations)
        return ir.For(*loop, loc=location)
    if kind == "Bind":
        return ir.Bind(stmt.var, stmt.value, loc=location)
    if kind == "Evaluate":
        return ir.Evaluate(stmt.value, loc=location)
    if kind == "TensorStore":
        return ir.TensorStore(stmt.dest, stmt.indices, stmt.value, loc=location)
    return stmt
