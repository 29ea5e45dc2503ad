"""The stores of a statement, with their number of executions."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional

from . import dialect

#: Instructions without a destination register.
_NO_RESULT = frozenset({"st", "red", "cp", "bar", "barrier", "fence", "prefetch"})
_NO_RESULT_PARTS = ("mma", "_st", "_cp", "commit", "alloc", "arrive", "init")
#: Instructions with one destination register; in others all leading registers are destinations.
_ONE_RESULT = frozenset(
    ("add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "abs", "neg")
    + ("and", "or", "xor", "not", "shl", "shr")
)


class Write(NamedTuple):
    """One store to `buffer`.

    `value` is the stored node, None for a store by an instruction.  A `certain` store is executed
    exactly `times` times per execution of the statement.
    """

    buffer: Any
    value: Optional[Any]
    certain: bool
    times: int


def writes(stmt: Any, certain: bool = True, times: int = 1) -> Iterator[Write]:
    """The stores in `stmt` to elements of arrays and to registers, in program order."""
    kind = dialect.kind(stmt)
    if stmt is None:
        return
    if kind == "BufferStore":
        yield Write(dialect.buffer_of(stmt), stmt.value, certain, times)
    elif kind == "Evaluate":
        for buffer in results(stmt.value):
            yield Write(buffer, None, certain, times)
    elif kind == "SeqStmt":
        for part in stmt.seq:
            yield from writes(part, certain, times)
    elif kind == "For":
        trips = dialect.plain(stmt.extent)
        known = isinstance(trips, int) and not dialect.jumps(stmt.body)
        yield from writes(stmt.body, certain and known, times * (trips if known else 1))
    elif kind == "IfThenElse":
        always = dialect.plain(stmt.condition) in (True, 1)
        yield from writes(stmt.then_case, certain and always, times)
        yield from writes(stmt.else_case, False, times)
    else:
        inner = certain and kind != "While"
        for name in ("block", "init", "body"):
            yield from writes(getattr(stmt, name, None), inner, times)


def results(call: Any) -> Iterator[Any]:
    """The arrays that a call may write: address operands and destination registers."""
    if dialect.kind(call) != "Call":
        return
    name = dialect.op_name(call)
    _, instruction, words = name.partition("ptx.")
    for argument in call.args:
        if dialect.kind(argument) == "Call" and dialect.op_name(argument).endswith("address_of"):
            target = argument.args[0]
            if dialect.kind(target) in dialect.LOADS:
                yield dialect.buffer_of(target)
    if not instruction or words.split("_")[0] in _NO_RESULT:
        return
    if any(part in words for part in _NO_RESULT_PARTS):
        return
    for argument in call.args[:1] if words.split("_")[0] in _ONE_RESULT else call.args:
        if dialect.kind(argument) not in dialect.LOADS:
            return
        yield dialect.buffer_of(argument)
