"""Rewrites of facts that correspond to changes of the source: pure functions for advice rules.

A rewrite that does not apply to every kernel returns None where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tirlens.model.counting.facts_walk import node_expressions, walk_nodes
from tirlens_counting.expressions import (
    free_variables,
    from_linear,
    linear,
    simplify,
    substitute,
)
from tirlens_counting.intervals import Interval, bounds
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Evaluate,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    Store,
    While,
)

Path = tuple[Loop, ...]


def loops(facts: KernelFacts) -> Iterator[tuple[Loop, Path]]:
    """Every loop with the loops around it, outermost first."""
    for node, path in _walk(facts.body, ()):
        if isinstance(node, Loop):
            yield node, path


def statements(facts: KernelFacts) -> Iterator[tuple[Statement, Path]]:
    """Every statement with the loops around it, outermost first."""
    for node, path in _walk(facts.body, ()):
        if isinstance(node, Statement):
            yield node, path


def statements_in(loop: Loop) -> Iterator[Statement]:
    """The statements anywhere below `loop`."""
    return (node for node in walk_nodes(loop.body) if isinstance(node, Statement))


def thread_loop(facts: KernelFacts) -> Loop | None:
    """The loop over ``threadIdx.x``, if there is exactly one."""
    found = [loop for loop, _ in loops(facts) if loop.tag == "threadIdx.x"]
    return found[0] if len(found) == 1 else None


def _walk(body: tuple[Node, ...], path: Path) -> Iterator[tuple[Node, Path]]:
    for node in body:
        yield node, path
        if isinstance(node, Loop):
            yield from _walk(node.body, (*path, node))
        elif isinstance(node, Branch):
            yield from _walk(node.then + node.orelse, path)
        elif isinstance(node, While):
            yield from _walk(node.body, path)


def change(facts: KernelFacts, edit: Callable[[Node], Node]) -> KernelFacts:
    """`facts` with `edit` applied to every node, innermost first."""
    return replace(facts, body=changed_nodes(facts.body, edit))


def changed_nodes(body: tuple[Node, ...], edit: Callable[[Node], Node]) -> tuple[Node, ...]:
    """The nodes with `edit` applied to each, and to each inside of them, innermost first."""
    changed: list[Node] = []
    for node in body:
        if isinstance(node, Loop | While):
            node = replace(node, body=changed_nodes(node.body, edit))
        elif isinstance(node, Branch):
            then, orelse = changed_nodes(node.then, edit), changed_nodes(node.orelse, edit)
            node = replace(node, then=then, orelse=orelse)
        changed.append(edit(node))
    return tuple(changed)


def with_stages(facts: KernelFacts, loop: Loop, stages: int) -> KernelFacts:
    """`facts` with `loop` written as ``T.Pipelined(..., num_stages=stages)``."""

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var == loop.var:
            annotations = {**node.annotations, "num_stages": stages}
            return replace(node, kind="pipelined", annotations=annotations)
        return node

    return change(facts, edit)


def with_panel(facts: KernelFacts, panel: int) -> KernelFacts:
    """`facts` with ``T.use_swizzle(panel)``."""
    return replace(facts, launch=replace(facts.launch, panel=panel))


def with_threads(facts: KernelFacts, threads: int) -> KernelFacts | None:
    """`facts` with ``T.Kernel(..., threads=threads)``; None where the program names its threads."""
    loop = thread_loop(facts)
    if loop is None or not facts.launch.threads or loop.extent != facts.launch.threads[0]:
        return None
    if any(loop.var in names(node) for node in walk_nodes(facts.body)):
        return None

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var == loop.var:
            return replace(node, extent=threads)
        return node

    launch = replace(facts.launch, threads=(threads, *facts.launch.threads[1:]))
    return change(replace(facts, launch=launch), edit)


def with_extent(facts: KernelFacts, loop: Loop, extent: Expr) -> KernelFacts:
    """`facts` with another number of iterations of `loop`."""

    def edit(node: Node) -> Node:
        same = isinstance(node, Loop) and node.var == loop.var
        return replace(node, extent=extent) if same else node

    return change(facts, edit)


def with_kind(facts: KernelFacts, loop: Loop, kind: str) -> KernelFacts:
    """`facts` with `loop` of another kind, ``parallel`` for one."""

    def edit(node: Node) -> Node:
        same = isinstance(node, Loop) and node.var == loop.var
        return replace(node, kind=kind) if same else node

    return change(facts, edit)


def with_order(facts: KernelFacts, buffer: Buffer, order: Sequence[int]) -> KernelFacts:
    """`facts` with the dimensions of `buffer` in another order, wherever it is accessed."""

    def permute(access: Access) -> Access:
        if access.buffer != buffer.id:
            return access
        indices = tuple(access.indices[place] for place in order)
        extents = tuple(access.extents[place] for place in order) if access.extents else ()
        return replace(access, indices=indices, extents=extents)

    shape = tuple(buffer.shape[place] for place in order)
    changed = replace(buffer, shape=shape, strides=())
    return _with_accesses(_with_buffer(facts, changed), permute)


def is_compact(buffer: Buffer) -> bool:
    """Whether the elements of an array are row-major without gaps."""
    stride: Expr = 1
    for extent, given in zip(reversed(buffer.shape), reversed(buffer.strides), strict=False):
        if simplify(given) != stride:
            return False
        stride = simplify(("*", extent, stride))
    return True


def with_rows(
    facts: KernelFacts, buffer: Buffer, row: int, ranges: Mapping[str, Interval]
) -> KernelFacts | None:
    """`facts` with an array of one dimension as rows of `row` elements.

    None where its size, or one of its indices, does not consist of whole rows and a rest inside of
    one, by the `ranges` of the variables.
    """
    (size,) = buffer.shape if len(buffer.shape) == 1 else (0,)
    if not isinstance(size, int) or not size or size % row:
        return None
    is_whole = True

    def split(access: Access) -> Access:
        nonlocal is_whole
        if access.buffer != buffer.id:
            return access
        terms, constant = linear(simplify(access.indices[0]))
        parts = {atom: factor for atom, factor in terms.items() if factor % row}
        whole = {atom: factor // row for atom, factor in terms.items() if atom not in parts}
        rest = from_linear(parts, constant % row)
        low, high = bounds(rest, ranges)
        is_inside = low >= 0 and high < row
        is_whole = is_whole and is_inside and not access.extents and access.lanes == 1
        return replace(access, indices=(from_linear(whole, constant // row), rest))

    split_buffer = replace(buffer, shape=(size // row, row), strides=())
    found = _with_accesses(_with_buffer(facts, split_buffer), split)
    return found if is_whole else None


def with_padding(facts: KernelFacts, buffer: Buffer, elements: int) -> KernelFacts:
    """`facts` with `elements` more in each row of `buffer`, which nothing touches."""
    return _with_buffer(facts, longer_rows(buffer, elements))


def longer_rows(buffer: Buffer, elements: int) -> Buffer:
    """`buffer` with `elements` more in each row."""
    last = simplify(("+", buffer.shape[-1], elements))
    return replace(buffer, shape=(*buffer.shape[:-1], last))


def with_vectors(facts: KernelFacts, width: int) -> KernelFacts | None:
    """`facts` with each thread doing `width` neighbouring elements with vector instructions.

    None where the threads of a block are not so many vectors, or where some statement does not
    go from element to element with ``threadIdx.x``.
    """
    loop = thread_loop(facts)
    if loop is None or not isinstance(loop.extent, int) or loop.extent % (32 * width):
        return None
    threads = (loop.extent // width, *facts.launch.threads[1:])
    found = _with_elements_of_threads(facts, loop, {loop.var: ("*", loop.var, width)}, width)
    if found is None:
        return None
    changed = replace(found, launch=replace(facts.launch, threads=threads))
    return with_extent(changed, loop, loop.extent // width)


def with_wide_blocks(facts: KernelFacts, width: int) -> KernelFacts | None:
    """`facts` with the elements of `width` blocks in one, each thread doing a vector of them.

    None where neighbouring blocks do not take neighbouring elements, where their number is no
    multiple of `width`, or as in `with_vectors`.
    """
    loop, grid = thread_loop(facts), _grid_loop(facts)
    if loop is None or grid is None or not isinstance(grid.extent, int) or grid.extent % width:
        return None
    nodes = [node for node in walk_nodes(grid.body) if isinstance(node, Statement)]
    if not all(_continues_in_next_block(node, loop, grid) for node in nodes):
        return None
    first: dict[str, Expr] = {var: ("*", var, width) for var in (loop.var, grid.var)}
    found = _with_elements_of_threads(facts, loop, first, width)
    if found is None:
        return None
    blocks = (grid.extent // width, *facts.launch.grid[1:])
    changed = replace(found, launch=replace(facts.launch, grid=blocks))
    return with_extent(changed, grid, grid.extent // width)


def _grid_loop(facts: KernelFacts) -> Loop | None:
    """The loop over ``blockIdx.x``, if there is exactly one."""
    found = [loop for loop, _ in loops(facts) if loop.tag == "blockIdx.x"]
    return found[0] if len(found) == 1 and facts.launch.grid else None


def _continues_in_next_block(statement: Statement, loop: Loop, grid: Loop) -> bool:
    """Whether the next block takes the elements behind those of a block, or the same ones."""
    here, next_one = {grid.var: 0}, {grid.var: 1}
    for access in statement.accesses:
        *outer, last = access.indices or (0,)
        step = simplify(("-", substitute(last, next_one), substitute(last, here)))
        expected = loop.extent if loop.var in free_variables(last) else 0
        if step != expected or any(grid.var in free_variables(index) for index in outer):
            return False
    return True


def _with_elements_of_threads(
    facts: KernelFacts, loop: Loop, first: dict[str, Expr], width: int
) -> KernelFacts | None:
    """`facts` with `width` elements in each execution of a statement, the first one at `first`.

    None where some statement does not go from element to element with the threads of `loop`.
    """
    nodes = list(walk_nodes(loop.body))
    own = {id(node) for node in nodes if isinstance(node, Statement)}
    if not all(_steps_by_element(one, loop.var) for one in nodes if isinstance(one, Statement)):
        return None
    if any(first.keys() & names(node) for node in nodes if isinstance(node, Let | Loop | While)):
        return None

    def edit(node: Node) -> Node:
        if isinstance(node, Branch):
            return replace(node, condition=simplify(substitute(node.condition, first)))
        if isinstance(node, Statement) and id(node) in own:
            return _widen(node, loop.var, first, width)
        return node

    return change(facts, edit)


def _widen(statement: Statement, thread: str, first: dict[str, Expr], width: int) -> Statement:
    accesses = tuple(
        replace(
            access,
            indices=tuple(simplify(substitute(index, first)) for index in access.indices),
            lanes=width,
        )
        if any(thread in free_variables(index) for index in access.indices)
        else access
        for access in statement.accesses
    )
    arith = tuple(
        replace(item, count=simplify(("*", item.count, width))) for item in statement.arith
    )
    return replace(statement, accesses=accesses, arith=arith)


def _steps_by_element(statement: Statement, thread: str) -> bool:
    """Whether what `statement` accesses moves by one element from thread to thread, or not."""
    if statement.per != "thread" or not isinstance(statement, (Store, Evaluate)):
        return False
    here, next_one = {thread: 0}, {thread: 1}
    for access in statement.accesses:
        if access.lanes != 1 or access.extents or access.guard is not None:
            return False
        *outer, last = access.indices or (0,)
        if any(thread in free_variables(index) for index in outer):
            return False
        step = simplify(("-", substitute(last, next_one), substitute(last, here)))
        if step not in (0, 1):
            return False
    return True


def with_expressions(node: Node, edit: Callable[[Expr], Expr]) -> Node:
    """`node` with `edit` applied to the expressions of the node itself, but for useful work."""
    if isinstance(node, Loop):
        start, extent, step = map(edit, (node.start, node.extent, node.step))
        return replace(node, start=start, extent=extent, step=step)
    if isinstance(node, Branch | While):
        return replace(node, condition=edit(node.condition))
    if isinstance(node, Let):
        return replace(node, value=edit(node.value))
    accesses = tuple(
        replace(
            access,
            indices=tuple(map(edit, access.indices)),
            extents=tuple(map(edit, access.extents)),
            guard=None if access.guard is None else edit(access.guard),
        )
        for access in node.accesses
    )
    arith = tuple(
        replace(
            item, count=edit(item.count), guard=None if item.guard is None else edit(item.guard)
        )
        for item in node.arith
    )
    return replace(node, accesses=accesses, arith=arith)


def names(node: Node) -> frozenset[str]:
    """The variables in the expressions of a node itself, apart from those that it binds."""
    found: set[str] = set()
    for expr in node_expressions(node):
        found |= free_variables(expr)
    return frozenset(found)


def _with_buffer(facts: KernelFacts, changed: Buffer) -> KernelFacts:
    buffers = tuple(changed if item.id == changed.id else item for item in facts.buffers)
    return replace(facts, buffers=buffers)


def _with_accesses(facts: KernelFacts, edit: Callable[[Access], Access]) -> KernelFacts:
    def of_statement(node: Node) -> Node:
        if not isinstance(node, Statement):
            return node
        return replace(node, accesses=tuple(map(edit, node.accesses)))

    return change(facts, of_statement)
