"""The facts of a function, as far as they do not depend on its definition and its call."""

from __future__ import annotations

import functools
from typing import Any, Callable

from ..facts import KernelFacts, Span
from ..frameworks.locations.block_lines import BlockLines
from ..program.document import Document

_NOWHERE = Span(1, 0, 1, 0)


@functools.lru_cache(maxsize=4)
def traced_facts(function: Any, document: Document) -> KernelFacts:
    """The facts of a function that was traced; several stages ask for them in a row.

    Raises:
        Exception: the IR is not understood.
    """
    from ..frameworks.locations import spans

    return _facts(function, document, spans.sites_of)


def built_facts(function: Any, document: Document, lines: BlockLines) -> KernelFacts:
    """The facts of a function that statements have built, with the `lines` of its blocks.

    Raises:
        Exception: the IR is not understood.
    """
    from ..frameworks.locations import block_lines, spans

    table = block_lines.line_table(function, lines, document.path)
    return _facts(
        function, document, lambda stmt: spans.sites_of(stmt) or table.get(hash(stmt), ())
    )


def _facts(function: Any, document: Document, sites_of: Callable[[Any], Any]) -> KernelFacts:
    from ..frameworks.extract import extract

    return extract(
        function,
        definition="",
        span=_NOWHERE,
        call="",
        call_source="",
        sites_of=sites_of,
        source=document.source,
        path=document.path,
    )
