"""TIRx's repeated instructions, ``T.cuda.tile.apply(T.ptx["..."], operands, scope=..., ...)``.

The axes of an operand are those of the threads of the scope, the repetitions, and the elements of
one instruction.  Those accounted for here are issued by one thread for all of their elements:
copies by TMA, whose box and coordinates the call states, and products in tensor memory.  Others are
read as the instructions that TIRx makes of them (`frameworks.adapters.tile_calls`).

Source: apache-tvm-tirx 0.1.0a4, ``backend/cuda/tile/patterns/tma.py`` and ``tcgen05_mma.py``.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..facts import AccessMode, Arith, Copy, Expr, Gemm, Statement
from .build import access, elements, label, not_understood, times
from .registry import Context, Region, accounts
from .sync import signal

_TMA = ("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor")
_PRODUCT = "tcgen05.mma"
#: The beginnings of the instructions whose calls are accounted for here.
COUNTED_AS_CALLS = (*_TMA, _PRODUCT)


@accounts("tirx.cuda.tile.apply")
def repeat(call: Any, context: Context) -> Statement:
    """``apply(instruction, operands, parameters)``."""
    instruction = str(context.literal(call.args[0]))
    operands = [context.region(node) for node in call.args[1].fields]
    parameters = _parameters(call.args[2], context)
    if instruction.startswith(_TMA):
        return _copy(call, context, instruction, operands, parameters)
    if instruction.startswith(_PRODUCT):
        return _product(call, context, instruction, operands, parameters)
    return not_understood(call, context, "TIRx does not lower {}".format(instruction))


def _parameters(node: Any, context: Context) -> Dict[str, Any]:
    pairs = (pair.fields for pair in getattr(node, "fields", ()))
    return {str(context.literal(name)): value for name, value in pairs}


def _copy(
    call: Any,
    context: Context,
    instruction: str,
    operands: Sequence[Optional[Region]],
    parameters: Dict[str, Any],
) -> Statement:
    """Copies of boxes between a global array and shared memory, (destination, source)."""
    is_load = ".global" in instruction and not instruction.startswith("cp.reduce")
    is_load = is_load and instruction.index(".shared") < instruction.index(".global")
    tile, array = operands if is_load else operands[::-1]
    if tile is None:
        return not_understood(call, context, "an operand is no region of an array")
    box = _numbers(parameters.get("box"), context)
    corner = _numbers(parameters.get("coords"), context)
    accesses = [access(tile, "write" if is_load else "read", "tma")]
    if array is None or not len(box) == len(corner) == len(array.indices):
        context.add_caveat("the array of a tensor map is made elsewhere: its bytes are left out")
    else:
        origin = tuple(_plus(low, start) for low, start in zip(corner, array.indices))
        repeated = _repetitions(tile, box)
        extents = (times(box[0], repeated), *box[1:])
        reduces = instruction.startswith("cp.reduce")
        mode: AccessMode = "read" if is_load else "atomic" if reduces else "write"
        accesses.append(access(Region(array.buffer, origin, extents), mode, "tma"))
    barrier = parameters.get("mbar")
    brought = None if barrier is None else signal("bring", barrier, context)
    return Copy(
        label=label(_name(instruction), *filter(None, operands)),
        accesses=tuple(accesses[::-1] if is_load else accesses),
        signals=() if brought is None else (brought,),
    )


def _product(
    call: Any,
    context: Context,
    instruction: str,
    operands: Sequence[Optional[Region]],
    parameters: Dict[str, Any],
) -> Statement:
    """``tcgen05.mma`` on D of (..., m, n, rows, columns) and A of (..., m, k, rows, depth)."""
    shape = _numbers(parameters.get("instruction_shape"), context)
    known = [region for region in operands[:3] if region is not None]
    if len(known) < 3 or len(shape) != 3 or len(known[0].extents) < 4:
        return not_understood(call, context, "its operands are no regions of repeated tiles")
    d, a, b = known
    rows = 3 if len(a.extents) > len(d.extents) else 2
    m = times(*d.extents[:-3], shape[0])
    n, k = times(d.extents[-3], shape[1]), times(a.extents[-rows - 1], shape[2])
    return Gemm(
        label=label(_name(instruction), d, a, b),
        arith=(
            Arith(
                op="mma",
                dtype=_format(parameters, context) or a.buffer.dtype,
                accumulator=d.buffer.dtype,
                count=times(m, n, k),
                shape=(m, n, k),
            ),
        ),
        accesses=(
            access(a, "read", "mma"),
            access(b, "read", "mma"),
            *((access(d, "read", "mma"),) if "accum" in parameters else ()),
            access(d, "write", "mma"),
        ),
        m_n_k=(m, n, k),
        instruction="tcgen05",
        is_asynchronous=True,
    )


def _name(instruction: str) -> str:
    """The instruction without its modifiers."""
    return next(name for name in COUNTED_AS_CALLS if instruction.startswith(name))


def _format(parameters: Dict[str, Any], context: Context) -> Optional[str]:
    found = context.literal(parameters.get("a_format"))
    return found if isinstance(found, str) else None


def _numbers(node: Any, context: Context) -> Tuple[Expr, ...]:
    found: List[Any] = list(getattr(node, "fields", ()))
    return tuple(map(context.expr, found))


def _plus(left: Expr, right: Expr) -> Expr:
    return left if right == 0 else ("+", left, right)


def _repetitions(tile: Region, box: Tuple[Expr, ...]) -> int:
    """The number of copies of boxes that fill a tile in shared memory."""
    whole, one = elements(tile), times(*box)
    return max(whole // one, 1) if isinstance(whole, int) and isinstance(one, int) else 1
