"""One PrimFunc to one `KernelFacts`."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional, Tuple

from ..facts import KernelFacts, Span
from . import array_shapes, compile_options, dialect, spans, version
from .boxes import boxed
from .compaction import compacted
from .scope import Scope
from .useful import annotated
from .walk import Walk


def extract(
    prim_func: Any,
    *,
    definition: str,
    span: Span,
    call: str,
    call_source: str,
    sites_of: Optional[Callable[[Any], Tuple[Span, ...]]] = None,
    text: Optional[str] = None,
    path: Optional[str] = None,
) -> KernelFacts:
    """The facts of a PrimFunc of any supported framework.

    `sites_of` gives a statement's lines where the framework's own spans do not tell all; `text`
    and `path` are the document's, for columns and to tell its lines from those of other files.
    What is not understood is a caveat of the result.
    """
    framework = _framework(prim_func)
    locator = spans.Locator(text or "", path, sites_of)
    scope = Scope()
    tiles = framework == "tilelang"
    walk = Walk(scope, locator, tiles, {} if tiles else compacted(prim_func))
    for param, buffer in dialect.parameters(prim_func):
        if buffer is not None:
            walk.add_buffer(buffer, parameter=True)
        elif dialect.dtype_of(param).startswith(("int", "uint")):
            scope.value(param)
    attributes = dialect.attributes(prim_func)
    scope.may_overlap(attributes.get("tl.non_restrict_params", ()))
    body = boxed(walk.function(prim_func.body), scope.boxes)
    return KernelFacts(
        name=name_of(prim_func, definition),
        definition=definition,
        span=span,
        framework=framework,
        framework_version=version(framework),
        call=call,
        call_source=call_source,
        variables=tuple(scope.variables),
        buffers=tuple(scope.buffers),
        launch=walk.bindings.launch(),
        body=annotated(body, scope.buffers),
        target=_target(attributes.get("target")),
        attributes=compile_options.left_out(attributes),
        caveats=tuple(scope.caveats),
        sizes=array_shapes.sizes(scope.buffers, attributes),
        fast_math=compile_options.fast_math(framework, attributes),
    )


def name_of(prim_func: Any, definition: str) -> str:
    """The function's own name, or the last part of the name by which it is defined."""
    symbol = dialect.attributes(prim_func).get("global_symbol")
    return str(symbol or definition.rpartition(".")[2])


def _framework(prim_func: Any) -> str:
    """``tilelang`` for its kernels, else ``tvm``; tilelang's own TVM has plain TVMScript too."""
    return "tilelang" if "tilelang" in sys.modules and dialect.is_tilelang(prim_func) else "tvm"


def _target(target: Any) -> Any:
    if target is None:
        return {}
    kind = getattr(getattr(target, "kind", None), "name", None)
    found = {} if kind is None else {"kind": str(kind)}
    arch = getattr(target, "attrs", {}).get("arch") if hasattr(target, "attrs") else None
    if arch is not None:
        found["arch"] = str(arch)
    return found
