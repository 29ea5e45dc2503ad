"""TVM 0.27's PTX dialect: one call per instruction, its modifiers as trailing strings.

``T.ptx.ld.global_.v2.b32(a, b, pointer)`` is the call ``tirx.ptx.ld_vec`` with the operands in
PTX's order, destinations first, and then the modifiers ``"global", "v2", "b32"``.  The first word
of the name is the operation, the last modifier with a type the type.  TVM 0.26 has the same
instructions without modifiers (``tirx.ptx.add_f32x2``).

Source: TVM ``backend/cuda/ptx/engine.py`` (calling convention) and ``ptx/table.py``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Iterable, Iterator, List, Optional, Tuple

from ...facts import Access, Arith, Call, Copy, Expr, Load, Route, Statement, Store
from ..atomic import update
from ..build import bits, label, lanes, not_understood, registers
from ..registry import Context, Region, accounts
from .mma import predicate, strings
from .tensor_map import tensor_copy

_ARITHMETIC = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "mul24": "mul",
    "mad": "fma",
    "mad24": "fma",
    "fma": "fma",
    "div": "div",
    "rem": "mod",
    "abs": "abs",
    "neg": "neg",
    "min": "min",
    "min3": "min",
    "max": "max",
    "max3": "max",
    "reduce3": "max",
    "rcp": "rcp",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "cos": "cos",
    "lg2": "log2",
    "ex2": "exp2",
    "exp2": "exp2",
    "tanh": "tanh",
    "copysign": "bitwise",
    "sad": "add",
    "dp4a": "fma",
    "dp2a": "fma",
    "cvt": "cast",
    "set": "compare",
    "setp": "compare",
    "testp": "compare",
    "selp": "select",
    "slct": "select",
    "shl": "shift",
    "shr": "shift",
    "shf": "shift",
}
_BITWISE = "and or xor not cnot lop3 prmt bfe bfi bfind bmsk brev clz popc fns szext clmad"
_EXCHANGE = "shfl vote match redux activemask elect any"
_ARITHMETIC.update(dict.fromkeys(_BITWISE.split(), "bitwise"))
_ARITHMETIC.update(dict.fromkeys(_EXCHANGE.split(), "shuffle"))

#: The operators of instructions on two integers, and of ``mad`` on the first two of three.
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "mad": "*",
    "min": "min",
    "max": "max",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
}

_FREE = {"cvta", "mapa", "isspacep", "getctarank", "createpolicy", "addr", "fetch", "map"}

_TYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "tf32": "float32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "pred": "bool",
}
_INTEGER = re.compile(r"^([sub])(8|16|32|64|128)$")
_PACKED = re.compile(r"^(\w+?\d)x([248])$")
_VECTOR = re.compile(r"^v([248])$")


@accounts("tir.ptx.*")
def instruction(call: Any, context: Context) -> Statement:
    """An instruction of PTX by its name and operands."""
    words = call.op.name.split("ptx.", 1)[1].split("_")
    modifiers = strings(call, context)
    family = words[0]
    if family == "mapa":
        context.assign_pointer(call.args[0], call.args[1])
    if family in _FREE:
        return Call(label=_text(words, modifiers))
    if family == "mov":
        return _move(call, context, words, modifiers)
    if family in _ARITHMETIC:
        return _arithmetic(call, context, words, modifiers)
    if family in ("ld", "ldu", "st", "multimem"):
        return _memory(call, context, words, modifiers)
    if family in ("atom", "red"):
        return _atomic(call, context, words, modifiers)
    if family == "cp":
        return _bulk(call, context, words, modifiers)
    return not_understood(call, context, "an instruction that is not known")


def _text(words: List[str], modifiers: List[str]) -> str:
    return "T.ptx." + ".".join([words[0], *modifiers] if modifiers else words) + "()"


def _element(words: List[str]) -> Tuple[str, int]:
    """The type in the last of `words` that has one, and its number of packed values."""
    for word in reversed(words):
        packed = _PACKED.match(word)
        name, width = (packed.group(1), int(packed.group(2))) if packed else (word, 1)
        if name in _TYPES:
            return _TYPES[name], width
        integer = _INTEGER.match(name)
        if integer:
            return ("int" if integer.group(1) == "s" else "uint") + integer.group(2), width
    return "uint32", 1


def _arithmetic(call: Any, context: Context, words: List[str], modifiers: List[str]) -> Statement:
    operation = _ARITHMETIC[words[0]]
    dtype, width = _element([*words, *modifiers])
    result = _result(call, context, words, modifiers) if "int" in dtype and width == 1 else None
    if result is not None:
        context.assign(call.args[0], result)
    count = {"dp4a": 4, "dp2a": 2}.get(words[0], width)
    arith = Arith(op=operation, dtype=dtype, count=count)
    if operation == "cast":
        arith = replace(arith, count=1, accumulator=_target(words, modifiers))
    return Call(
        label=_text(words, modifiers),
        arith=(arith, *_of_operands(call.args[1:], context)),
        accesses=(
            *(read for node in call.args[1:] for read in context.accesses(node)),
            *(
                lanes(region, "write", "thread", 1)
                for region in (context.region(call.args[0]),)
                if region
            ),
        ),
    )


def _target(words: List[str], modifiers: List[str]) -> Optional[str]:
    """The result type of a conversion, which precedes the operand type in its name.

    One instruction converts a pair.
    """
    named = [word for word in (*words, *modifiers) if _names_type(word)]
    return _element(named[-2:-1])[0] if len(named) > 1 else None


def _names_type(word: str) -> bool:
    packed = _PACKED.match(word)
    name = packed.group(1) if packed else word
    return name in _TYPES or _INTEGER.match(name) is not None


def _of_operands(nodes: Iterable[Any], context: Context) -> Iterator[Arith]:
    """The arithmetic of operands that are expressions, not registers or memory."""
    for node in nodes:
        if context.region(node) is None and not isinstance(context.literal(node), str):
            yield from context.arith(node)


def _move(call: Any, context: Context, words: List[str], modifiers: List[str]) -> Statement:
    """``mov``, which has only the cost of its operand.

    The destinations of an unpacking come first.
    """
    count = 1
    if "unpack" in words:
        parts = map(_PACKED.match, (*words, *modifiers))
        count = next((int(found.group(2)) for found in parts if found), 1)
    targets = filter(None, map(context.region, call.args[:count]))
    sources = call.args[count:]
    return Call(
        label=_text(words, modifiers),
        arith=tuple(_of_operands(sources, context)),
        accesses=(
            *(read for node in sources for read in context.accesses(node)),
            *(lanes(target, "write", "thread", 1) for target in targets),
        ),
    )


def _result(call: Any, context: Context, words: List[str], modifiers: List[str]) -> Optional[Expr]:
    """The result of an integer instruction as an expression; None if it has no such form."""
    operator = _OPERATORS.get(words[0])
    operands = [node for node in call.args[1:] if not isinstance(context.literal(node), str)]
    partial = "hi" in modifiers or "hi" in words or predicate(call, context) is not None
    if operator is None or partial or len(operands) != (3 if words[0] == "mad" else 2):
        return None
    left, right, *added = map(context.expr, operands)
    value = (operator, left, right)
    return ("+", value, added[0]) if added else value


def _memory(call: Any, context: Context, words: List[str], modifiers: List[str]) -> Statement:
    writing = words[0] == "st" or "st" in words or "red" in words
    where = _pointer(call, context)
    if where is None and "async" in words:
        # A store of a few registers to the shared memory of another block of the cluster.
        return Call(label=_text(words, modifiers))
    if where is None:
        return not_understood(call, context, "the address is no element of a buffer")
    dtype, packed = _element([*words, *modifiers])
    vector = next((int(found.group(1)) for found in map(_VECTOR.match, modifiers) if found), 1)
    size = max(bits(dtype) * packed * vector // bits(where.buffer.dtype), 1)
    single = vector == packed == 1 and predicate(call, context) is None
    if not writing and single and "int" in dtype:
        # The value of a loaded index is a load expression.
        context.assign(call.args[0], ("load", where.buffer.id, *where.indices))
    text = _text(words, modifiers)
    if writing:
        return Store(
            label=text,
            arith=tuple(_of_operands(call.args, context)),
            accesses=(
                lanes(where, "write", "thread", size),
                *registers(call, context, "read"),
            ),
        )
    return Load(
        label=text,
        accesses=(lanes(where, "read", "thread", size), *registers(call, context, "write")),
        read_only="nc" in words or "nc" in modifiers,
    )


def _atomic(call: Any, context: Context, words: List[str], modifiers: List[str]) -> Statement:
    where = _pointer(call, context)
    if where is None:
        return not_understood(call, context, "the address is no element of a buffer")
    kind = next(
        (word for word in modifiers if word in ("add", "min", "max", "and", "or", "xor", "cas")),
        "exch",
    )
    vector = next((int(found.group(1)) for found in map(_VECTOR.match, modifiers) if found), 1)
    return update(context, "atomic_" + kind, where, (), vector * _element(modifiers)[1])


def _bulk(call: Any, context: Context, words: List[str], modifiers: List[str]) -> Statement:
    """``cp.async`` and ``cp.async.bulk``: destination, source, bytes."""
    found = [region for region in map(context.region, call.args) if region is not None]
    target = next((region for region in found if region.buffer.scope.startswith("shared")), None)
    source = next((region for region in found if region.buffer.scope == "global"), None)
    size = next(filter(None, (_size(context.literal(node)) for node in call.args)), None)
    if "tensor" in words:
        return tensor_copy(call, context, words, modifiers)
    if target is None or source is None or size is None:
        return not_understood(call, context, "not a constant size between two known buffers")
    if "s2g" in words:
        target, source = source, target
    route: Route = "tma" if "bulk" in words else "async"
    accesses: List[Access] = [
        lanes(source, "read", route, max(size * 8 // bits(source.buffer.dtype), 1)),
        lanes(target, "write", route, max(size * 8 // bits(target.buffer.dtype), 1)),
    ]
    return Copy(label=label("ptx.cp.async", source, target), accesses=tuple(accesses))


def _size(value: Any) -> Optional[int]:
    """The bytes of a copy; None for smaller constants, which are flags."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 4 else None


def _pointer(call: Any, context: Context) -> Optional[Region]:
    """The memory operand: the last one that is not an array of registers."""
    found = [region for region in map(context.region, call.args) if region is not None]
    outside = [region for region in found if not region.buffer.scope.startswith("local")]
    return outside[-1] if outside else None
