"""Which loops nvcc unrolls without a pragma: the sizes at which it does and does not."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.mapping.unrolled_loops import find_unrolled_loops
from tirlens_worker.facts import Access, Arith, Barrier, Branch, Buffer, Expr, Loop, Node, Store

BUFFERS = {
    one.id: one
    for one in (
        Buffer("g", "g", "float32", (4096,)),
        Buffer("s", "s", "float32", (4096,), "shared"),
        Buffer("r", "r", "float32", (256,), "local"),
        Buffer("sum", "sum", "float32", (1,), "local"),
    )
}


def update(name: str, *sources: str, index: Expr = 0) -> Store:
    """``name[index] += source[k] * ...``: a multiply-add, or an addition of one source."""
    operations = ("mul", "add") if len(sources) > 1 else ("add",)
    return Store(
        "update",
        tuple(Arith(one, "float32") for one in operations),
        (
            *(Access(source, "read", ("k",)) for source in sources),
            Access(name, "read", (index,)),
            Access(name, "write", (index,)),
        ),
    )


def serial(extent: Expr, *body: Node, var: str = "k", **other: Expr) -> Loop:
    return Loop("serial", var, other.get("start", 0), extent, body, other.get("step", 1))


def outer(*body: Node) -> Loop:
    return serial("n", *body, var="o")


def product(rows: int, depth: int) -> Loop:
    """``r[i, j] += s[i, k] * s[k, j]`` of rows x rows elements."""
    index: Expr = ("+", ("*", "i", rows), "j")
    body: Node = update("r", "s", "s", index=index)
    for var in "ji":
        body = serial(rows, body, var=var)
    return serial(depth, body)


SUM = update("sum", "s")


@pytest.mark.parametrize(
    ("node", "unrolled"),
    [
        # Sums of shared memory, alone and in another loop; one more is too long alone.
        (serial(128, SUM), "k"),
        (serial(129, SUM), ""),
        (outer(serial(1024, SUM)), "k"),
        (outer(serial(4096, SUM)), ""),
        # Elements of an array in registers, which have no index.
        (serial(256, update("r", "s", index="k")), "k"),
        (serial(1025, update("r", "s", index="k")), ""),
        # Products of register tiles with all of their loops.
        (outer(product(4, 64)), "ijk"),
        (outer(product(8, 32)), "ijk"),
        (outer(product(8, 64)), "ij"),
        # What the program unrolls is part of what is around it.
        (serial(4, Loop("unroll", "j", 0, 32, (SUM,))), "k"),
        (serial(5, Loop("unroll", "j", 0, 32, (SUM,))), ""),
        (serial(128, Branch(("<", "t", 9), (SUM,))), "k"),
        # Lengths, starts and steps that are not known, barriers, and global memory.
        (serial("n", SUM), ""),
        (serial(4, SUM, start="t"), ""),
        (serial(4, SUM, step="n"), ""),
        (serial(4, SUM, Barrier("sync")), ""),
        (serial(4, update("sum", "g")), ""),
        # Not what is inside of such a loop.
        (serial(4, Barrier("sync"), serial(4, SUM, var="j")), "j"),
    ],
)
def test_loops_that_the_compiler_unrolls(node: Loop, unrolled: str) -> None:
    found = find_unrolled_loops((node,), BUFFERS)

    def names(one: Node) -> set[str]:
        if isinstance(one, Branch):
            return set[str]().union(*map(names, one.then))
        if not isinstance(one, Loop):
            return set()
        own = {one.var} if id(one) in found else set[str]()
        return own.union(*map(names, one.body))

    assert names(node) == set(unrolled)
