"""Loops that the compiler unrolls fully although the program does not say so.

nvcc unrolls a loop of a constant number of iterations, with the loops inside, while the code that
results is short.  Two kinds of loops may be longer: those over the elements of a thread's array,
since registers have no index, and those inside of another loop that read shared memory.  What
nvcc 13.5 for sm_80 unrolls fully, and what it does not:

* sums of 200 and 256 loads, 96 and 128 copies, 64 and 96 multiply-adds of two loads, 48 and 64
  exponentials, 96 and 128 sums of shared memory, products of 8 and 16 vectors of 8 halves;
* updates of the elements of an array of 256 and 512 floats;
* inside of a loop, sums of shared memory of 1,024 and more, and
  ``acc[i, j] += a[i, k] * b[k, j]`` of 8 x 8 elements a thread for 32 and 64 values of k.

Loops whose length is known when the kernel runs, and longer ones, are unrolled by a few iterations.
Those that access global memory are left as they are here: what unrolling does for them is that
their loads are issued together (`load_batches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Barrier, Branch, Buffer, Let, Loop, Node, Statement, While

from ...constants import constant
from ...counting.facts_walk import walk_nodes
from ...tree.thread_mapping import SHARED_SCOPES

MAX_UNROLLED_INSTRUCTIONS = constant(
    "MAX_UNROLLED_INSTRUCTIONS",
    256,
    kind="compiler",
    unit="operations and accesses of memory",
    meaning="The longest code of a loop that the compiler unrolls fully.",
    source="nvcc 13.5 for sm_80: 192 to 416 for seven bodies of two to 26 instructions",
    bounds=(208, 400),
)
MAX_UNROLLED_ARRAY_INSTRUCTIONS = constant(
    "MAX_UNROLLED_ARRAY_INSTRUCTIONS",
    1024,
    kind="compiler",
    unit="operations and accesses of memory",
    meaning="The same for a loop over the elements of a thread's array.",
    source="nvcc 13.5 for sm_80: an array of 256 floats, and not of 512",
    bounds=(768, 1536),
)
MAX_UNROLLED_SHARED_INSTRUCTIONS = constant(
    "MAX_UNROLLED_SHARED_INSTRUCTIONS",
    6144,
    kind="compiler",
    unit="operations and accesses of memory",
    meaning="The same for a loop that reads shared memory inside of another loop.",
    source="nvcc 13.5 for sm_80: 8 x 8 elements of a product and 32 values of k, and not 64",
    bounds=(6144, 12288),
)
_OF_A_THREAD = "local"


def find_unrolled_loops(nodes: Iterable[Node], buffers: Mapping[str, Buffer]) -> frozenset[int]:
    """The ids of the serial loops in a body that the compiler unrolls fully."""
    finder = _Finder(buffers)
    for node in nodes:
        finder.unrolled_size(node, is_inside=False)
    return frozenset(finder.found)


class _Finder:
    """Sizes are operations and memory accesses of straight-line code, None where it is none."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.buffers = buffers
        self.found = set[int]()

    def unrolled_size(self, node: Node, is_inside: bool) -> int | None:
        """The size of a node, which may be inside of a loop that one thread executes."""
        if isinstance(node, Let):
            return 0
        if isinstance(node, Statement):
            return self._statement_size(node)
        if isinstance(node, Loop):
            return self._loop_size(node, is_inside)
        if isinstance(node, Branch):
            return self._body_size((*node.then, *node.orelse), is_inside)
        assert isinstance(node, While)
        self._body_size(node.body, is_inside=True)
        return None

    def _body_size(self, nodes: Iterable[Node], is_inside: bool) -> int | None:
        sizes = [self.unrolled_size(node, is_inside) for node in nodes]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def _loop_size(self, loop: Loop, is_inside: bool) -> int | None:
        is_sequential = loop.kind in ("serial", "pipelined", "unroll")
        body = self._body_size(loop.body, is_inside or is_sequential)
        if loop.kind == "vectorized":
            return body
        if body is None or loop.kind not in ("serial", "unroll"):
            return None
        if not all(isinstance(part, int) for part in (loop.start, loop.extent, loop.step)):
            return None
        assert isinstance(loop.extent, int)
        size = body * max(loop.extent, 1)
        if loop.kind == "serial":
            if size > MAX_UNROLLED_INSTRUCTIONS and size > self._limit(loop, is_inside):
                return None
            self.found.add(id(loop))
        return size

    def _statement_size(self, statement: Statement) -> int | None:
        if statement.per != "thread" or isinstance(statement, Barrier):
            return None
        scopes = [self._scope(access.buffer) for access in statement.accesses]
        if "global" in scopes:
            return None
        accesses = sum(not scope.startswith(_OF_A_THREAD) for scope in scopes)
        # A multiplication and the addition of its result are one instruction.
        products = sum(one.op == "mul" for one in statement.arith if not one.index)
        others = sum(one.op != "mul" for one in statement.arith if not one.index)
        return accesses + max(products, others)

    def _limit(self, loop: Loop, is_inside: bool) -> int:
        accesses = [
            access
            for node in walk_nodes(loop.body)
            if isinstance(node, Statement)
            for access in node.accesses
        ]
        if is_inside and any(
            access.mode == "read" and self._scope(access.buffer) in SHARED_SCOPES
            for access in accesses
        ):
            return MAX_UNROLLED_SHARED_INSTRUCTIONS
        if any(
            self._scope(access.buffer).startswith(_OF_A_THREAD)
            and any(loop.var in free_variables(index) for index in access.indices)
            for access in accesses
        ):
            return MAX_UNROLLED_ARRAY_INSTRUCTIONS
        return MAX_UNROLLED_INSTRUCTIONS

    def _scope(self, name: str) -> str:
        return self.buffers[name].scope if name in self.buffers else "global"
