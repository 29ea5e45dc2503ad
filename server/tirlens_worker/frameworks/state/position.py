"""Where the walk is: the source lines, and the loops, conditions and threads that enclose it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Generator, List, Optional, Set, Tuple

from ...facts import Executor, Expr, Span
from .loop_exits import LoopExits


class Jumps:
    """The innermost loop's exits, and the jumps whose effect on counts is known."""

    def __init__(self) -> None:
        #: What ends the innermost enclosing loop; None outside of loops.
        self.exits: Optional[LoopExits] = None
        #: The number of branches that enclose the walk inside of that loop.
        self.branch_depth = 0
        #: The keys of jumps that the counts of their loops account for.
        self.resolved: Set[int] = set()

    @contextmanager
    def inside(self, exits: LoopExits) -> Generator[None, None, None]:
        """While active, the body of a loop is walked, and `exits` collects its exits."""
        outer = self.branch_depth, self.exits
        self.branch_depth, self.exits = 0, exits
        try:
            yield
        finally:
            self.branch_depth, self.exits = outer


class Position:
    """What encloses the statement that the walk is at."""

    def __init__(self) -> None:
        #: The source lines of the statement, the kernel's own first.
        self.sites: Tuple[Span, ...] = ()
        #: Whether each thread executes the statement, or the block as a whole.
        self.executor: Executor = "thread"
        #: Whether copies from global to shared memory are asynchronous here (cp.async).
        self.copies_are_async = False
        #: The enclosing loops from the outside in: variable and body; None for a while loop.
        self.loops: List[Tuple[Optional[str], Any]] = []
        #: The numbers of the iterations of these loops.
        self.iterations: List[Expr] = []
        #: The conditions that hold here.
        self.conditions: List[Expr] = []
        #: The ``CommReducer`` of the enclosing reduction.
        self.combiner: Any = None
        self.jumps = Jumps()

    @contextmanager
    def in_loop(self, var: Optional[str], body: Any) -> Generator[None, None, None]:
        """While active, the loop over `var` with this body encloses the walk."""
        self.loops.append((var, body))
        try:
            yield
        finally:
            self.loops.pop()

    def loop_variables(self) -> Tuple[str, ...]:
        """The variables of the enclosing loops; of a while loop its iteration."""
        loops = tuple(name for name, _ in self.loops if name is not None)
        return loops + tuple(one for one in self.iterations if isinstance(one, str))
