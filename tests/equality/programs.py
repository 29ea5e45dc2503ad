"""Random TVMScript functions: loop nests with all that decides how often something runs.

Bounds that depend on outer loops, triangles, strides, tails under ``if``, ``else`` and ``T.where``,
conditions on data, counters in ``while``, ``T.if_then_else`` and ``T.Select``, blocks and threads,
vectors, shared arrays, blocks with reductions and ``T.init``, windows on arrays, atomic updates,
launches one after the other; and functions of a size that is only known at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from equality import nests

SHAPES = {"A": (7, 9), "B": (13,), "C": (4, 5), "S": (8, 33)}
DTYPES = {"A": "float32", "B": "float16", "C": "int32", "S": "float32"}
SHARED = "S"
VECTOR = "vectorized"
ALLOCATE = "sblock_alloc_buffer"
HEADER = "from tvm.script import tirx as T\n\n\n@T.prim_func(s_tir=True)\ndef main(\n"


@dataclass(frozen=True)
class Scope:
    """The integer variables of a place in the text, and its indentation."""

    names: tuple[str, ...]
    depth: int
    #: The indices of blocks and threads that are bound, and whether a vector is under way: TVM
    #: makes no vectors of vectors, nor of threads.
    bound: frozenset[str] = frozenset()

    def inside(self, *names: str, bound: str | None = None) -> Scope:
        tags = self.bound if bound is None else self.bound | {bound}
        return Scope((*self.names, *names), self.depth + 1, tags)

    def line(self, text: str) -> str:
        return "    " * self.depth + text + "\n"


@st.composite
def indices(draw: Any, scope: Scope) -> str:
    """An integer expression that is never negative."""
    if not scope.names:
        return str(draw(st.integers(0, 5)))
    name = draw(st.sampled_from(scope.names))
    other = draw(st.sampled_from(scope.names))
    number = draw(st.integers(1, 5))
    forms = (
        f"{name}",
        f"{name} * {number} + {other}",
        f"{name} + {number}",
        f"({name} + {other}) // {number}",
        f"{name} % {number}",
        f"({name} * 3 + {other}) % {number + 1}",
        f"{name} // 2 * {number} + {name} % 2",
        f"T.max({name}, {other})",
        f"T.max({name} - {number}, 0)",
        f"T.min({name}, {number})",
        f"T.min({name} + {other}, {number} * 2)",
    )
    return draw(st.sampled_from(forms))


@st.composite
def conditions(draw: Any, scope: Scope) -> str:
    left, right = draw(indices(scope)), draw(indices(scope))
    operator = draw(st.sampled_from(["<", "<=", "==", "!=", ">"]))
    plain = f"{left} {operator} {right}"
    if draw(st.booleans()):
        return plain
    word = draw(st.sampled_from(["and", "or"]))
    if draw(st.integers(0, 5)) == 0:
        return f"({plain}) {word} ({draw(elements(scope, 'A'))} < T.float32(1))"
    return f"({plain}) {word} ({draw(indices(scope))} < {draw(st.integers(0, 9))})"


@st.composite
def elements(draw: Any, scope: Scope, name: str | None = None) -> str:
    """An element of an array, always inside it."""
    name = name or draw(st.sampled_from(sorted(SHAPES)))
    inside = ", ".join(f"({draw(indices(scope))}) % {size}" for size in SHAPES[name])
    return f"{name}[{inside}]"


@st.composite
def values(draw: Any, scope: Scope, target: str, depth: int = 2) -> str:
    """A value of the type of `target`."""
    name = draw(st.sampled_from(sorted(SHAPES)))
    source = draw(elements(scope, name))
    if DTYPES[name] != DTYPES[target]:
        source = f'T.cast({source}, "{DTYPES[target]}")'
    if depth == 0:
        return source
    other = draw(values(scope, target, depth - 1))
    condition = draw(conditions(scope))
    forms = [
        f"{source} + {other}",
        f"({source} - {other}) * {source}",
        f"T.max({source}, {other})",
        f"T.if_then_else({condition}, {source}, {other})",
        f"T.Select({condition}, {source}, {other})",
    ]
    if "float" in DTYPES[target]:
        forms += [f"T.exp({other})", f"{source} / {other}", f"T.sqrt({other}) + {source}"]
    return draw(st.sampled_from(forms))


@st.composite
def stores(draw: Any, scope: Scope) -> str:
    target = draw(st.sampled_from(sorted(SHAPES)))
    return scope.line(f"{draw(elements(scope, target))} = {draw(values(scope, target))}")


@st.composite
def blocks(draw: Any, scope: Scope, fresh: list[int]) -> str:
    """A block with a predicate and a reduction that is initialised."""
    fresh[0] += 1
    i, k, v, r = (f"{letter}{fresh[0]}" for letter in "ikvr")
    most, depth = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    text = scope.line(f"for {i}, {k} in T.grid({most}, {depth}):")
    inner = scope.inside()
    text += inner.line(f'with T.sblock("b{fresh[0]}"):')
    # A block sees the loops around it by its own axes alone.
    body = Scope((v, r), inner.depth + 1)
    if draw(st.booleans()):
        text += body.line(f"T.where({i} * {draw(st.integers(1, 3))} + {k} < {most + 1})")
    text += body.line(f"{v} = T.axis.spatial({most}, {i})")
    text += body.line(f"{r} = T.axis.reduce({depth}, {k})")
    target = draw(elements(Scope((v,), 0), "A"))
    text += body.line("with T.init():")
    text += body.inside().line(f"{target} = T.float32(0)")
    return text + body.line(f"{target} = {target} + {draw(values(body, 'A', 1))}")


@st.composite
def bodies(draw: Any, scope: Scope, fresh: list[int]) -> str:
    return "".join(draw(_statements(scope, fresh)) for _ in range(draw(st.integers(1, 2))))


@st.composite
def _statements(draw: Any, scope: Scope, fresh: list[int]) -> str:
    kinds = ["store", "store", "atomic", "named"]
    kinds += [] if VECTOR in scope.bound else ["vector"]
    if scope.depth < 5:
        kinds += ["for"] * 6 + ["if", "if", "block", "triangle", "while", "window"]
        kinds += ["tail", "ragged", "padded", "alias", "left", "places"] + ["lanes"] * (
            VECTOR not in scope.bound
        )
    kind = draw(st.sampled_from(kinds))
    if kind == "store":
        return draw(stores(scope))
    if kind == "atomic":
        target = f"T.address_of({draw(elements(scope, 'A'))})"
        return scope.line(f"T.cuda.atomic_add({target}, {draw(values(scope, 'A'))})")
    if kind == "vector":
        one, other = (f"B[T.Ramp(({draw(indices(scope))}) % 9, 1, 4)]" for _ in range(2))
        return scope.line(f"{one} = {other} * T.Broadcast(T.float16(2), 4)")
    if kind == "named":
        fresh[0] += 1
        name = f"x{fresh[0]}"
        text = scope.line(f"{name}: T.int32 = {draw(indices(scope))}")
        named = Scope((*scope.names, name), scope.depth, scope.bound)
        return text + draw(stores(named))
    if kind == "window":
        return draw(windows(scope, fresh))
    if kind in ("tail", "ragged", "padded", "alias", "left", "places", "lanes"):
        fresh[0] += 1
        threads = not scope.bound and draw(st.booleans())
        made = {
            "tail": nests.tails(fresh[0], threads), "ragged": nests.ragged(fresh[0]),
            "padded": nests.padded(fresh[0]), "alias": nests.aliases(fresh[0]),
            "left": nests.left(fresh[0]), "places": nests.places(fresh[0]),
            "lanes": nests.vectors(fresh[0]),
        }[kind]  # fmt: skip
        return nests.text(scope.depth, draw(made))
    if kind == "block":
        return draw(blocks(scope, fresh))
    if kind == "triangle":
        return draw(triangles(scope, fresh))
    if kind == "while":
        return draw(counters(scope, fresh))
    if kind == "if":
        text = scope.line(f"if {draw(conditions(scope))}:") + draw(bodies(scope.inside(), fresh))
        if draw(st.booleans()):
            text += scope.line("else:") + draw(bodies(scope.inside(), fresh))
        return text
    fresh[0] += 1
    name = f"i{fresh[0]}"
    extent = draw(st.integers(1, 4))
    bound = draw(indices(scope))
    forms = [
        f"range({extent})",
        f"T.serial({bound}, {bound} + {extent})",
        f"T.serial({bound})",
        f"T.unroll({extent})",
        f"T.{'serial' if VECTOR in scope.bound else VECTOR}({extent})",
        f"T.serial(T.min({bound}, {extent}))",
        f"T.serial(0, {extent * 2}, step=2)",
    ]
    loop = draw(st.sampled_from(forms))
    tag = draw(st.sampled_from(["blockIdx.x", "threadIdx.x", "threadIdx.y", *[None] * 6]))
    if tag in scope.bound or VECTOR in scope.bound or (tag == "blockIdx.x" and scope.bound):
        tag = None
    if tag is None and VECTOR in loop:
        tag = VECTOR
    elif tag is not None:
        size = draw(st.sampled_from([1, 3, 8, 32, 48] if tag == "threadIdx.x" else [1, 2, 5]))
        loop = f'T.thread_binding({size}, thread="{tag}")'
    text = scope.line(f"for {name} in {loop}:")
    return text + draw(bodies(scope.inside(name, bound=tag), fresh))


@st.composite
def windows(draw: Any, scope: Scope, fresh: list[int]) -> str:
    """A block that sees a part of an array as one of its own."""
    fresh[0] += 1
    i, v, w = (f"{letter}{fresh[0]}" for letter in "ivw")
    number, rows = (draw(st.integers(1, 3)) for _ in range(2))
    columns = draw(st.integers(2, 3))
    text = scope.line(f"for {i} in range({number}):")
    inner = scope.inside()
    text += inner.line(f'with T.sblock("b{fresh[0]}"):')
    body = Scope((v,), inner.depth + 1)
    text += body.line(f"{v} = T.axis.spatial({number}, {i})")
    first, second = f"({draw(indices(body))}) % 4", f"({draw(indices(body))}) % 6"
    region = f"A[{first}:{first} + {rows}, {second}:{second} + {columns}]"
    shape = f'({rows}, {columns}), "float32", strides=[9, 1], offset_factor=1'
    text += body.line(f"{w} = T.match_buffer({region}, {shape})")
    element = f"{w}[({draw(indices(body))}) % {rows}, ({draw(indices(body))}) % {columns}]"
    if draw(st.booleans()):
        text += body.line(f'with T.sblock("c{fresh[0]}"):')
        row = f"{w}[({draw(indices(body))}) % {rows}, 0:{columns}]"
        body = Scope((v,), body.depth + 1)
        text += body.line(f'y = T.match_buffer({row}, ({columns},), "float32", offset_factor=1)')
        element = f"y[({draw(indices(body))}) % {columns}]"
    return text + body.line(f"{element} = {element} + {draw(values(body, 'A', 1))}")


@st.composite
def triangles(draw: Any, scope: Scope, fresh: list[int]) -> str:
    """Three loops, each bounded by those around it, and a guard on all of them."""
    text, inner = "", scope
    size = draw(st.integers(2, 6))
    extents = [str(size)]
    for _ in range(3):
        fresh[0] += 1
        name = f"i{fresh[0]}"
        text += inner.line(f"for {name} in range({draw(st.sampled_from(extents))}):")
        inner = inner.inside(name)
        extents = [f"{name} + 1", f"{size} - {name}", f"{name}, {size}", f"{name} // 2, {name} + 2"]
    text += inner.line(f"if {draw(conditions(inner))}:")
    return text + draw(stores(inner.inside()))


@st.composite
def counters(draw: Any, scope: Scope, fresh: list[int]) -> str:
    """A loop that goes on while a number of its own allows it."""
    fresh[0] += 1
    name = f"n{fresh[0]}"
    text = scope.line(f'{name} = T.{ALLOCATE}((1,), "int32", scope="local")')
    text += scope.line(f"{name}[0] = {draw(indices(scope))}")
    text += scope.line(f"while {name}[0] < {draw(st.integers(1, 9))}:")
    inner = scope.inside()
    text += draw(stores(inner))
    return text + inner.line(f"{name}[0] = {name}[0] + {draw(st.integers(1, 3))}")


@st.composite
def programs(draw: Any) -> str:
    """The text of a module with one function `main`."""
    body = Scope((), 1)
    text = body.line(f'{SHARED} = T.{ALLOCATE}({SHAPES[SHARED]}, "float32", scope="shared")')
    return HEADER + _parameters() + "):\n" + text + draw(bodies(body, [0]))


def _parameters() -> str:
    return "".join(
        f'    {name}: T.Buffer({shape}, "{DTYPES[name]}"),\n'
        for name, shape in SHAPES.items()
        if name != SHARED
    )


@st.composite
def dynamic(draw: Any) -> str:
    """A function of the sizes `m` and `n`: whole rows, tiles with a tail, triangles, guards."""
    tile, few = draw(st.sampled_from([4, 16, 32])), draw(st.integers(1, 5))
    nests = (
        ["for i, j in T.grid(m, n):", "{}"],
        [f"for i in range(T.ceildiv(m, {tile})):", f"for j in range({tile}):",
         f"if i * {tile} + j < m:", "{}"],
        [f"for i in range(m // {tile}):", f"for j in range({tile} * {few}):", "{}"],
        ["for i in range(m):", "for j in range(i + 1):", "{}"],
        ["for i in range(m):", "for j in range(i, m):", f"if j < {few * 7}:", "{}"],
        ["for i in range(n):", f"if i % {few} == 0:", "{}"],
        [f'for i in T.thread_binding(T.ceildiv(n, {tile}), thread="blockIdx.x"):',
         f'for j in T.thread_binding({tile}, thread="threadIdx.x"):',
         f"if i * {tile} + j < n:", f"for k in range({few}):", "{}"],
    )  # fmt: skip
    lines = draw(st.sampled_from(nests))
    store = draw(st.sampled_from([
        "Y[0] = X[0] * T.float32(2) + Y[0]", "Y[i] = T.exp(X[i]) / X[0]",
        "if i < n:\n{0}    Y[i] = X[i]", "Y[i % 8] = T.Select(i < 3, X[0], X[1])",
    ]))  # fmt: skip
    text = "".join(
        "    " * (depth + 1) + line.format(store.format("    " * (depth + 1))) + "\n"
        for depth, line in enumerate(lines)
    )
    return (
        HEADER + "    x: T.handle, y: T.handle, m: T.int32, n: T.int32\n):\n"
        '    X = T.match_buffer(x, (m * 64,), "float32")\n'
        '    Y = T.match_buffer(y, (n * 64,), "float32")\n' + text
    )
