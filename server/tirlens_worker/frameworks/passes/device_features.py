"""The features of GPUs that the instructions in a kernel's source require.

What a framework chooses for a device, such as the instructions of ``T.gemm`` and ``T.copy``, is no
requirement.  Names of operations: tilelang ``src/op/builtin.cc``; TVM ``src/tirx/op/builtin.cc``.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from ...facts import Requirement, Span
from ..adapters.visits import visit_parts

Sites = Tuple[Span, ...]

# The features of operations by their canonical names, in this order.
_OPERATIONS: Tuple[Tuple["re.Pattern[str]", str], ...] = (
    (re.compile(r"tcgen05|tensor_memory|tmem"), "tcgen05"),
    (re.compile(r"wgmma|warpgroup_(arrive|commit|wait)"), "wgmma"),
    (re.compile(r"cp_async_bulk|^tma_|tensormap_replace"), "tma"),
    (re.compile(r"^clusterlaunchcontrol|^clc_try_cancel"), "clusterlaunchcontrol"),
    (re.compile(r"cluster_(arrive|wait|sync)|^barrier_cluster|^mapa"), "cluster"),
    (re.compile(r"cp_async|^async_copy$"), "cp.async"),
    (re.compile(r"stmatrix"), "stmatrix"),
    (re.compile(r"ldmatrix"), "ldmatrix"),
    (re.compile(r"^mma_sp|^ptx_mma_sp"), "mma.sp"),
    (re.compile(r"mfma"), "mfma"),
)
_MATRIX_PRODUCT = re.compile(r"^(ptx_)?mma(_|$)")
_NAMESPACES = re.compile(r"^(tl|tir|tirx|prim)\.(tileop\.|ptx\.|cuda\.|tile\.)?")
# Types of operands in the arguments of ``mma.sync``, in PTX's and the frameworks' spelling.
_TYPES: Tuple[Tuple["re.Pattern[str]", str], ...] = (
    (re.compile(r"^(e4m3|e5m2|float8|fp8)"), "float8"),
    (re.compile(r"^(e2m1|e3m2|e2m3|float4|float6|fp4)"), "float4"),
    (re.compile(r"^(bf16|bfloat16)"), "bfloat16"),
    (re.compile(r"^tf32"), "tf32"),
    (re.compile(r"^(f64|fp64|float64)"), "float64"),
)
# Statements that have expressions.
_STATEMENTS = frozenset(
    [
        "AssertStmt",
        "AttrStmt",
        "Bind",
        "BufferStore",
        "Evaluate",
        "For",
        "IfThenElse",
        "LetStmt",
        "TensorStore",
        "While",
    ]
)
_TENSOR_MEMORY = ("tmem", "shared.tmem")


def required_features(body: Any, sites_of: Callable[[Any], Sites]) -> Tuple[Requirement, ...]:
    """The features that the statements of `body` require, each with its first statement."""
    found: Dict[str, Optional[Span]] = {}
    # Those of expressions whose statement is visited next.
    pending: List[str] = []

    def visit(node: Any) -> None:
        kind = type(node).__name__
        if kind == "Call":
            feature = _of_call(node)
            if feature is not None:
                pending.append(feature)
            return
        if kind == "TilePrimitiveCall":
            pending.extend(_of_dispatch(str(getattr(node, "dispatch", None) or "")))
        elif kind in ("AllocBuffer", "DeclBuffer"):
            scope = getattr(node.buffer, "scope", "")
            if str(scope() if callable(scope) else scope) in _TENSOR_MEMORY:
                pending.append("tcgen05")
        elif kind not in _STATEMENTS:
            return
        if pending:
            sites = sites_of(node)
            for feature in pending:
                found.setdefault(feature, sites[0] if sites else None)
            pending.clear()

    visit_parts(body, visit)
    for feature in pending:
        found.setdefault(feature, None)
    return tuple(Requirement(feature, span) for feature, span in found.items())


def _of_call(call: Any) -> Optional[str]:
    name = str(getattr(call.op, "name", ""))
    short = _NAMESPACES.sub("", name)
    if not name or short == name:
        return None
    if short.startswith("gemm"):
        return _of_operands(call)
    if _MATRIX_PRODUCT.match(short) and "sp" not in short:
        return _of_types(call)
    return next((feature for pattern, feature in _OPERATIONS if pattern.search(short)), None)


def _of_operands(call: Any) -> Optional[str]:
    """The feature of a product of tiles, whose instructions multiply elements of these types."""
    loads = [region.args[0] for region in call.args[:2] if len(getattr(region, "args", ())) > 0]
    types = {str(getattr(getattr(load, "buffer", None), "dtype", "")) for load in loads}
    if len(loads) == 2 and all(name.startswith("float8") for name in types):
        return "mma.float8"
    return "mma.bfloat16" if types == {"bfloat16"} else None


def _of_types(call: Any) -> Optional[str]:
    """The feature of a matrix instruction by the types of its operands."""
    texts = [str(getattr(item, "value", "")) for item in call.args]
    for pattern, feature in _TYPES:
        if any(map(pattern.match, texts)):
            return "mma." + feature
    return None


def _of_dispatch(dispatch: str) -> List[str]:
    """The feature of the implementation that a tile operation of TIRx names."""
    for word, feature in (("tcgen05", "tcgen05"), ("wgmma", "wgmma"), ("tma", "tma")):
        if dispatch.startswith(word):
            return [feature]
    return []
