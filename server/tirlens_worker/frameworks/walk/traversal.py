"""The dispatch of statements, and the scopes in which scalars change."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional

from ...facts import Expr
from ..ir import dialect
from ..locations.spans import Locator
from ..state.kernel_state import KernelState
from ..state.scalars import unchanged_values
from .builder import Nodes

Handler = Callable[[Any], Nodes]


class Scope(NamedTuple):
    """The body of a loop or branch, and the values of scalars at its end."""

    nodes: Nodes
    scalars: Dict[str, Expr]


class Traversal:
    """Walks statements by the handlers of their classes.

    A statement that is not understood becomes a caveat; the walk never fails because of it.
    """

    def __init__(self, state: KernelState, locator: Locator) -> None:
        #: What walks a statement, by the name of the statement's class.
        self.handlers: Dict[str, Handler] = {}
        self._state = state
        self._locator = locator

    def nodes(self, stmt: Any, handler: Optional[Handler] = None) -> Nodes:
        """The nodes of `stmt`, by the handler of its class or by `handler`."""
        if stmt is None:
            return ()
        kind = dialect.kind(stmt)
        handler = handler or self.handlers.get(kind)
        position = self._state.position
        outer = position.sites
        position.sites = self._locator.sites(stmt) or outer
        try:
            if handler is None:
                return self._unknown(kind, stmt)
            return tuple(handler(stmt))
        except Exception as error:
            # One statement of an unforeseen form must not cost the user the whole kernel.
            self._caveat("{} is left out: {}: {}".format(kind, type(error).__name__, error))
            return ()
        finally:
            position.sites = outer

    def scope(self, stmt: Any) -> Scope:
        """The body of a loop or branch, after which the scalars that it changes are unknown."""
        scalars = self._state.scalars
        before, loaded = dict(scalars.values), dict(scalars.loaded)
        nodes = self.nodes(stmt)
        at_end = scalars.values
        scalars.values = unchanged_values(before, at_end)
        scalars.loaded = unchanged_values(loaded, scalars.loaded)
        return Scope(nodes, at_end)

    def _unknown(self, kind: str, stmt: Any) -> Nodes:
        inner = getattr(stmt, "body", None)
        if inner is not None:
            return self.nodes(inner)
        self._caveat("{} is not understood and is left out".format(kind))
        return ()

    def _caveat(self, message: str) -> None:
        self._state.caveats.add(message, self._state.position.sites)
