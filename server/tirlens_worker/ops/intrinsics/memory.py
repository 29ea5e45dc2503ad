"""Loads and stores of one thread in the form of calls.

``ldg128`` loads 16 bytes of global memory for any element type of the pointer.  ``ptx_cp_async``
copies a few elements from global to shared memory without registers.  A predicate in the last
argument is a guard.

Sources: tilelang ``language/builtin.py``, ``language/tir/op.py`` and
``src/cuda/codegen/codegen_cuda.cc``; TVM ``tirx.ptx_cp_async``, ``tirx.s_tir.cp_async_raw``
(``backend/cuda/op.py``).
"""

from __future__ import annotations

import re
from typing import Any, Optional, Tuple

from ...facts import Access, AccessMode, Copy, Expr, Fill, Load, Statement, Store
from ..build import bits, label, lanes, not_understood, plus, short_name
from ..registry import Context, Region, Values, accounts, gives

_WIDTH = re.compile(r"(?:ldg|lds|stg|sts)(\d+)$")


@accounts("tl.ldg*", "tl.lds*", "tir.ptx_ldg32", "tir.s_tir.ldg32", "tir.ptx.ldg32")
def load(call: Any, context: Context) -> Statement:
    """A load of one thread through a pointer."""
    if not call.op.name.startswith("tl."):
        return _load_of_tvm(call, context)
    found = _wide_access(call, context, "read", values=0)
    if found is None:
        return not_understood(call, context, "the address is no element of a buffer")
    return Load(label=label(short_name(call.op.name), found[0]), accesses=(found[1],))


@accounts("tl.stg*", "tl.sts*")
def store(call: Any, context: Context) -> Statement:
    """A store of one thread through a pointer."""
    found = _wide_access(call, context, "write", values=1)
    if found is None:
        return not_understood(call, context, "the address is no element of a buffer")
    value = call.args[1:2]
    return Store(
        label=label(short_name(call.op.name), found[0]),
        arith=tuple(operation for node in value for operation in context.arith(node)),
        accesses=(*(access for node in value for access in context.accesses(node)), found[1]),
    )


@accounts("tl.__ldg", "tir.cuda.ldg")
def read_only_load(call: Any, context: Context) -> Statement:
    """``__ldg(pointer)``: a load through the read-only cache."""
    source = context.region(call.args[0])
    if source is None:
        return not_understood(call, context, "the address is no element of a buffer")
    return Load(
        label=label("__ldg", source),
        accesses=(lanes(source, "read", "thread", 1),),
        read_only=True,
    )


@gives("tl.__ldg", "tir.cuda.ldg")
def element_value(call: Any, values: Values) -> Optional[Expr]:
    """The element at the address, as a load of the language has it."""
    source = values.region(call.args[0])
    return None if source is None else ("load", source.buffer.id, *source.indices)


def _wide_access(
    call: Any, context: Context, mode: AccessMode, values: int
) -> Optional[Tuple[Region, Access]]:
    """The element at an address, and the access with the width in the name of the call."""
    found = _WIDTH.search(short_name(call.op.name))
    where = context.region(call.args[0])
    if where is None or found is None:
        return None
    width = max(int(found.group(1)) // bits(where.buffer.dtype), 1)
    guard = context.expr(call.args[1 + values]) if len(call.args) > 1 + values else None
    return where, _with_guard(lanes(where, mode, "thread", width), guard)


def _with_guard(access: Access, guard: Optional[Expr]) -> Access:
    if guard is None or guard in (True, 1, -1):
        return access
    return Access(
        buffer=access.buffer,
        mode=access.mode,
        indices=access.indices,
        lanes=access.lanes,
        guard=guard,
        route=access.route,
    )


def _load_of_tvm(call: Any, context: Context) -> Statement:
    """``ptx_ldg32(register, guard, element, register index)`` loads one 32-bit element."""
    source = next((found for found in map(context.region, call.args) if _is_global(found)), None)
    if source is None:
        return not_understood(call, context, "the address is no element of a buffer")
    guard = context.expr(call.args[1])
    return Load(
        label=label("ldg32", source),
        accesses=(_with_guard(lanes(source, "read", "thread", 1), guard),),
    )


def _is_global(region: Optional[Region]) -> bool:
    return region is not None and region.buffer.scope == "global"


@accounts("tl.ptx_cp_async", "tir.ptx_cp_async", "tir.ptx.cp_async", "tir.s_tir.cp_async_raw*")
def cp_async(call: Any, context: Context) -> Statement:
    """``cp.async``: (dst, src, size[, guard]), in tilelang's own form in elements, else in bytes.

    If the source begins outside the array, the code that tilelang generates reads nothing and fills
    the target with zeros (``RewriteCPAsync`` in ``legalize_safe_memory_access.cc``).

    TVM's legacy form has the element type first and an element offset after each data pointer:
    ([dtype,] dst, offset, src, offset, bytes[, guard]).
    """
    arguments = list(call.args)
    if isinstance(context.literal(arguments[0]), str):
        arguments = arguments[1:]
    target, source = context.region(arguments[0]), context.region(arguments[1])
    rest = arguments[2:]
    if call.op.name.rsplit(".", 1)[-1].startswith("cp_async_raw"):
        target = shift_region(target, context.expr(arguments[1]))
        source = shift_region(context.region(arguments[2]), context.expr(arguments[3]))
        rest = arguments[4:]
    size = context.literal(rest[0]) if rest else None
    if target is None or source is None or not isinstance(size, int):
        return not_understood(call, context, "not a constant size between two known buffers")
    in_elements = call.op.name == "tl.ptx_cp_async"
    count = size if in_elements else max(size * 8 // bits(source.buffer.dtype), 1)
    # The PTX form of TVM 0.26 has a cache policy there, and its predicate is the seventh argument.
    guards = arguments[6:7] if call.op.name == "tirx.ptx.cp_async" else rest[1:2]
    guard = context.expr(guards[0]) if guards else None
    # A source in the form of a data pointer has no guard.
    element = arguments[1].args[0]
    inside = (
        context.guard_of_load(element, guard)
        if in_elements and hasattr(element, "indices")
        else guard
    )
    return Copy(
        label=label("cp_async", source, target),
        accesses=(
            _with_guard(lanes(source, "read", "async", count), inside),
            _with_guard(lanes(target, "write", "async", count), guard),
        ),
    )


def shift_region(region: Optional[Region], offset: Expr) -> Optional[Region]:
    """The region with its corner `offset` elements further along the last dimension."""
    if region is None or offset == 0:
        return region
    last = plus(region.indices[-1], offset)
    return Region(region.buffer, (*region.indices[:-1], last), region.extents)


@accounts("tl.ptx_st_bulk_shared", "tir.ptx.st_bulk")
def bulk_clear(call: Any, context: Context) -> Statement:
    """``st.bulk``: one thread has a run of bytes of shared memory set to zero."""
    target = context.region(call.args[0])
    size = context.literal(call.args[1])
    if target is None or not isinstance(size, int):
        return not_understood(call, context, "no constant size of a known buffer")
    count = max(size * 8 // bits(target.buffer.dtype), 1)
    return Fill(
        label=label("st_bulk", target),
        accesses=(lanes(target, "write", "thread", count),),
    )
