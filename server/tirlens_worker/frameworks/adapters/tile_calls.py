"""Tile operations of TIRx as the instructions that TIRx makes of them.

``T.cuda.tile.apply`` names a PTX instruction and repeats it over regions whose layouts say which
thread has which element; ``T.cuda.tile.ewise`` inlines a scalar function.  TIRx chooses neither
width nor instruction, so that its own pass gives the instructions for every architecture that has
them.  The pass drops the source of what it inserts, which is that of the call, and proves each
element of an operand to be where the instruction has it, which takes seconds and changes nothing.
Instructions that one thread issues for all elements stay calls (`ops.tile_patterns`).

Source: apache-tvm-tirx 0.1.0a4, ``tirx/tile/instruction.py``, ``tirx/transform`` (TileDispatch),
``backend/cuda/tile/patterns/common.py``.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import Any, Callable, Dict, Generator

from ...ops.tile_patterns import COUNTED_AS_CALLS
from ..ir import dialect

_TILE = "tirx.cuda.tile."
_PLACEHOLDER = "tirlens_tile_call_"
#: Architectures with all instructions; the first that TIRx lowers the function for is taken.
_ARCHITECTURES = ("sm_100a", "sm_103a", "sm_90a", "sm_120a")
#: What the proofs are of, in ``common.Context``.
_PROOF = "require"


class TileCalls:
    """The body of a function without tile operations but those that stay calls."""

    def __init__(self, function: Any) -> None:
        self._kept: Dict[str, Any] = {}
        self.body = function.body
        if any(not _stays_call(call) for call in _tile_calls(function.body)):
            self.body = self._dispatch(function)

    def original(self, call: Any) -> Any:
        """The tile operation in whose place `call` is; other calls are returned as they are."""
        if not self._kept or dialect.op_name(call) != "tirx.call_extern":
            return call
        return self._kept.get(str(dialect.plain(call.args[0])), call)

    def _dispatch(self, function: Any) -> Any:
        """The body after TIRx's pass.

        The body of a function that TIRx cannot lower stays as it is: the walk reports each
        operation that it does not know.
        """
        package = importlib.import_module("tvm_tirx")
        transform = importlib.import_module("tvm_tirx.tirx.transform")
        with _with_sources(), _without_proofs():
            for architecture in _ARCHITECTURES:
                try:
                    prepared = self._with_placeholders(function)
                    with package.target.Target({"kind": "cuda", "arch": architecture}):
                        module = transform.TileDispatch()(package.IRModule({"main": prepared}))
                    return module["main"].body
                except Exception:
                    # Another architecture has the instructions, or none.
                    continue
        return function.body

    def _with_placeholders(self, function: Any) -> Any:
        """The function with a call of nothing in place of each operation that stays a call."""
        ir, ffi = (importlib.import_module(name) for name in ("tvm_tirx.ir", "tvm_ffi"))

        def replace(call: Any) -> Any:
            if not dialect.op_name(call).startswith(_TILE) or not _stays_call(call):
                return call
            name = "{}{}".format(_PLACEHOLDER, len(self._kept))
            self._kept[name] = call
            arguments = [ir.StringImm(name)]
            return ir.Call("tirx.call_extern", arguments, loc=call.loc, ty="void")

        return ffi.structural_map(function, (ir.Call, replace), order="post")


def _tile_calls(body: Any) -> Generator[Any, None, None]:
    for stmt in dialect.statements(body):
        call = getattr(stmt, "value", None)
        if dialect.kind(call) == "Call" and dialect.op_name(call).startswith(_TILE):
            yield call


def _stays_call(call: Any) -> bool:
    return str(dialect.plain(call.args[0])).startswith(COUNTED_AS_CALLS)


def _prove_nothing(*_: Any) -> None:
    """In the place of a proof about the operand of an instruction."""


@contextmanager
def _without_proofs() -> Generator[None, None, None]:
    context = importlib.import_module("tvm_tirx.backend.cuda.tile.patterns.common").Context
    proof = getattr(context, _PROOF, None)
    setattr(context, _PROOF, _prove_nothing)
    try:
        yield
    finally:
        setattr(context, _PROOF, proof)


@contextmanager
def _with_sources() -> Generator[None, None, None]:
    """While active, lowered tile operations have the source of their calls."""
    instructions = importlib.import_module("tvm_tirx.tirx.tile.instruction").SPECS
    before = {name: spec.lower for name, spec in instructions.items()}
    for name, lower in before.items():
        if name.startswith(_TILE):
            instructions[name].lower = _lower_at_call(lower)
    try:
        yield
    finally:
        for name, lower in before.items():
            instructions[name].lower = lower


def _lower_at_call(lower: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def lower_with_source(view: Any, context: Any) -> Any:
        return _at(lower(view, context), view.call.loc)

    return lower_with_source


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
