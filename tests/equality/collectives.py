"""What the threads of a warp or a block compute from values of each other.

apache-tvm (``src/s_tir/transform/lower_thread_allreduce.cc``): a reduction over threads that lie in
one warp halves the distance between the lanes that it combines until it is one; over more threads
the warps do so first and then one result of each.  All threads of the block take part in each step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equality import language as ir
from equality.language import RefusedError
from equality.points import UNKNOWN, Points
from equality.tiles import Tiles

_WARP = 32


class Collectives(Tiles):
    """Exchange of values between threads."""

    #: The combination of the reduction that is around a call (``CommReducer``).
    combiner: Any = None

    def shuffled(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """``tvm_warp_shuffle(mask, value, lane, ...)``: a value that a warp shares stays itself."""
        value, data = self.value(node.args[1], at, times)
        self.value(node.args[2], at, times)
        if value is UNKNOWN or data or not isinstance(value, np.ndarray):
            return value, data
        names = [name for name in at.columns if name not in at.threads or name in ir.THREADS]
        columns = [at.columns[name] for name in names if name not in ir.THREADS]
        thread: Any = at.columns.get(ir.THREADS[0], 0)
        warp = at.full(thread) // _WARP
        rest = [at.columns[tag] for tag in ir.THREADS[1:] if tag in at.columns]
        rows = np.stack([at.full(one) for one in (warp, *rest, *columns) if _is_number(one)])
        _, group = np.unique(rows, axis=1, return_inverse=True)
        least, most = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
        np.minimum.at(least, group.ravel(), value)
        np.maximum.at(most, group.ravel(), value)
        return (value if (least == most).all() else UNKNOWN), False

    def reduced_by_warp(self, what: str, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """Five steps of a butterfly over 32 lanes."""
        self.value(node.args[0], at, times)
        operation = {"sum": "add", "max": "max", "min": "min"}.get(what, "bitwise")
        self._count(operation, ir.dtype(node), at, 5 * times)
        return UNKNOWN, True

    def reduced_by_threads(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """``tvm_thread_allreduce(n, value..., predicate, result..., thread index...)``."""
        number = int(ir.constant(node.args[0]))
        for value in node.args[1 : 2 + number]:
            self.value(value, at, times)
        if self.combiner is None:
            raise RefusedError("a reduction without its operation")
        steps = self._steps(node.args[2 + 2 * number :], at)
        inner = at.child()
        for variable in (*self.combiner.lhs, *self.combiner.rhs):
            inner.columns[ir.key(variable)] = UNKNOWN
        for result in self.combiner.result:
            self.value(result, inner, times * steps)
        return UNKNOWN, True

    def _steps(self, indices: Any, at: Points) -> int:
        tags = [self._tag(index, at) for index in indices]
        sizes = [self.requests.threads.get(tag, 1) for tag in tags if tag is not None]
        together = int(np.prod(sizes))
        # Which lie next to each other, from threadIdx.x on.
        reduced = {tag for tag in tags if tag is not None and self.requests.threads[tag] > 1}
        expected = [tag for tag in ir.THREADS if self.requests.threads.get(tag, 1) > 1]
        if together == 1:
            return 0
        if reduced != set(expected[: len(reduced)]) or not (
            _WARP % together == 0
            or together % _WARP == 0
            or (together < _WARP and together == int(np.prod(list(self.requests.threads.values()))))
        ):
            raise RefusedError("a reduction over threads through shared memory")
        if together <= _WARP:
            return _halvings(together)
        # The results of the warps are exchanged in shared memory.
        self.tally.unsaid.add("shared")
        return _halvings(_WARP) + _halvings(together // _WARP)

    def _tag(self, index: Any, at: Points) -> str | None:
        """Which index of a thread a variable is; None where it takes one value."""
        if ir.constant(index) is not None:
            return None
        found = at.columns.get(ir.key(index))
        if isinstance(found, tuple):
            return found[1]
        for tag in ir.THREADS:
            if tag in at.columns and at.columns[tag] is found:
                return tag
        raise RefusedError("a reduction over a computed index")


def _halvings(number: int) -> int:
    return (number - 1).bit_length()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer, np.ndarray))
