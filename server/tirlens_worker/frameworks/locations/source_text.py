"""The text of a document, shared by the locators of its kernels."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import Dict, List, Optional

from ...lines import split_lines
from ...statements import walk_statements


class SourceText:
    """The lines of a text, and its statements by line.

    Both take a walk of the whole text, which is done once and not for each kernel of a file.
    """

    def __init__(self, text: str = "", tree: Optional[ast.AST] = None) -> None:
        self._text = text
        self._tree = tree

    @cached_property
    def lines(self) -> List[str]:
        """The lines without their ends."""
        return split_lines(self._text)

    def statements_at(self, line: int) -> List[ast.stmt]:
        """The statements that start at `line`, in the order of the text."""
        return self._statements_by_line.get(line, [])

    def loop_around(self, line: int, name: str) -> Optional[ast.For]:
        """The innermost ``for`` over `name` around a statement at `line`; None without one."""
        found: Optional[ast.For] = None
        for node in walk_statements(self._tree) if self._tree is not None else ():
            if isinstance(node, ast.For) and node.lineno <= line <= (node.end_lineno or 0):
                names = (part.id for part in ast.walk(node.target) if isinstance(part, ast.Name))
                if name in names and (found is None or node.lineno >= found.lineno):
                    found = node
        return found

    @cached_property
    def _statements_by_line(self) -> Dict[int, List[ast.stmt]]:
        found: Dict[int, List[ast.stmt]] = {}
        for node in walk_statements(self._tree) if self._tree is not None else ():
            if isinstance(node, ast.stmt):
                found.setdefault(node.lineno, []).append(node)
        for nodes in found.values():
            nodes.sort(key=lambda node: node.col_offset)
        return found
