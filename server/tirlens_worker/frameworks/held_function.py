"""Facts of a function that a program holds, with the lines of the file that defines it."""

from __future__ import annotations

import ast
import linecache
from dataclasses import replace
from typing import Any, NamedTuple, Optional

from ..facts import Caveat, KernelFacts, Span
from ..statements import walk_statements
from . import adapters
from .extract import extract
from .locations import block_lines, spans
from .locations.source_text import SourceText


class HeldFunction(NamedTuple):
    """The facts of a function, and the file of its lines; None if its IR has no lines."""

    facts: KernelFacts
    path: Optional[str]


def extract_held(prim_func: Any, definition: str) -> HeldFunction:
    """The facts of a PrimFunc that user code has made in this process.

    The file is the one that the first statement with a line names. Its text is as Python read it,
    so that cells of a notebook are found too.
    """
    site = _first_site(prim_func)
    path = None if site is None else site.file
    text = "".join(linecache.getlines(path)) if path else ""
    tree = _tree_of(text)
    span = Span(1, 0, 1, 0)
    if site is not None and tree is not None:
        span = _definition_at(tree, site.line)
    else:
        path = None
    facts = extract(
        prim_func,
        definition=definition,
        span=span,
        call=definition,
        call_source="module-level",
        sites_of=spans.sites_of,
        source=SourceText(text, tree),
        path=path,
    )
    if site is None:
        caveat = Caveat("the IR of this function has no source lines: all figures are at line 1")
        facts = replace(facts, caveats=(*facts.caveats, caveat))
    return HeldFunction(facts, path)


def _first_site(prim_func: Any) -> Optional[Span]:
    for stmt in block_lines.statements(adapters.adapt(prim_func).body):
        sites = spans.sites_of(stmt) or spans.native_sites(getattr(stmt, "span", None))
        if sites:
            return sites[0]
    return None


def _tree_of(text: str) -> Optional[ast.AST]:
    try:
        return ast.parse(text) if text else None
    except (SyntaxError, ValueError, RecursionError):
        # The file has changed since it was imported.
        return None


def _definition_at(tree: ast.AST, line: int) -> Span:
    """The innermost function around `line`, or the line where none is."""
    found = Span(line, 0, line, 0)
    for node in walk_statements(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            end = node.end_lineno or node.lineno
            if node.lineno <= line <= end:
                found = Span(node.lineno, node.col_offset, end, node.end_col_offset or 0)
    return found
