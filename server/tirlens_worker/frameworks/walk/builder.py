"""The nodes of the facts that one statement of the IR becomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional, Tuple

from ...facts import Evaluate, Expr, Node, Statement, Store
from ..locations.spans import Locator
from ..reading.expression_cost import Cost
from ..reading.handler_context import HandlerContext
from ..state.kernel_state import KernelState

Nodes = Tuple[Node, ...]


class NodeBuilder:
    """Builds nodes at the position of the walk, with caveats about omitted costs."""

    def __init__(self, state: KernelState, context: HandlerContext, locator: Locator) -> None:
        self._state = state
        self._context = context
        self._locator = locator

    def statement(self, statement: Statement) -> Nodes:
        """`statement` at the position of the walk; a store has its line as the label."""
        position = self._state.position
        label = statement.label
        if isinstance(statement, (Store, Evaluate)):
            label = self.source_line() or label
        # A call in a parallel tile loop runs once for each element, not once in each thread.
        per = position.executor if statement.per == "thread" else statement.per
        return (replace(statement, label=label, sites=position.sites, per=per),)

    def evaluation(self, node: Any, purpose: str) -> Nodes:
        """The evaluation of `node` as a statement; no node if it has no cost."""
        arith, accesses = self.cost(node, is_named=purpose == "let")
        if not arith and not accesses:
            return ()
        executor = self._state.position.executor
        return self.statement(Evaluate(purpose, arith, accesses, executor))

    def cost(
        self,
        node: Any,
        guard: Optional[Expr] = None,
        is_named: bool = False,
        is_result: bool = True,
    ) -> Cost:
        """The cost of one evaluation of `node`, see `HandlerContext.cost`."""
        with self._state.caveats.collect(self._state.position.sites):
            return self._context.cost(node, guard, is_named, is_result)

    def source_line(self) -> str:
        """The text of the line at the position; empty if it is not known."""
        return self._locator.line(self._state.position.sites)

    def caveat(self, message: str, function: Optional[str] = None) -> None:
        """Add a caveat at the position; `function` is the one whose cost is left out."""
        self._state.caveats.add(message, self._state.position.sites, function)
