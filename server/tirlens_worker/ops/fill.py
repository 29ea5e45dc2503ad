"""``T.fill`` and ``T.clear``: the threads of a block write one value to every element of a tile.

Source: tilelang ``src/op/fill.cc`` (MakeSIMTLoop; a global target is guarded by its bounds).
"""

from __future__ import annotations

from typing import Any

from ..facts import Fill, Statement
from .build import access, executor, label, not_understood
from .registry import Context, accounts


@accounts("tl.tileop.fill")
def fill(call: Any, context: Context) -> Statement:
    """``T.fill(dst, value)``: a store to each element, with the arithmetic of the value."""
    target = context.region(call.args[0])
    if target is None:
        return not_understood(call, context, "the target is no region of a buffer")
    value = call.args[1]
    name = "clear" if context.literal(value) == 0 else "fill"
    return Fill(
        label=label(name, target),
        arith=context.arith(value),
        accesses=(*context.accesses(value), access(target, "write", "tile")),
        per=executor(target),
    )
