"""Products of tiles that are written as loops, and the tile operation that computes the same.

In a product of an M x K tile and a K x N tile, each element of the first is used N times, each of
the second M times, and each element of the result is the sum of K products. The sizes follow from
these counts, whatever the loops, threads and index expressions are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.advice import rewrite
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_counting import Domain, Solver, find_image
from tirlens_counting.expressions import free_variables, simplify, substitute
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Expr,
    Gemm,
    KernelFacts,
    Let,
    Loop,
    MatrixInstruction,
    Node,
    Statement,
    Store,
    While,
)

#: Loops of which one operation on a tile executes all iterations.
_LOOPS_OF_A_TILE = ("serial", "unroll", "parallel", "vectorized")
_RESULT = "product_tile"


@dataclass(frozen=True)
class Product:
    """A statement ``c += a * b``.

    Attributes
    ----------
    result, operands
        The accesses with names replaced by their values. An operand that a register holds is the
        element of the array from which `loads` read it.
    loads
        The statements that load an operand into registers.
    ancestors
        The nodes around the statement, outermost first.
    """

    statement: Store
    result: Access
    operands: tuple[Access, Access]
    loads: tuple[Statement, ...]
    ancestors: tuple[Node, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around the statement, outermost first."""
        return tuple(node for node in self.ancestors if isinstance(node, Loop))


@dataclass(frozen=True)
class TileProduct:
    """The nodes that one operation on tiles replaces, and that operation."""

    nest: Loop | Store
    operation: Gemm
    result: Buffer


def products(facts: KernelFacts) -> Iterator[Product]:
    """The statements ``c += a * b`` of a kernel whose operands are two elements of arrays."""
    for statement, ancestors, names in _statements(facts.body, (), {}):
        if not isinstance(statement, Store) or not {"mul", "add"} <= {
            one.op for one in statement.arith
        }:
            continue
        writes = [access for access in statement.accesses if access.mode == "write"]
        reads = dict.fromkeys(access for access in statement.accesses if access.mode == "read")
        written = {access.buffer for access in writes}
        operands = [access for access in reads if access.buffer not in written]
        is_sum = any(access.buffer in written for access in reads)
        if len(writes) != 1 or len(operands) != 2 or not is_sum:
            continue
        origins = [_origin(access, facts) for access in operands]
        first, second = (_resolve(access, names) for access, _ in origins)
        loads = tuple(load for _, load in origins if load is not None)
        result = _resolve(writes[0], names)
        yield Product(statement, result, (first, second), loads, ancestors)


def _statements(
    body: Sequence[Node], ancestors: tuple[Node, ...], names: Mapping[str, Expr]
) -> Iterator[tuple[Statement, tuple[Node, ...], Mapping[str, Expr]]]:
    for node in body:
        inside = (*ancestors, node)
        if isinstance(node, Let):
            names = {**names, node.var: substitute(node.value, names)}
        elif isinstance(node, Statement):
            yield node, ancestors, names
        elif isinstance(node, Branch):
            yield from _statements(node.then, inside, names)
            yield from _statements(node.orelse, inside, names)
        else:
            yield from _statements(node.body, inside, names)


def _resolve(access: Access, names: Mapping[str, Expr]) -> Access:
    return replace(access, indices=tuple(substitute(index, names) for index in access.indices))


def _origin(access: Access, facts: KernelFacts) -> tuple[Access, Statement | None]:
    """The element that a register holds, and its load; the access itself where there is none."""
    scope = _buffer(facts, access.buffer).scope
    if not scope.startswith("local") or scope == "local.fragment":
        return access, None
    loads = [
        statement
        for statement, _ in rewrite.statements(facts)
        if any(one.buffer == access.buffer and one.mode != "read" for one in statement.accesses)
    ]
    if len(loads) != 1 or not all(item.op == "cast" or item.index for item in loads[0].arith):
        return access, None
    written = [one for one in loads[0].accesses if one.mode == "write"]
    read = [one for one in loads[0].accesses if one.mode == "read"]
    if len(written) != 1 or len(read) != 1 or written[0].extents or read[0].extents:
        return access, None
    values: dict[str, Expr] = {}
    for index, value in zip(written[0].indices, access.indices, strict=True):
        if isinstance(index, str):
            values[index] = value
        elif index != value:
            return access, None
    return _resolve(read[0], values), loads[0]


