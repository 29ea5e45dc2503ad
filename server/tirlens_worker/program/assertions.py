"""Assertions that fail, with their text and the values in it."""

from __future__ import annotations

import ast
import linecache
from types import FrameType
from typing import List, Optional

_MAX_NAMES = 6
_MAX_CHARACTERS = 40


def describe_assertion(error: AssertionError) -> Optional[str]:
    """The condition of the ``assert`` that raised `error`, with its values, behind its message.

    None where the text of the statement is not found.
    """
    trace = error.__traceback__
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    text = "".join(linecache.getlines(trace.tb_frame.f_code.co_filename))
    statement = _assertion_at(text, trace.tb_lineno)
    if statement is None:
        return None
    condition = ast.get_source_segment(text, statement.test) or ""
    found = "assertion fails: " + " ".join(condition.split())
    values = _values(statement.test, trace.tb_frame)
    if values:
        found += ", with " + values
    message = str(error).strip()
    return "{} ({})".format(message.splitlines()[0], found) if message else found


def _assertion_at(text: str, line: int) -> Optional[ast.Assert]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node
    return found


def _values(condition: ast.expr, frame: FrameType) -> str:
    """The numbers and texts of the names in a condition."""
    names = dict.fromkeys(node.id for node in ast.walk(condition) if isinstance(node, ast.Name))
    found: List[str] = []
    for name in names:
        value = frame.f_locals.get(name, frame.f_globals.get(name))
        if type(value) in (bool, int, float, str) and len(found) < _MAX_NAMES:
            found.append("{} = {}".format(name, repr(value)[:_MAX_CHARACTERS]))
    return ", ".join(found)
