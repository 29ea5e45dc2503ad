"""Blocks and threads: the loops that bind them, and who needs to tell one thread from another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from equality import language as ir
from equality.language import RefusedError
from equality.memory import Memory
from equality.points import UNKNOWN, Points


class Threads(Memory):
    """The threads of a block stay one point until something asks which of them it is."""

    #: Variables whose value differs between threads, and whether a statement jumps.
    derived: set[int]
    jumps: bool
    mentioned: dict[int, frozenset]

    def statement(self, node: Any, at: Points) -> np.ndarray | None:
        raise NotImplementedError

    def asks(self, node: Any, at: Points) -> bool:
        """Whether `node` needs to know which thread evaluates it."""
        if not at.waiting:
            return False
        wanted = {name for name, _ in at.waiting} | self.derived
        return bool(self.mentions(node) & wanted)

    def derive(self, variable: Any, value: Any, data: bool, at: Points) -> None:
        if data:
            at.columns["data", variable] = True
        if self.mentions(value) & (at.threads | self.derived):
            at.threads |= {variable}
        if self.mentions(value) & self.requests.vectors:
            self.requests.vectors.add(variable)

    def mentions(self, node: Any) -> frozenset:
        known = self.mentioned.get(ir.key(node))
        if known is None:
            found = set()
            for part in ir.everything(node):
                if ir.kind(part) in ("Var", "SizeVar"):
                    found.add(ir.key(part))
                elif ir.kind(part) == "Call":
                    found |= self.thread_numbers(ir.called(part), part)
            known = self.mentioned[ir.key(node)] = frozenset(found)
        return known

    @contextmanager
    def chosen_by(self, conditions: Iterable[Any], at: Points) -> Iterator[None]:
        """Within, what conditions choose of the lanes of a vector."""
        names: set = set()
        for condition in conditions if self.requests.vectors else ():
            names |= self.compares(condition)
            if self.mentions(condition) & self.requests.vectors:
                value, _ = self.value(condition, at, 0)
                self.requests.divide(np.arange(at.size) if value is UNKNOWN else value, at)
        with self.requests.chosen_by(names):
            yield

    def choosers(self, node: Any) -> list:
        """The conditions of choices within an expression, where a vector is under way."""
        if not self.requests.vectors:
            return []
        return [
            part.args[0]
            for part in ir.everything(node)
            if ir.kind(part) == "Call" and ir.called(part) in ir.CHOICES
        ]

    def compares(self, node: Any) -> frozenset:
        """The variables that a condition mentions, but for those of quotients.

        TVM takes the lanes of a vector away from a quotient by a multiple of them.
        """
        if ir.kind(node) == "FloorDiv":
            return frozenset()
        inner = ir.parts(node)
        return frozenset().union(*map(self.compares, inner)) if inner else self.mentions(node)

    def bound(
        self, tag: str, variable: int, extent: Any, body: Any, at: Points
    ) -> np.ndarray | None:
        """A loop over blocks or threads; within itself the same tag is the same index."""
        size = self.known(extent, at)
        if tag in at.columns:
            at.columns[variable] = at.columns[tag]
            if tag in at.threads:
                at.threads |= {variable}
            return self.statement(body, at)
        if tag in ir.THREADS:
            inner = at.child()
            if any(name == tag for name, _ in at.waiting):
                inner.columns[variable] = ("thread", tag)
            elif isinstance(size, int):
                inner.waiting = (*at.waiting, (tag, size))
                self.requests.threads[tag] = size
                self.threads *= size
                inner.columns[variable] = ("thread", tag)
            else:
                raise RefusedError("a number of threads that differs between blocks")
            self.derived.add(variable)
            if self.small or self.jumps:
                before = dict(self.memory)
                for part in inner.with_threads():
                    self.tally.work(part.size)
                    self.private(part)
                    self.statement(body, part)
                    self.memory = dict(before)
                return None
            return self.statement(body, inner)
        before = dict(self.memory)
        for part in at.expanded(variable, 0, size, 1):
            part.columns[tag] = part.columns[variable]
            self.tally.work(part.size)
            self.private(part)
            self.statement(body, part)
            self.memory = dict(before)
        return None

    def launched(self, extents: list[int], block: Any, at: Points) -> np.ndarray | None:
        inner = at.child()
        sizes = extents + [1] * (3 - len(extents))
        inner.waiting = tuple(zip(ir.THREADS, sizes, strict=True))
        self.threads = int(np.prod(sizes))
        self.requests.threads = dict(zip(ir.THREADS, sizes, strict=True))
        if self.small or self.jumps:
            for part in inner.with_threads():
                self.tally.work(part.size)
                self.private(part)
                self.statement(block.body, part)
            return None
        return self.statement(block.body, inner)

    def thread_numbers(self, name: str, call: Any) -> set:
        """The thread indices that a call asks for."""
        if name == "tl.launch_thread_idx":
            return {ir.THREADS[int(ir.constant(call.args[0]) or 0)]}
        return set(ir.THREADS) if name in self.NUMBERS_OF_THREADS else set()
