"""Atomic operations: tilelang's tile and element forms, TVM's and CUDA's calls by name.

A tile form (``T.atomic_add(C[...], C_tile)``) updates each element of its target once per block;
an element form one element, or 2 or 4 adjacent ones (``x2``, ``x4``), per thread.  An update is one
operation of the memory system on the element's type and one access in mode ``atomic``.  Its result,
the element before the update, differs each time; that of an atomic load is the element.

Sources: tilelang ``language/atomic.py``, ``src/op/atomic_add.cc``, ``src/op/atomic_reduce.cc``
(arguments: value, then target), ``src/op/builtin.cc`` (target pointer, value, memory order); TVM
``tirx.atomic_add`` and ``tirx.cuda.atomic_add`` (target, value).
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..facts import Access, Arith, Atomic, Expr, Route, Statement
from .build import access, elements, elements_inside, hints_of, label, lanes, not_understood
from .registry import Context, Region, Values, accounts, gives

_KINDS = (("add", "add"), ("max", "max"), ("min", "min"), ("or", "bitwise"), ("and", "bitwise"))


@accounts("tl.tileop.atomicadd", "tl.tileop.atomicmax", "tl.tileop.atomicmin")
def tile(call: Any, context: Context) -> Statement:
    """``atomic_add(value, target)`` of two tiles: one update of each element per block."""
    source, target = context.region(call.args[0]), context.region(call.args[1])
    if target is None:
        return not_understood(call, context, "the target is no region of a buffer")
    route: Route = "tma" if "use_tma" in hints_of(call) else "tile"
    reads: Tuple[Access, ...] = context.accesses(call.args[0])
    if source is not None:
        reads = (access(source, "read", route),)
    if source is not None and elements(target) == 1 and len(source.extents) <= len(target.extents):
        # If the target is only the first element, the extents are those of the source.
        missing = len(target.extents) - len(source.extents)
        target = Region(target.buffer, target.indices, (1,) * missing + source.extents)
    count = elements_inside(context, target)
    kind = call.op.name.rsplit("atomic", 1)[-1]
    return Atomic(
        label=label("atomic_" + kind, target),
        arith=(Arith(op=_operation(kind), dtype=target.buffer.dtype, count=count),),
        accesses=(*reads, access(target, "atomic", route)),
        per="block",
    )


@accounts("tl.atomic_*", "tir.atomic_add", "tirx.cuda.atomic_add", "tirx.cuda.atomic_cas")
def element(call: Any, context: Context) -> Statement:
    """An update of one element, or of 2 or 4 adjacent ones, by each thread."""
    target = context.region(call.args[0])
    name = call.op.name.rsplit(".", 1)[-1].replace("_elem_op", "").replace("_ret", "")
    if target is None:
        return not_understood(call, context, "the target is no element of a buffer")
    if name == "atomic_load":
        return Atomic(label=label(name, target), accesses=(lanes(target, "read", "thread", 1),))
    if name == "atomic_store":
        value = call.args[1]
        return Atomic(
            label=label(name, target),
            arith=context.arith(value),
            accesses=(*context.accesses(value), lanes(target, "write", "thread", 1)),
        )
    width = 4 if name.endswith("x4") else 2 if name.endswith("x2") else 1
    return update(context, name, target, call.args[1:2], width)


@gives("tl.atomic_load_elem_op")
def element_value(call: Any, values: Values) -> Optional[Expr]:
    """The element, as a load of the language has it."""
    source = values.region(call.args[0])
    return None if source is None else ("load", source.buffer.id, *source.indices)


def update(context: Context, name: str, target: Any, values: Any, width: int = 1) -> Statement:
    """One thread's atomic update of `width` adjacent elements with `values`."""
    arith: Tuple[Arith, ...] = ()
    reads: Tuple[Access, ...] = ()
    for value in values:
        source = context.region(value) if width > 1 else None
        if source is not None:
            reads += (lanes(source, "read", "thread", width),)
        else:
            arith += context.arith(value)
            reads += context.accesses(value)
    operation = Arith(op=_operation(name), dtype=target.buffer.dtype, count=width)
    return Atomic(
        label=label(name, target),
        arith=(*arith, operation),
        accesses=(*reads, lanes(target, "atomic", "thread", width)),
    )


def _operation(name: str) -> str:
    lowered = name.lower()
    for part, operation in _KINDS:
        if part in lowered:
            return operation
    return "compare" if "cas" in lowered else "bitwise"
