"""Products of arrays in global memory that are written as loops, and the same by tiles.

A block loads a tile of each operand into shared memory for each part of the depth, and one
operation multiplies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tirlens.advice import rewrite
from tirlens.advice.sharing import with_part_replaced
from tirlens.advice.tile_product import (
    Product,
    belongs,
    product_sizes,
    result_tile,
    tile_access,
)
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_counting.expressions import free_variables, simplify, substitute
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Copy,
    Expr,
    Gemm,
    KernelFacts,
    Loop,
    MatrixInstruction,
    Node,
    Statement,
    Store,
    While,
)

#: The depth of the tiles, the operands' rows of 64 bytes where they have 16 bits.
DEPTH = 32
STAGES = 2
_OPERANDS = ("left_tile", "right_tile")


def with_tiles_of_operands(
    product: Product, facts: KernelFacts, instruction: MatrixInstruction | None
) -> KernelFacts | None:
    """`facts` with tiles of shared memory and their products in place of a product's loops.

    The rows and columns of the tiles are those of the result that a block computes. None where
    the block computes no product of two matrices, or something else with it, or where the operands
    are not in global memory.
    """
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    if any(scopes[access.buffer] != "global" for access in product.operands):
        return None
    around = [node for node in product.ancestors if _is_of_launch(node)]
    inside = [node for node in product.ancestors if not _is_of_launch(node)]
    top: Node = inside[0] if inside else product.statement
    store = _store_of_result(product, facts)
    own = (product.statement, *product.loads, *((store,) if store else ()))
    if not all(belongs(node, own, product.result.buffer) for node in walk_nodes((top,))):
        return None
    if any(isinstance(node, Branch | While) and not _is_init(node) for node in product.ancestors):
        return None
    loops = [node for node in inside if isinstance(node, Loop)]
    threads = [
        node
        for node in around
        if isinstance(node, Loop) and node.kind == "block" and product.statement.per == "thread"
    ]
    depth = _depth(product, loops, facts)
    if depth is None or type(depth.extent) is not int or depth.extent % DEPTH:
        return None
    lanes = [loop for loop in loops if loop.kind == "parallel"]
    box: dict[str, tuple[int, int]] = {}
    for loop in (*threads, *loops):
        if type(loop.extent) is not int or loop.start != 0 or loop.step != 1:
            return None
        box[loop.var] = (0, (DEPTH if loop is depth else loop.extent) - 1)
    part: dict[str, Expr] = {depth.var: ("+", depth.var, ("*", _trip(depth), DEPTH))}
    of_part = replace(
        product,
        operands=(
            _substitute(product.operands[0], part),
            _substitute(product.operands[1], part),
        ),
    )
    sizes = product_sizes(of_part, facts, (*threads, *lanes), box)
    if sizes is None:
        return None
    m, n, k = sizes
    result = result_tile(product, facts, sizes)
    sites = product.statement.sites
    scope = "shared.dyn" if facts.framework == "tilelang" else "shared"
    copies: list[Copy] = []
    tiles: list[Access] = []
    buffers: list[Buffer] = []
    dtypes = {buffer.id: buffer.dtype for buffer in facts.buffers}
    for name, operand in zip(_OPERANDS, of_part.operands, strict=True):
        taken = replace(tile_access(operand, box), route="tile")
        shape = tuple(extent for extent in taken.extents if extent != 1)
        if len(shape) != 2:
            return None
        zero: tuple[Expr, ...] = (0, 0)
        tile = Access(name, "write", zero, shape, route="tile")
        buffers.append(Buffer(name, name, dtypes[operand.buffer], shape, scope=scope))
        copies.append(Copy("copy of a tile", accesses=(taken, tile), per="block", sites=sites))
        tiles.append(replace(tile, mode="read", route="mma"))
    whole = Access(result.id, "read", (0, 0), (m, n), route="mma")
    dtype = dtypes[product.operands[0].buffer]
    operation = Gemm(
        label="product of tiles",
        arith=(Arith("mma", dtype, m * n * k, accumulator=result.dtype, shape=(m, n, k)),),
        accesses=(*tiles, whole, replace(whole, mode="write")),
        per="block",
        sites=product.statement.sites,
        m_n_k=(m, n, k),
        transposes=(buffers[0].shape == (k, m) != (m, k), buffers[1].shape == (n, k) != (k, n)),
        instruction=instruction,
    )
    is_tilelang = facts.framework == "tilelang"
    nodes: tuple[Node, ...] = (
        Loop(
            "pipelined" if is_tilelang else "serial",
            _trip(depth),
            0,
            depth.extent // DEPTH,
            (*copies, operation),
            sites=depth.sites,
            annotations={"num_stages": STAGES} if is_tilelang else {},
        ),
    )
    target = product.result if scopes[product.result.buffer] == "global" else None
    if store is not None:
        target = next(access for access in store.accesses if access.mode == "write")
    if target is not None:
        stored = replace(tile_access(target, box), mode="write", route="tile")
        read = replace(whole, route="tile")
        last = Copy("store of the tile", accesses=(read, stored), per="block", sites=sites)
        nodes = (*nodes, last)
    known = {buffer.id for buffer in facts.buffers}
    added = () if result.id in known else (result,)
    body = with_part_replaced(facts.body, top, nodes)
    if store is not None:
        body = with_part_replaced(body, store, ())
    return replace(facts, body=body, buffers=(*facts.buffers, *buffers, *added))


def _store_of_result(product: Product, facts: KernelFacts) -> Statement | None:
    """The statement that stores a result from a register; None where there is none alone."""
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    name = product.result.buffer
    if not scopes[name].startswith("local") or scopes[name] == "local.fragment":
        return None
    found = [
        statement
        for statement, _ in rewrite.statements(facts)
        if statement is not product.statement
        and any(access.buffer == name and access.mode == "read" for access in statement.accesses)
    ]
    if len(found) != 1 or not isinstance(found[0], Store) or len(found[0].accesses) != 2:
        return None
    written = [access for access in found[0].accesses if access.mode == "write"]
    is_plain = len(written) == 1 and scopes[written[0].buffer] == "global"
    return found[0] if is_plain and all(one.op == "cast" for one in found[0].arith) else None


def _is_of_launch(node: Node) -> bool:
    return isinstance(node, Loop) and node.kind in ("grid", "cluster", "block", "persistent")


def _is_init(node: Node) -> bool:
    return isinstance(node, Branch) and node.kind == "init"


def _depth(product: Product, loops: list[Loop], facts: KernelFacts) -> Loop | None:
    """The loop of the sums; None where there are several, or the operands do not go along it."""
    results = frozenset[str]().union(*map(free_variables, product.result.indices))
    results |= {loop.var for loop in loops if loop.kind == "parallel"}
    first, second = (
        frozenset[str]().union(*map(free_variables, access.indices)) for access in product.operands
    )
    found = [loop for loop in loops if loop.var in first & second and loop.var not in results]
    rest = [loop for loop in loops if loop not in found and loop.var not in results]
    is_register = next(one for one in facts.buffers if one.id == product.result.buffer).scope
    return found[0] if len(found) == 1 and not rest and is_register != "shared" else None


def _trip(depth: Loop) -> str:
    return f"{depth.var}_tile"


def _substitute(access: Access, names: Mapping[str, Expr]) -> Access:
    indices = tuple(simplify(substitute(index, names)) for index in access.indices)
    return replace(access, indices=indices)
