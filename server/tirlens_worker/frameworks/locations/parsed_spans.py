"""Lines of TVMScript in tilelang's fork of TVM, whose IR has no spans.

The statements that appear in the builder's frame while the parser visits a statement of the text
get its lines.  A statement is identified by a part that later passes do not replace.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Dict, Generator, List, Optional, Tuple

from ...facts import Span

Sites = Tuple[Span, ...]

_PARTS = {"For": "loop_var", "IfThenElse": "condition", "While": "condition"}
_sites: Dict[int, Sites] = {}
_live_parts: List[Any] = []


@contextlib.contextmanager
def recording() -> Generator[None, None, None]:
    """While active, the lines of each statement that the parser appends are recorded."""
    parser = getattr(sys.modules.get("tvm.script.parser.core.parser"), "Parser", None)
    builder = getattr(sys.modules.get("tvm.script.ir_builder.base"), "IRBuilder", None)
    visit = getattr(parser, "visit", None)
    if parser is None or builder is None or visit is None or "tilelang" not in sys.modules:
        yield
        return

    def visit_and_record(self: Any, node: Any) -> None:
        before = _innermost_statements(builder)
        visit(self, node)
        line = getattr(node, "lineno", None)
        if before is None or line is None or not hasattr(node, "end_lineno"):
            return
        source = self.diag.source
        first = source.start_line - 1
        span = Span(line + first, 0, node.end_lineno + first, 0, str(source.source_name))
        for stmt in (_innermost_statements(builder) or [])[len(before) :]:
            part = _part(stmt)
            # A hash identifies an object only while the object is alive.
            _live_parts.append(part)
            _sites.setdefault(hash(part), (span,))

    parser.visit = visit_and_record
    try:
        yield
    finally:
        parser.visit = visit


def sites_of(stmt: Any) -> Sites:
    """The lines that the parser recorded for `stmt`; empty if it recorded none."""
    return _sites.get(hash(_part(stmt)), ()) if _sites else ()


def _innermost_statements(builder: Any) -> Optional[List[Any]]:
    """The statements of the innermost frame with statements; None outside of a builder."""
    if not builder.is_in_scope():
        return None
    for frame in reversed(list(builder.current().frames)):
        stmts = getattr(frame, "stmts", None)
        if stmts is not None:
            return list(stmts)
    return None


def _part(stmt: Any) -> Any:
    """The part of a statement that remains the same object when a pass rebuilds it."""
    name = _PARTS.get(type(stmt).__name__)
    return stmt if name is None else getattr(stmt, name)
