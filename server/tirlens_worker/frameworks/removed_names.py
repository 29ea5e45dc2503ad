"""Names of apache-tvm 0.25 and 0.26 that 0.27 removed, with the meaning that they had.

Code that is written for a development version between two releases has names of both: it imports
``tvm.tirx.stmt_functor``, tests ``isinstance(x, tirx.BufferLoad)`` and annotates
``relax.Constant``.  The nodes are available under other names; the functors are written here on
the structural traversal that took their place.  The text is not changed.

Sources: apache-tvm 0.26, ``python/tvm/tirx/stmt_functor.py``, and 0.27, ``tvm_ffi/structural.py``.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set, Tuple

# By module: the attributes that it lost, and the modules that have them.
_MOVED: Mapping[str, Mapping[str, Tuple[str, str]]] = {
    "tvm.tirx": {
        "SBlock": ("tvm.s_tir", "SBlock"),
        "SBlockRealize": ("tvm.s_tir", "SBlockRealize"),
        "MatchBufferRegion": ("tvm.s_tir", "MatchBufferRegion"),
        "TensorIntrin": ("tvm.s_tir", "TensorIntrin"),
        "StringImm": ("tvm.ir", "StringImm"),
    },
    "tvm.relax": {
        "Constant": ("tvm.ir", "GenericConst"),
        "StringImm": ("tvm.ir", "StringImm"),
        "DataTypeImm": ("tvm.ir", "GenericConst"),
    },
    "tvm.ir": {
        "VDevice": ("tvm.relax", "VDevice"),
        "DummyGlobalInfo": ("tvm.relax", "DummyGlobalInfo"),
    },
}
_FUNCTORS = "tvm.tirx.stmt_functor"
# The methods of a visitor of 0.26 by the classes of the nodes that they visit.
_METHODS = {
    "Bind": "visit_bind_",
    "AttrStmt": "visit_attr_",
    "IfThenElse": "visit_if_then_else_",
    "For": "visit_for_",
    "While": "visit_while_",
    "Return": "visit_return_",
    "Break": "visit_break_",
    "Continue": "visit_continue_",
    "DeclBuffer": "visit_decl_buffer_",
    "BufferStore": "visit_buffer_store_",
    "AssertStmt": "visit_assert_",
    "SeqStmt": "visit_seqstmt_",
    "Evaluate": "visit_evaluate_",
    "SBlock": "visit_block_",
    "SBlockRealize": "visit_block_realize_",
    "ScopeIdDefStmt": "visit_scope_id_def_stmt_",
    "TilePrimitiveCall": "visit_op_call_",
    "AllocBuffer": "visit_alloc_buffer_",
    "Var": "visit_var_",
    "TensorLoad": "visit_buffer_load_",
    "Let": "visit_let_",
    "Call": "visit_call_",
    "Ramp": "visit_ramp_",
    "Broadcast": "visit_broadcast_",
    "Shuffle": "visit_shuffle_",
    "Cast": "visit_cast_",
    "Select": "visit_select_",
    "IntImm": "visit_int_imm_",
    "FloatImm": "visit_float_imm_",
    "StringImm": "visit_string_imm_",
}
_LEAVES = ("visit_var_", "visit_decl_buffer_", "visit_alloc_buffer_")


def install(tvm: ModuleType) -> None:
    """Add the removed names to `tvm`; no effect on a version that has them."""
    tirx: Any = getattr(tvm, "tirx", None)
    if not hasattr(getattr(tvm, "ir", None), "TensorLoad") or hasattr(tirx, "stmt_functor"):
        return
    for name, moved in _MOVED.items():
        module = sys.modules.get(name)
        if module is not None:
            _add_attributes(module, moved)
    functors = _functors(tvm)
    sys.modules[_FUNCTORS] = functors
    tirx.__dict__.update(stmt_functor=functors, BufferLoad=_load_class(tvm))


def post_order_visit(node: Any, visit: Callable[[Any], Any]) -> None:
    """Call `visit` with each part of an IR node after its own parts, in any version."""
    functors = getattr(tir_package(), "stmt_functor", None)
    if functors is None:
        functors = _functors(importlib.import_module("tvm"))
    functors.post_order_visit(node, visit)


def tir_package() -> Any:
    """``tvm.tirx``; ``tvm.tir`` of versions before the new name (tilelang 0.1.9 and earlier)."""
    tvm: Any = importlib.import_module("tvm")
    return tvm.tirx if hasattr(tvm, "tirx") else tvm.tir


def _add_attributes(module: ModuleType, moved: Mapping[str, Tuple[str, str]]) -> None:
    before = getattr(module, "__getattr__", None)

    def attribute(name: str) -> Any:
        if name in moved:
            home, word = moved[name]
            return getattr(importlib.import_module(home), word)
        if before is not None:
            return before(name)
        raise AttributeError("module {!r} has no attribute {!r}".format(module.__name__, name))

    module.__dict__["__getattr__"] = attribute


def _load_class(tvm: Any) -> Any:
    """``tirx.BufferLoad``: a function in 0.27, of whose results it is the class here."""
    make, load = tvm.tirx.BufferLoad, tvm.ir.TensorLoad

    class Loads(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, load)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return make(*args, **kwargs)

    if not hasattr(load, "buffer"):
        load.buffer = property(lambda node: node.source)
    for node in (load, tvm.tirx.BufferStore):
        if not hasattr(node, "predicate"):
            # The mask of a vector, which few backends had; None of every access without one.
            node.predicate = property(lambda _: None)
    return Loads("BufferLoad", (), {})


def _functors(tvm: Any) -> ModuleType:
    """The module of functors of statements and expressions."""
    ffi: Any = importlib.import_module("tvm_ffi")
    nodes: Tuple[Any, ...] = (tvm.ir.Expr, tvm.tirx.Stmt)

    def ir_transform(
        stmt: Any,
        preorder: Optional[Callable[[Any], Any]],
        postorder: Optional[Callable[[Any], Any]],
        only_enable: Optional[Iterable[str]] = None,
    ) -> Any:
        enabled = None if only_enable is None else set(only_enable)

        def change(node: Any, mutator: Any) -> Any:
            if enabled is not None and _type_key(node) not in enabled:
                return mutator.default_mutate(node)
            changed = None if preorder is None else preorder(node)
            if changed is not None:
                return changed
            node = mutator.default_mutate(node)
            changed = None if postorder is None else postorder(node)
            return node if changed is None else changed

        return ffi.structural_mutate(stmt, (nodes, change))

    def walk(node: Any, visit: Callable[[Any], Any], order: str) -> None:
        seen: Set[int] = set()

        def once(part: Any) -> Any:
            if hash(part) in seen:
                return None
            seen.add(hash(part))
            is_pruned = visit(part) is False and order == "pre"
            return ffi.WalkResult.SKIP if is_pruned else None

        ffi.structural_walk(node, (nodes, once), order=order)

    def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
        def value(part: Any) -> Any:
            return vmap.get(part, part)

        return ffi.structural_map(node, (tvm.ir.Var, value))

    def post_order_visit(node: Any, fvisit: Callable[[Any], Any]) -> None:
        walk(node, fvisit, "post")

    def pre_order_visit(node: Any, fvisit: Callable[[Any], Any]) -> None:
        walk(node, fvisit, "pre")

    visitor = _visitor(ffi, nodes)
    functors = ModuleType(_FUNCTORS)
    functors.__dict__.update(
        ir_transform=ir_transform,
        post_order_visit=post_order_visit,
        pre_order_visit=pre_order_visit,
        substitute=substitute,
        StmtVisitor=visitor,
        StmtExprVisitor=visitor,
    )
    return functors


def _type_key(node: Any) -> str:
    return str(getattr(node, "__tvm_ffi_type_info__").type_key)  # noqa: B009


def _visitor(ffi: Any, nodes: Tuple[Any, ...]) -> Any:
    """The class ``StmtExprVisitor``, whose methods visit the children of a node."""

    def visit_children(self: Any, op: Any) -> None:
        children: List[Any] = []

        def note(part: Any, visitor: Any) -> Any:
            if part.same_as(op):
                return visitor.default_visit(part)
            children.append(part)
            return None

        ffi.structural_visit(op, (nodes, note))
        for child in children:
            self.visit(child)

    def visit(self: Any, node: Any) -> Any:
        if node is None:
            return None
        for kind in type(node).__mro__:
            if kind.__name__ in _METHODS:
                return getattr(self, _METHODS[kind.__name__])(node)
        return visit_children(self, node)

    def visit_leaf(self: Any, op: Any) -> None:
        """A variable or a buffer's definition: shape and address, its type, are not visited."""

    methods: Dict[str, Any] = dict.fromkeys(_METHODS.values(), visit_children)
    methods.update(dict.fromkeys(_LEAVES, visit_leaf))
    methods.update(visit=visit, visit_stmt=visit, visit_expr=visit, __call__=visit)
    return type("StmtExprVisitor", (), methods)