def tile_product(
    product: Product, facts: KernelFacts, instruction: MatrixInstruction | None
) -> TileProduct | None:
    """The operation on tiles that computes a product of two tiles that a block holds.

    Parameters
    ----------
    product
        One of the `products` of the kernel.
    facts
        The kernel.
    instruction
        The matrix instruction of the operation; None where the framework chooses.

    Returns
    -------
    The operation; None where an operand is no tile of a block, where the nest of loops contains
    anything else, or where it is no product of two matrices.
    """
    if not all(_is_tile(_buffer(facts, access.buffer)) for access in product.operands):
        return None
    for nest in _nests(product, facts):
        found = _operation(nest, product, facts, instruction)
        if found is not None:
            return found
    return None


def with_tile_product(facts: KernelFacts, found: TileProduct) -> KernelFacts:
    """`facts` with the operation in place of the nest."""

    def edit(node: Node) -> Node:
        return found.operation if node == found.nest else node

    known = {buffer.id for buffer in facts.buffers}
    added = () if found.result.id in known else (found.result,)
    return rewrite.change(replace(facts, buffers=(*facts.buffers, *added)), edit)


def _is_tile(buffer: Buffer) -> bool:
    return buffer.scope.startswith("shared") or buffer.scope == "local.fragment"


def _nests(product: Product, facts: KernelFacts) -> list[Loop | Store]:
    """The loops around the product that contain nothing else, the outermost first."""
    nests: list[Loop | Store] = [product.statement]
    own = (product.statement, *product.loads)
    for node in reversed(product.ancestors):
        if isinstance(node, Branch) and node.kind == "init":
            continue
        if not isinstance(node, Loop) or node.kind not in _LOOPS_OF_A_TILE:
            break
        if not all(belongs(inner, own, product.result.buffer) for inner in walk_nodes(node.body)):
            break
        nests.append(node)
    return nests[::-1]


def belongs(node: Node, own: tuple[Statement, ...], result: str) -> bool:
    """Whether a node is part of the product: its loops, its loads, or its first value."""
    if isinstance(node, Statement):
        targets = {access.buffer for access in node.accesses}
        return node in own or (not node.arith and targets == {result})
    if isinstance(node, Loop):
        return node.kind in _LOOPS_OF_A_TILE
    return isinstance(node, Let) or (isinstance(node, Branch) and node.kind == "init")


def _operation(
    nest: Loop | Store,
    product: Product,
    facts: KernelFacts,
    instruction: MatrixInstruction | None,
) -> TileProduct | None:
    inside = list(walk_nodes((nest,)))
    if not all(load in inside for load in product.loads):
        return None
    threads = [loop for loop in product.loops if loop.kind == "block"]
    if product.statement.per == "block":
        threads = []
    elif product.statement.per != "thread":
        return None
    loops = [*threads, *(loop for loop in product.loops if loop in inside)]
    box = _box(loops)
    if box is None or _is_guarded(product, box):
        return None
    sizes = product_sizes(product, facts, threads, box)
    if sizes is None:
        return None
    result, (m, n, k) = result_tile(product, facts, sizes), sizes
    whole = Access(result.id, "read", (0, 0), (m, n), route="mma")
    dtype = _buffer(facts, product.operands[0].buffer).dtype
    operation = Gemm(
        label="product of tiles",
        arith=(Arith("mma", dtype, m * n * k, accumulator=result.dtype, shape=(m, n, k)),),
        accesses=(
            *(tile_access(access, box) for access in product.operands),
            whole,
            replace(whole, mode="write"),
        ),
        per="block",
        sites=product.statement.sites,
        m_n_k=(m, n, k),
        instruction=instruction,
    )
    return TileProduct(nest, operation, result)


