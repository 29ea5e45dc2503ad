"""TVM's tile primitives: ``Tx.cta.copy``, ``Tx.warp.gemm``, ``Tx.wg.sum``, ``Tx.add`` and so on.

A `TilePrimitiveCall` names its execution scope: a thread, a warp, a warpgroup, the block (``cta``)
or the cluster do it together once.  Its regions give the elements: an elementwise operation is
performed once per element of its output, a reduction once per element of its input, a product has
the M and N of its output and the K of its operands.

Sources: TVM ``tirx/operator/tile_primitive/ops.py`` (argument order), ``tirx/tile_primitive.py``.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ..facts import Arith, Copy, Executor, Expr, Fill, Gemm, Map, Reduce, Route, Statement
from .build import access, elements, label, not_understood, short_name, times
from .registry import Context, Region, accounts
from .sync import signal

_PER: Dict[str, Executor] = {
    "": "thread",
    "thread": "thread",
    "warp": "warp",
    "warpgroup": "warpgroup",
    "wg": "warpgroup",
    "cta": "block",
    "block": "block",
    "cluster": "block",
}

# What one element costs; silu is x * sigmoid(x).
_ELEMENTWISE = {
    "zero": (),
    "fill": (),
    "memset": (),
    "sqrt": ("sqrt",),
    "exp": ("exp",),
    "exp2": ("exp2",),
    "log2": ("log2",),
    "reciprocal": ("rcp",),
    "silu": ("sigmoid", "mul"),
    "add": ("add",),
    "sub": ("sub",),
    "mul": ("mul",),
    "fdiv": ("div",),
    "fma": ("fma",),
    "maximum": ("max",),
    "minimum": ("min",),
    "max": ("max",),
    "min": ("min",),
    "sum": ("add",),
    "select": ("select",),
    "cast": ("cast",),
}
_WITH_BIAS_AND_SCALE = ("sqrt", "exp", "exp2", "log2")


def per(call: Any, context: Context) -> Executor:
    """The executor of a primitive (`Statement.per`)."""
    scope = getattr(call, "scope", None)
    name = str(getattr(scope, "name", scope) or "")
    if name == "cluster":
        context.add_caveat("a cluster's operation is counted once for each of its blocks")
    return _PER.get(name, "block")


@accounts("tirx.tile.copy", "tirx.tile.copy_async", "tirx.tile.permute_layout")
def copy(call: Any, context: Context) -> Statement:
    """``copy(dst, src)``: each element once."""
    target, source = context.region(call.args[0]), context.region(call.args[1])
    if target is None or source is None:
        return not_understood(call, context, "an operand is no region of a buffer")
    name = short_name(call.op.name)
    route: Route = "async" if name == "copy_async" else "tile"
    if name == "copy_async" and _dispatch(call).startswith("tma"):
        # One thread issues the copy, which TMA executes.
        route = "tma"
    scopes = {source.buffer.scope.partition(".")[0], target.buffer.scope.partition(".")[0]}
    if route == "tile" and not _dispatch(call) and scopes == {"global", "shared"}:
        context.add_caveat(
            "which variant of the copy TVM chooses is not known: counted with vectors by all of "
            "its threads, where TVM's fallback copies by single threads, element by element"
        )
    barrier = _option(call, "mbar")
    brought = None if barrier is None else signal("bring", barrier, context)
    arith: Tuple[Arith, ...] = ()
    if source.buffer.dtype != target.buffer.dtype:
        arith = (
            Arith(
                op="cast",
                dtype=source.buffer.dtype,
                accumulator=target.buffer.dtype,
                count=elements(target),
            ),
        )
    return Copy(
        label=label(name, target, source),
        arith=arith,
        accesses=(access(source, "read", route), access(target, "write", route)),
        per=per(call, context),
        signals=() if brought is None else (brought,),
    )


def _dispatch(call: Any) -> str:
    """The variant of a primitive that the source asks for: ``tma_auto``, ``tcgen05``."""
    return str(getattr(call, "dispatch", None) or "")


def _option(call: Any, name: str) -> Any:
    """An option of a primitive; None without it."""
    options: Any = getattr(call, "config", None)
    return options[name] if options is not None and name in options else None


@accounts("tirx.tile.gemm", "tirx.tile.gemm_async")
def gemm(call: Any, context: Context) -> Statement:
    """``gemm(D, A, B, C, transA, transB, ...)`` and ``gemm_async(C, A, B[, SFA, SFB], ...)``."""
    asynchronous = call.op.name.endswith("gemm_async")
    is_tcgen05 = asynchronous and _dispatch(call).startswith("tcgen05")
    d, a, b = (context.region(node) for node in call.args[:3])
    if d is None or a is None or b is None:
        return not_understood(call, context, "an operand is no region of a buffer")
    scaled = asynchronous and len(call.args) == 8
    first = 5 if scaled else 3 if asynchronous else 4
    m, n = _matrix(d)
    rows, columns = _matrix(a)
    k = rows if context.literal(call.args[first]) else columns
    if is_tcgen05 and context.literal(_option(call, "cta_group")) == 2:
        # One of two blocks multiplies the rows of both (PTX ISA, ``.cta_group::2``).
        m = times(m, 2)
    accumulate = call.args[7 if scaled else 5] if asynchronous else None
    others = [context.region(node) for node in call.args[3 : 5 if scaled else 4]]
    reads = (
        [] if asynchronous and not scaled else [region for region in others if region is not None]
    )
    if asynchronous and context.literal(accumulate) not in (False, 0):
        reads.append(d)
    return Gemm(
        label=label(short_name(call.op.name), d, a, b),
        arith=(
            Arith(
                op="mma",
                dtype=a.buffer.dtype,
                accumulator=d.buffer.dtype,
                count=times(m, n, k),
                shape=(m, n, k),
            ),
        ),
        accesses=(
            access(a, "read", "mma"),
            access(b, "read", "mma"),
            *(access(region, "read", "mma") for region in reads),
            access(d, "write", "mma"),
        ),
        per=per(call, context),
        m_n_k=(m, n, k),
        instruction="tcgen05" if is_tcgen05 else None,
        is_asynchronous=is_tcgen05,
    )


def _matrix(region: Region) -> Tuple[Expr, Expr]:
    """Rows and columns: the last two dimensions that are not 1, else the last two."""
    wide = [extent for extent in region.extents if extent != 1]
    chosen = wide[-2:] if len(wide) >= 2 else list(region.extents[-2:])
    return (1, chosen[0]) if len(chosen) == 1 else (chosen[0], chosen[1])


@accounts("tirx.tile.*")
def elementwise(call: Any, context: Context) -> Statement:
    """An operation on each element of the output, of one operand or two."""
    name = short_name(call.op.name)
    if name not in _ELEMENTWISE:
        return not_understood(call, context, "an operation that is not known")
    target = context.region(call.args[0])
    sources = [region for region in map(context.region, call.args[1:]) if region is not None]
    if target is None:
        return not_understood(call, context, "the target is no region of a buffer")
    reducing = name in ("sum", "max", "min") and bool(sources)
    # The type of a conversion is that of its operand.
    over = sources[0] if sources and (reducing or name == "cast") else target
    reads = [access(region, "read", "tile") for region in sources]
    if reducing and len(call.args) > 3 and context.literal(call.args[3]):
        reads.append(access(target, "read", "tile"))
    made = Reduce if reducing else Map if _ELEMENTWISE[name] else Fill
    return made(
        label=label(name, target, *sources),
        arith=(*_scale_operations(call, context, name, target), *_each(name, over, target)),
        accesses=(*reads, access(target, "write", "tile")),
        per=per(call, context),
    )


def _each(name: str, over: Region, target: Region) -> List[Arith]:
    return [
        Arith(
            op=operation,
            dtype=over.buffer.dtype,
            count=elements(over),
            accumulator=target.buffer.dtype if operation == "cast" else None,
        )
        for operation in _ELEMENTWISE[name]
    ]


def _scale_operations(call: Any, context: Context, name: str, target: Region) -> Tuple[Arith, ...]:
    """The multiply-add of ``exp(out, in, bias, scale)`` with a bias or scale."""
    if name not in _WITH_BIAS_AND_SCALE or len(call.args) < 4:
        return ()
    if _absent(call.args[2], context) and _absent(call.args[3], context):
        return ()
    return (Arith(op="fma", dtype=target.buffer.dtype, count=elements(target)),)


def _absent(node: Optional[Any], context: Context) -> bool:
    return node is None or (context.region(node) is None and context.literal(node) in (None, 0, 1))


@accounts("tirx.tile.binary_reduce", "tirx.tile.unary_reduce")
@accounts("tirx.tile.binary_chain", "tirx.tile.reduce_negate")
def composition(call: Any, context: Context) -> Statement:
    """Compositions: each of their operations once per element of the elementwise output."""
    found = [region for region in map(context.region, call.args) if region is not None]
    name = short_name(call.op.name)
    if len(found) < 2:
        return not_understood(call, context, "an operand is no region of a buffer")
    outputs = 2 if name.endswith("y_reduce") else 1
    over = found[1] if name == "reduce_negate" else found[0]
    arith = [
        Arith(op=operation, dtype=over.buffer.dtype, count=elements(over))
        for node in call.args
        for operation in _ELEMENTWISE.get(short_name(_operation_name(node)), ())
    ]
    if name == "reduce_negate":
        arith.append(Arith(op="neg", dtype=over.buffer.dtype, count=elements(found[0])))
    return Map(
        label=label(name, *found[:outputs]),
        arith=tuple(arith),
        accesses=(
            *(access(region, "read", "tile") for region in found[outputs:]),
            *(access(region, "write", "tile") for region in found[:outputs]),
        ),
        per=per(call, context),
    )


def _operation_name(node: Any) -> str:
    return str(getattr(node, "name", getattr(node, "value", "")))
