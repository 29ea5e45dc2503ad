"""What every part of the walk over a function's statements shares: names, places, costs."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Set, Tuple

from ..facts import Evaluate, Executor, Expr, Node, Span, Statement, Store
from . import dialect
from .compaction import Storage
from .cost import Reader
from .counters import counters
from .launch import Bindings
from .leaving import Leaving
from .scope import Scope
from .spans import Locator

Sites = Tuple[Span, ...]
Nodes = Tuple[Node, ...]


class Visitor:
    """Dispatches statements to methods that are named after the classes of the IR."""

    def __init__(
        self,
        scope: Scope,
        locator: Locator,
        tiles: bool,
        storage: Mapping[str, Storage] = MappingProxyType({}),
    ) -> None:
        self.scope = scope
        self.bindings = Bindings(scope.unique)
        self.reader = Reader(scope, self.bindings, self.add_buffer, guarded=tiles)
        self._locator = locator
        self._tiles = tiles
        #: What is kept of arrays that were written larger, by their names.
        self._storage = storage
        self._here: Sites = ()
        self._per: Executor = "thread"
        #: Whether copies from global to shared memory are only started here, by cp.async.
        self._starts_copies = False
        #: What ends the innermost loop that one is in, how many branches one is in within that, and
        #: the jumps that are accounted for.
        self._leaving: Optional[Leaving] = None
        self._branches: int = 0
        self._settled: Set[int] = set()
        #: What scalars held at the end of the body that was walked last.
        self._left: Dict[str, Expr] = {}

    def add_buffer(
        self,
        buffer: Any,
        parameter: bool = False,
        alias_of: Optional[str] = None,
        scope: Optional[str] = None,
        storage: Optional[Storage] = None,
    ) -> str:
        """Registers `buffer`, whose `storage` is told where it is less than was written."""
        expr = self.reader.expr
        offset = getattr(buffer, "elem_offset", None)
        shape, strides = storage or (tuple(buffer.shape), tuple(buffer.strides or ()))
        return self.scope.add_buffer(
            buffer,
            tuple(expr(size) for size in shape),
            tuple(expr(stride) for stride in strides),
            # The offset of a parameter is the caller's affair; a view's says where it begins.
            0 if offset is None or parameter or dialect.kind(offset) == "Var" else expr(offset),
            parameter=parameter,
            alias_of=alias_of,
            scope=scope,
            span=self._here[0] if self._here else None,
        )

    def function(self, stmt: Any) -> Nodes:
        """The tree of a function's whole body."""
        self.scope.counters = counters(stmt)
        return self.bindings.close_scopes(self.body(stmt))

    def body(self, stmt: Any, handler: Optional[Callable[[Any], Nodes]] = None) -> Nodes:
        """The nodes that `stmt` stands for, by the method of its class or by `handler`."""
        if stmt is None:
            return ()
        kind = dialect.kind(stmt)
        handler = handler or getattr(self, "_visit_" + kind, None)
        outer = self._here
        self._here = self._locator.sites(stmt) or outer
        try:
            if handler is None:
                return self._unknown(kind, stmt)
            return tuple(handler(stmt))
        except Exception as error:
            # One statement of an unforeseen form must not cost the user the whole kernel.
            self._note("{} is left out: {}: {}".format(kind, type(error).__name__, error))
            return ()
        finally:
            self._here = outer

    def _forget(self, buffers: Iterable[Any]) -> None:
        """What `buffers` hold is not known any more."""
        for buffer in buffers:
            known = self.scope.buffer_id(buffer)
            if known is not None:
                self.scope.forget(known)

    def _scoped(self, stmt: Any) -> Nodes:
        """The body of a loop or branch: what it learns of scalars does not hold behind it."""
        before, loaded = dict(self.scope.scalars), dict(self.scope.loaded)
        nodes = self.body(stmt)
        self._left = self.scope.scalars
        self.scope.scalars = _unchanged(before, self.scope.scalars)
        self.scope.loaded = _unchanged(loaded, self.scope.loaded)
        return nodes

    def _unknown(self, kind: str, stmt: Any) -> Nodes:
        inner = getattr(stmt, "body", None)
        if inner is not None:
            return self.body(inner)
        self._note("{} is not understood and is left out".format(kind))
        return ()

    def _cost(
        self,
        node: Any,
        guard: Optional[Expr] = None,
        named: bool = False,
        result: bool = True,
    ) -> Any:
        self.reader.notes.clear()
        cost = self.reader.cost(node, guard, named, result)
        self._take_notes()
        return cost

    def _reading(self, node: Any, what: str) -> Nodes:
        """What it costs to evaluate `node` for its own sake: nothing, or a statement."""
        arith, reads = self._cost(node, named=what == "let")
        if not arith and not reads:
            return ()
        return self._statement(Evaluate(what, arith, reads, self._per))

    def _statement(self, statement: Statement) -> Nodes:
        label = statement.label
        if isinstance(statement, (Store, Evaluate)):
            label = self._locator.written(self._here) or label
        # A call in a parallel tile loop runs once for each element, not once in each thread.
        per = self._per if statement.per == "thread" else statement.per
        return (replace(statement, label=label, sites=self._here, per=per),)

    def _note(self, message: str, function: Optional[str] = None) -> None:
        self.scope.note(message, self._here, function)

    def _take_notes(self) -> None:
        for message, function in self.reader.notes:
            self._note(message, function)
        self.reader.notes.clear()


def _unchanged(before: Dict[str, Expr], now: Dict[str, Expr]) -> Dict[str, Expr]:
    return {name: value for name, value in before.items() if now.get(name) == value}