def _box(loops: Sequence[Loop]) -> dict[str, tuple[int, int]] | None:
    """The inclusive ranges of the loops; None where one is not a constant."""
    box: dict[str, tuple[int, int]] = {}
    for loop in loops:
        if type(loop.start) is not int or type(loop.extent) is not int or loop.step != 1:
            return None
        box[loop.var] = (loop.start, loop.start + loop.extent - 1)
    return box


def _is_guarded(product: Product, box: Mapping[str, object]) -> bool:
    """Whether a condition restricts the points at which the product is computed."""
    return any(
        isinstance(node, Branch | While)
        and not (isinstance(node, Branch) and node.kind == "init")
        and (isinstance(node, While) or not free_variables(node.condition).isdisjoint(box))
        for node in product.ancestors
    )


def product_sizes(
    product: Product,
    facts: KernelFacts,
    threads: Sequence[Loop],
    box: Mapping[str, tuple[int, int]],
) -> tuple[int, int, int] | None:
    """M, N and K of the product over the points of `box`; None where it multiplies no matrices."""
    points = math.prod(high - low + 1 for low, high in box.values())
    counts = [_distinct(access.indices, box) for access in product.operands]
    place: tuple[Expr, ...] = product.result.indices
    if _is_of_threads(_buffer(facts, product.result.buffer)):
        place = (*place, *(loop.var for loop in threads))
    first, second, result = (*counts, _distinct(place, box))
    if not first or not second or not result:
        return None
    m, n, k = points // second, points // first, points // result
    is_product = (m * k, k * n, m * n) == (first, second, result) and m * n * k == points
    return (m, n, k) if is_product and min(m, n, k) > 1 else None


def _is_of_threads(buffer: Buffer) -> bool:
    """Whether each thread has an array of its own."""
    return buffer.scope.startswith("local") and buffer.scope != "local.fragment"


def _distinct(indices: Sequence[Expr], box: Mapping[str, tuple[int, int]]) -> int | None:
    """The number of distinct elements over `box`, with the variables of other loops at 0."""
    names = frozenset[str]().union(*map(free_variables, indices))
    outer: dict[str, Expr] = dict.fromkeys(names - box.keys(), 0)
    inside = [simplify(substitute(index, outer)) for index in indices]
    ranges = [bounds(index, box) for index in inside]
    if not all(math.isfinite(low) and math.isfinite(high) for low, high in ranges):
        return None
    domain = Domain()
    for name, (low, high) in box.items():
        domain = domain.with_axis(name, low, high - low + 1)
    shape = [int(high) + 1 for _, high in ranges]
    image = find_image(domain.problem, inside, shape, Solver())
    return None if image is None else image.size


def result_tile(product: Product, facts: KernelFacts, sizes: tuple[int, int, int]) -> Buffer:
    """The tile of registers to which the operation adds: the array itself if it is one."""
    buffer = _buffer(facts, product.result.buffer)
    shape = (sizes[0], sizes[1])
    if buffer.scope == "local.fragment" and buffer.shape == shape:
        return buffer
    return Buffer(_RESULT, _RESULT, buffer.dtype, shape, scope="local.fragment")


def tile_access(access: Access, box: Mapping[str, tuple[int, int]]) -> Access:
    """The box of an array that an operand takes over all points."""
    first: dict[str, Expr] = {name: low for name, (low, _) in box.items()}
    corner = tuple(simplify(substitute(index, first)) for index in access.indices)
    extents: list[Expr] = []
    for index in access.indices:
        outer: dict[str, Expr] = dict.fromkeys(free_variables(index) - box.keys(), 0)
        low, high = bounds(simplify(substitute(index, outer)), box)
        extents.append(int(high - low) + 1)
    return replace(access, indices=corner, extents=tuple(extents), lanes=1, route="mma")


def _buffer(facts: KernelFacts, name: str) -> Buffer:
    return next(buffer for buffer in facts.buffers if buffer.id == name)
