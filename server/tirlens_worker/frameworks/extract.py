"""Extraction of the facts of a PrimFunc."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional, Tuple

from ..facts import KernelFacts, Span
from . import adapters, array_shapes, compile_options, version
from .ir import dialect
from .locations import spans
from .locations.source_text import SourceText
from .passes.device_features import required_features
from .passes.storage_compaction import compacted_storage
from .passes.useful_work import annotate_useful_work
from .reading.expressions import Expressions
from .state.kernel_state import KernelState
from .state.tensor_maps import resize_copies
from .symbolic.mentions import names_in
from .targets import COMPILE_TARGET, attributes_of
from .walk.kernel_walk import walk


def extract(
    prim_func: Any,
    *,
    definition: str,
    span: Span,
    call: str,
    call_source: str,
    sites_of: Optional[Callable[[Any], Tuple[Span, ...]]] = None,
    source: Optional[SourceText] = None,
    path: Optional[str] = None,
) -> KernelFacts:
    """The facts of a PrimFunc of any supported framework.

    `sites_of` returns the source spans of a statement where those of the framework are incomplete.
    `source` and `path` are the document's, for columns and to distinguish it from other files.
    Code that is not understood becomes a caveat.
    """
    framework = framework_of(prim_func)
    prim_func = adapters.adapt(prim_func)
    locator = spans.Locator(source, path, sites_of)
    state = KernelState()
    # tilelang's compiler guards accesses of global arrays.
    expressions = Expressions(state, is_guarded=framework == "tilelang")
    storage = compacted_storage(prim_func) if framework == "tvm" else {}
    for param, buffer in dialect.parameters(prim_func):
        if buffer is not None:
            expressions.declare(buffer, is_parameter=True)
        elif dialect.dtype_of(param).startswith(("int", "uint")):
            state.names.value(param)
    attributes = dialect.attributes(prim_func)
    state.arrays.mark_overlap(attributes.get("tl.non_restrict_params", ()))
    nodes = walk(prim_func.body, state, expressions, locator, storage)
    body = resize_copies(nodes, state.tensor_maps.boxes)
    buffers = state.arrays.buffers
    launch = state.bindings.launch()
    names = {item.name for item in state.names.variables}
    # Other variables are of expressions that need no value.
    used = names_in([body, buffers, launch], names) if names else names
    return KernelFacts(
        name=name_of(prim_func, definition),
        definition=definition,
        span=span,
        framework=framework,
        framework_version=version(framework),
        call=call,
        call_source=call_source,
        variables=tuple(item for item in state.names.variables if item.name in used),
        buffers=tuple(buffers),
        launch=launch,
        body=annotate_useful_work(body, buffers),
        target=attributes_of(attributes.get("target") or attributes.get(COMPILE_TARGET)),
        attributes=compile_options.disabled_transformations(attributes),
        caveats=tuple(state.caveats.found),
        sizes=array_shapes.sizes(buffers, attributes),
        requires=required_features(prim_func.body, locator.sites) if launch.threads else (),
        fast_math=compile_options.fast_math(framework, attributes),
    )


def name_of(prim_func: Any, definition: str) -> str:
    """The ``global_symbol`` of the function, or the last part of the name of its definition."""
    symbol = dialect.attributes(prim_func).get("global_symbol")
    return str(symbol or definition.rpartition(".")[2])


def framework_of(prim_func: Any) -> str:
    """The framework that compiles a function; of TVMScript of tilelang's TVM it is ``tvm``."""
    if adapters.is_function(prim_func):
        return type(prim_func).__module__.partition(".")[0]
    return "tilelang" if "tilelang" in sys.modules and dialect.is_tilelang(prim_func) else "tvm"
