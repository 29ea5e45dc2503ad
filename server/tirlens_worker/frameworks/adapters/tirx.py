"""The IR of TIRx as a package of its own (apache-tvm-tirx, module ``tvm_tirx``).

A kernel is a region ``device_entry`` whose operands are the launch; threads ask for their indices
by calls (``T.cuda.block_idx("x")``).  Arrays are variables of a `TensorType` that bindings of
allocations and views introduce.

Sources: apache-tvm-tirx 0.1.0a4, ``ir/stmt.py`` (statements), ``ir/location.py``,
``tirx/tensor.py``, ``backend/cuda/launch/table.py`` (operands of a launch).
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..ir import dialect
from . import nodes
from .tile_calls import TileCalls

_LAUNCHES = ("tirx.device_entry", "tirx.device_scope")
#: Regions whose bodies are executed as they are.
_TRANSPARENT = ("tirx.compute_scope", "tirx.device_context", "tirx.parallel_launch")
_ALLOCATIONS = ("tirx.alloc_tensor", "tirx.alloc_workspace")
#: Views of memory at an address, which in tensor memory is a number.
_VIEWS = ("tirx.decl_tensor", "tirx.cuda.decl_tmem")
#: The names of the launch's variables, by the tags of the indices.
_NAMES = dict(
    zip((*dialect.BLOCK_TAGS, *dialect.THREAD_TAGS), ("bx", "by", "bz", "tx", "ty", "tz"))
)


def is_function(value: Any) -> bool:
    """Whether `value` is a function of TIRx."""
    module = str(type(value).__module__)
    return dialect.kind(value) == "Function" and module.startswith("tvm_tirx.tirx.")


def adapt(function: Any) -> nodes.PrimFunc:
    """The function with the statements of `nodes`; its tile operations are instructions."""
    launches = (stmt for stmt in dialect.statements(function.body) if _is_launch(stmt))
    launch = next(launches, None)
    tile_calls = TileCalls(function)
    adapter = _Adapter(tile_calls, None if launch is None else spans_of(launch))
    attributes = dialect.attributes(function)
    body = adapter.statement(tile_calls.body)
    return nodes.PrimFunc(function.params, body, attributes, function)


def _is_launch(stmt: Any) -> bool:
    return dialect.kind(stmt) == "RegionStmt" and dialect.op_name(stmt) in _LAUNCHES


class _Adapter:
    """Translates statements; `launch_span` is the source of the launch."""

    def __init__(self, tile_calls: TileCalls, launch_span: Optional[nodes.Spans]) -> None:
        self._tile_calls = tile_calls
        self._launch_span = launch_span
        self._translations: Dict[str, Callable[[Any], Any]] = {
            "SeqStmt": lambda stmt: nodes.SeqStmt(tuple(map(self.statement, stmt.seq))),
            "Bind": _bind,
            "TensorStore": lambda stmt: nodes.BufferStore(
                stmt.dest, stmt.indices, stmt.value, spans_of(stmt)
            ),
            "Evaluate": self._evaluate,
            "AssertStmt": lambda stmt: nodes.AssertStmt(stmt.condition, spans_of(stmt)),
            "For": self._for,
            "While": lambda stmt: nodes.While(
                stmt.condition, self.statement(stmt.body), spans_of(stmt, stmt.condition)
            ),
            "If": self._if,
            "Break": lambda stmt: nodes.Break(spans_of(stmt)),
            "Continue": lambda stmt: nodes.Continue(spans_of(stmt)),
            "Return": lambda stmt: nodes.Return(stmt.value, spans_of(stmt)),
            "RegionStmt": self._region,
        }

    def statement(self, stmt: Any) -> Any:
        """The statement of `nodes`; the statement itself if its class is not known."""
        translate = self._translations.get(dialect.kind(stmt))
        return stmt if translate is None else translate(stmt)

    def _evaluate(self, stmt: Any) -> nodes.Evaluate:
        value = stmt.value
        if dialect.kind(value) == "Call":
            value = self._tile_calls.original(value)
        return nodes.Evaluate(value, spans_of(stmt, value))

    def _if(self, stmt: Any) -> nodes.IfThenElse:
        other = None if stmt.else_case is None else self.statement(stmt.else_case)
        then = self.statement(stmt.then_case)
        return nodes.IfThenElse(stmt.condition, _only(then), other, spans_of(stmt, stmt.condition))

    def _for(self, stmt: Any) -> nodes.For:
        begin = dialect.plain(stmt.begin)
        return nodes.For(
            stmt.var,
            stmt.begin,
            stmt.end if begin == 0 else stmt.end - stmt.begin,
            int(stmt.kind),
            self.statement(stmt.body),
            step=stmt.step,
            annotations=stmt.annotations,
            span=spans_of(stmt),
        )

    def _region(self, stmt: Any) -> Any:
        if _is_launch(stmt):
            return self._launch(stmt)
        name = dialect.op_name(stmt)
        if name in _TRANSPARENT:
            return self.statement(stmt.body)
        if name == "tirx.launch_thread":
            tag, extent = dialect.plain(stmt.args[0]), stmt.args[1]
            body = self.statement(stmt.body)
            return _bound_loop(stmt.body_params[0], str(tag), extent, body, spans_of(stmt))
        return nodes.RegionStmt(stmt.op, spans_of(stmt))

    def _launch(self, stmt: Any) -> Any:
        """The launch as loops over blocks and threads.

        One without operands is that of a backend whose program states its threads otherwise.
        """
        span = spans_of(stmt) or self._launch_span
        fields = [str(name) for name in stmt.attrs.get("cuda.launch_fields", ())]
        values = dict(zip(fields, stmt.args))
        body = self.statement(stmt.body)
        for tag, name in reversed(list(_NAMES.items())):
            level, _, axis = tag.partition("Idx.")
            field = "{}.{}".format("grid" if level == "block" else "block", axis)
            if field in values and (axis == "x" or dialect.plain(values[field]) != 1):
                body = _bound_loop(nodes.Var(name), tag, values[field], body, span)
        cluster = [
            values[name] for name in ("cluster.x", "cluster.y", "cluster.z") if name in values
        ]
        if cluster:
            body = nodes.AttrStmt("cluster_dims", tuple(cluster), body, span=span)
        shared = values.get("dynamic_smem_bytes", stmt.attrs.get("cuda.smem_required"))
        if shared is not None and dialect.plain(shared) != 0:
            body = nodes.AttrStmt("tirx.dyn_smem_bytes", shared, body, span=span)
        return body


def _bound_loop(
    var: Any, tag: str, extent: Any, body: Any, span: Optional[nodes.Spans]
) -> nodes.For:
    binding = nodes.ThreadBinding(tag)
    return nodes.For(
        var, 0, extent, dialect.THREAD_BINDING, body, thread_binding=binding, span=span
    )


def _bind(stmt: Any) -> Any:
    """A binding; that of an allocation or a view declares an array."""
    span, value = spans_of(stmt, stmt.value), stmt.value
    called = dialect.op_name(value) if dialect.kind(value) == "Call" else ""
    if called in _ALLOCATIONS:
        return nodes.AllocBuffer(stmt.var, _storage_of_thread(stmt.var), span)
    if called in _VIEWS:
        return nodes.DeclBuffer(stmt.var, value.args[0], span)
    return nodes.Bind(stmt.var, value, span)


def _storage_of_thread(tensor: Any) -> Optional[Tuple[Tuple[Any, ...], Tuple[Any, ...]]]:
    """The storage that each thread has of an array that threads share; None for other arrays.

    ``S[(32, 4) : (1 @ laneid, 1)]`` has 4 elements in each of 32 lanes.
    """
    factors = getattr(tensor.layout, "shard", None)
    if not dialect.scope_of(tensor).startswith("local") or factors is None:
        return None
    own = [factor for factor in factors if str(factor.axis.name) == dialect.MEMORY_AXIS]
    if len(own) == len(factors):
        return None
    size = 1
    for factor in own:
        extent, stride = dialect.plain(factor.extent), dialect.plain(factor.stride)
        if not isinstance(extent, int) or not isinstance(stride, int):
            return None
        size += (extent - 1) * stride
    return (size,), ()


def _only(stmt: Any) -> Any:
    """The statement of a sequence of one."""
    return stmt.seq[0] if isinstance(stmt, nodes.SeqStmt) and len(stmt.seq) == 1 else stmt


def spans_of(*parts: Any) -> Optional[nodes.Spans]:
    """The source of the first of a statement and its parts that has one."""
    for part in parts:
        found: List[nodes.SourceSpan] = []
        location: Any = getattr(part, "loc", None)
        while dialect.kind(location) == "CallSiteLoc":
            if _is_known(location.callee):
                found.append(_span(location.callee))
            location = location.caller
        if _is_known(location):
            found.append(_span(location))
        if found:
            # What a helper of the package emits has the source of its call.
            own = [span for span in found if not _is_of_package(span.source_name.name)]
            return nodes.Spans(tuple(reversed(own or found)))
    return None


def _is_of_package(file: str) -> bool:
    package = getattr(sys.modules.get("tvm_tirx"), "__file__", None)
    return package is not None and file.startswith(os.path.dirname(package) + os.sep)


def _is_known(location: Any) -> bool:
    return dialect.kind(location) == "SourceLoc"


def _span(location: Any) -> nodes.SourceSpan:
    return nodes.SourceSpan(
        nodes.SourceName(str(location.source_name.name)),
        int(location.start_line),
        int(location.start_column),
        int(location.end_line),
        int(location.end_column),
    )
