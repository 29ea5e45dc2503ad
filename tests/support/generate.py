"""Random small kernels: loop nests with dependent bounds, guards, lets, boxes and threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Launch,
    Let,
    Loop,
    Node,
    Span,
    Statement,
    Store,
    Variable,
)

SHAPES = {"A": (5, 7), "B": (11,), "C": (4, 3, 6)}
DTYPES = {"A": "float16", "B": "float4_e2m1fn", "C": "int8"}
SPAN = Span(1, 0, 1, 0)


@dataclass
class Names:
    """What is in scope where the tree is grown: `plain` variables and those of `threads`."""

    plain: tuple[str, ...]
    threads: tuple[str, ...] = ()
    depth: int = 0

    def everything(self) -> tuple[str, ...]:
        return self.plain + self.threads


@cache
def integers(names: tuple[str, ...], depth: int = 2) -> st.SearchStrategy[Expr]:
    """Index expressions."""
    leaf: st.SearchStrategy[Expr] = st.integers(-4, 9)
    if names:
        leaf = leaf | st.sampled_from(names) | st.sampled_from(names)
    if depth == 0:
        return leaf
    inner = integers(names, depth - 1)
    scaled = st.tuples(st.just("*"), inner, st.integers(-3, 8))
    return st.one_of(
        leaf,
        leaf,
        st.tuples(st.sampled_from(["+", "-", "min", "max"]), inner, inner),
        scaled,
        st.tuples(st.just("+"), scaled, inner),
        st.tuples(st.sampled_from(["//", "%", "truncdiv", "truncmod"]), inner, st.integers(1, 5)),
        st.tuples(st.just("select"), comparisons(names, 0), inner, inner),
        st.tuples(st.just("cast"), st.just("int64"), inner),
        st.tuples(st.sampled_from(["&", "|", "^"]), leaf, leaf),
        st.tuples(st.just("-"), inner),
    )


@cache
def comparisons(names: tuple[str, ...], depth: int) -> st.SearchStrategy[Expr]:
    side = integers(names, depth)
    return st.tuples(st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), side, side)


@cache
def conditions(names: tuple[str, ...], depth: int = 1) -> st.SearchStrategy[Expr]:
    plain = comparisons(names, 2)
    if depth == 0:
        return plain
    inner = conditions(names, depth - 1)
    return st.one_of(
        plain,
        plain,
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        st.tuples(st.just("not"), inner),
    )


@cache
def counts(names: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    """Expressions that are never negative."""
    return st.integers(0, 5) | integers(names, 1).map(lambda e: ("min", ("max", 0, e), 7))


@cache
@st.composite
def accesses(draw: Any, names: tuple[str, ...]) -> Access:
    buffer = draw(st.sampled_from(sorted(SHAPES)))
    rank = len(SHAPES[buffer])
    box = draw(st.booleans())
    return Access(
        buffer,
        draw(st.sampled_from(["read", "write"])),
        tuple(draw(integers(names, 1)) for _ in range(rank)),
        tuple(draw(counts(names)) for _ in range(rank)) if box else (),
        lanes=1 if box else draw(st.sampled_from([1, 1, 4])),
        guard=draw(st.none() | conditions(names)),
        clipped=box and draw(st.booleans()),
    )


@st.composite
def leaves(draw: Any, names: Names) -> Statement:
    per = draw(st.sampled_from(["thread", "block"]))
    # What a block does together depends on no single thread, but for whether it is reached.
    visible = names.everything() if per == "thread" else names.plain
    arith = draw(
        st.lists(
            st.builds(
                Arith,
                st.sampled_from(["add", "fma", "mma"]),
                st.sampled_from(["float32", "int32"]),
                counts(visible),
                st.none() | conditions(visible),
            ),
            max_size=2,
        )
    )
    touched = draw(st.lists(accesses(visible), max_size=2))
    return Store("s", tuple(arith), tuple(touched), per=per, sites=(SPAN,))


@st.composite
def bodies(draw: Any, names: Names, fresh: list[int]) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, 2))):
        node, names = draw(_nodes(names, fresh))
        nodes.append(node)
    return tuple(nodes)


@st.composite
def _nodes(draw: Any, names: Names, fresh: list[int]) -> tuple[Node, Names]:
    kinds = ["leaf"] if names.depth >= 3 else ["loop", "loop", "loop", "branch", "let", "leaf"]
    kind = draw(st.sampled_from(kinds))
    if kind == "leaf":
        return draw(leaves(names)), names
    if kind == "branch":
        condition = draw(conditions(names.everything()))
        deeper = Names(names.plain, names.threads, names.depth + 1)
        orelse = draw(st.just(()) | bodies(deeper, fresh))
        return Branch(condition, draw(bodies(deeper, fresh)), orelse, sites=(SPAN,)), names
    fresh[0] += 1
    name = f"v{fresh[0]}"
    if kind == "let":
        value = draw(integers(names.plain))
        return Let(name, value), Names((*names.plain, name), names.threads, names.depth)
    thread = draw(st.integers(0, 3)) == 0 and len(names.threads) < 2
    extent = draw(st.integers(1, 4)) if thread else draw(counts(names.plain))
    start = draw(st.just(0) | integers(names.plain, 1))
    inner = Names(
        names.plain if thread else (*names.plain, name),
        (*names.threads, name) if thread else names.threads,
        names.depth + 1,
    )
    loop = Loop(
        "block" if thread else draw(st.sampled_from(["grid", "serial", "parallel"])),
        name,
        0 if thread else start,
        extent,
        draw(bodies(inner, fresh)),
        step=1 if thread else draw(st.sampled_from([1, 1, 2, 3])),
        sites=(SPAN,),
    )
    return loop, names


@st.composite
def kernels(draw: Any) -> tuple[KernelFacts, dict[str, int]]:
    """A kernel with one free shape variable, and a binding of it."""
    facts = kernel(draw(bodies(Names(("n",)), [0])), variables=("n",))
    return facts, {"n": draw(st.integers(0, 6))}


def kernel(
    body: tuple[Node, ...],
    buffers: tuple[Buffer, ...] | None = None,
    variables: tuple[str, ...] = (),
    launch: Launch | None = None,
) -> KernelFacts:
    """Facts about `body`, over the buffers A, B and C unless others are given."""
    if buffers is None:
        buffers = tuple(Buffer(n, n, DTYPES[n], shape) for n, shape in SHAPES.items())
    return KernelFacts(
        "main",
        "main",
        SPAN,
        "tilelang",
        "0.1.15",
        "main()",
        "defaults",
        tuple(Variable(name) for name in variables),
        buffers,
        launch or Launch(),
        body,
    )
