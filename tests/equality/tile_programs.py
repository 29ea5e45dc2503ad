"""Random tilelang kernels: tile operations under all that decides how often and on what they run.

Tiles that reach over the edges of odd arrays, pipelined, triangular and persistent loops, products
with transposes, reductions, scans, atomic updates by tile and by element, parallel loops with
guards and choices, conditions on blocks, threads and data, vectors of one thread, counters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

HEADER = "import tilelang.language as T\n\n\n@T.prim_func\ndef main(\n"
_REDUCTIONS = ("sum", "max", "min", "absmax")


@dataclass(frozen=True)
class Place:
    """Where a statement stands: the integers it can name, its indentation, the kernel's sizes."""

    names: tuple[str, ...]
    depth: int
    rows: int
    columns: int
    deep: int

    def inside(self, *names: str) -> Place:
        sizes = self.rows, self.columns, self.deep
        return Place((*self.names, *names), self.depth + 1, *sizes)

    def line(self, text: str) -> str:
        return "    " * self.depth + text + "\n"


@st.composite
def kernels(draw: Any) -> str:
    """The text of a module with one kernel `main`."""
    rows, columns, deep = (draw(st.sampled_from([8, 16, 32])) for _ in range(3))
    m, n, k = (draw(st.integers(1, 3)) * 32 + draw(st.sampled_from([0, 0, 5, 16])) for _ in "mnk")
    threads = draw(st.sampled_from([32, 64, 128]))
    place = Place(("bx", "by"), 2, rows, columns, deep)
    arrays = {
        "A": ("T.alloc_shared", (rows, deep), "float16"),
        "B": ("T.alloc_shared", (deep, columns), "float16"),
        "At": ("T.alloc_shared", (deep, rows), "float16"),
        "S": ("T.alloc_shared", (rows, columns), "float32"),
        "F": ("T.alloc_fragment", (rows, columns), "float32"),
        "H": ("T.alloc_fragment", (rows, columns), "float16"),
        "r": ("T.alloc_fragment", (rows,), "float32"),
        "c": ("T.alloc_fragment", (columns,), "float32"),
        "own": ("T.alloc_local", (4,), "float32"),
    }
    text = HEADER
    for name, shape, dtype in (
        ("GA", (m, k), "float16"), ("GB", (k, n), "float16"), ("GC", (m, n), "float32"),
        ("GR", (m,), "float32"), ("GI", (m,), "int32"),
    ):  # fmt: skip
        text += f'    {name}: T.Tensor({shape}, "{dtype}"),\n'
    text += "):\n    "
    text += f"with T.Kernel({-(-n // columns)}, {-(-m // rows)}, threads={threads}) as (bx, by):\n"
    for name, (allocate, shape, dtype) in arrays.items():
        text += place.line(f'{name} = {allocate}({shape}, "{dtype}")')
    bound = f'T.thread_binding(0, {threads}, thread="threadIdx.x")'
    text += place.line(f"tx = {draw(st.sampled_from(['T.get_thread_binding()', bound]))}")
    return text + draw(_body(place, [0], 4))


@st.composite
def _body(draw: Any, place: Place, fresh: list[int], most: int = 3) -> str:
    number = draw(st.integers(1, most))
    return "".join(draw(_statement(place, fresh)) for _ in range(number))


@st.composite
def _statement(draw: Any, place: Place, fresh: list[int]) -> str:
    kinds = [_copy, _copy, _product, _whole, _parallel, _parallel, _by_thread]
    if place.depth < 5:
        kinds += [_loop, _loop, _branch, _counter]
    return draw(draw(st.sampled_from(kinds))(place, fresh))


@st.composite
def _index(draw: Any, names: tuple[str, ...]) -> str:
    """An integer that is never negative."""
    one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    number = draw(st.integers(1, 5))
    forms = (
        one, one, f"{one} + {number}", f"{one} * {number} + {other}", f"{one} // {number}",
        f"({one} + {other}) % {number + 1}", f"T.max({one} - {number}, 0)",
        f"T.min({one} + {other}, {number})",
    )  # fmt: skip
    return draw(st.sampled_from(forms))


@st.composite
def _condition(draw: Any, names: tuple[str, ...], data: str | None = None) -> str:
    operator = draw(st.sampled_from(["<", "<=", "==", "!=", ">="]))
    plain = f"{draw(_index(names))} {operator} {draw(_index(names))}"
    if data is not None and draw(st.integers(0, 7)) == 0:
        return f"{data} < 1"
    return draw(
        st.sampled_from([plain, f"{draw(_index(names))} {operator} {draw(st.integers(0, 20))}"])
    )


@st.composite
def _corner(draw: Any, place: Place, tile: int, block: str) -> str:
    """Where a tile begins along one dimension: its own place, another one, or any."""
    other = draw(st.sampled_from(place.names))
    forms = [f"{block} * {tile}", f"{block} * {tile}", f"{other} * {tile}", "0"]
    return draw(st.sampled_from([*forms, f"{other} * {tile} + {draw(st.integers(1, 9))}"]))


@st.composite
def _copy(draw: Any, place: Place, fresh: list[int]) -> str:
    rows, columns, deep = place.rows, place.columns, place.deep
    row, column = draw(_corner(place, rows, "by")), draw(_corner(place, columns, "bx"))
    step = draw(_corner(place, deep, draw(st.sampled_from(place.names))))
    few = draw(st.integers(1, rows))
    forms = (
        f"T.copy(GA[{row}, {step}], A)",
        f"T.copy(GB[{step}, {column}], B)",
        f"T.copy(GA[{row}:{row} + {rows}, {step}:{step} + {deep}], A)",
        f"T.copy(GC[{row}, {column}], F)",
        f"T.copy(GC[{row}, {column}], H)",
        f"T.copy(F, GC[{row}, {column}])",
        f"T.copy(S, GC[{row}:{row} + {rows}, {column}:{column} + {columns}])",
        f"T.copy(S[0:{few}, 0:{columns}], GC[{row}:{row} + {few}, {column}:{column} + {columns}])",
        f"T.copy(GR[{row}:{row} + {rows}], r)",
        f"T.copy(r, GR[{row}])",
        "T.copy(F, S)",
        "T.copy(S, F)",
        "T.copy(F, H)",
        "T.copy(H, F)",
        f"T.copy(GR[{row}:{row} + 4], own)",
    )
    return place.line(draw(st.sampled_from(forms)))


@st.composite
def _product(draw: Any, place: Place, fresh: list[int]) -> str:
    accumulator = draw(st.sampled_from(["F", "F", "S"]))
    clear = draw(st.sampled_from(["", "", ", clear_accum=True"]))
    operands = draw(st.sampled_from(["A, B, {}", "At, B, {}, transpose_A=True"]))
    return place.line(f"T.gemm({operands.format(accumulator)}{clear})")


@st.composite
def _whole(draw: Any, place: Place, fresh: list[int]) -> str:
    """An operation on whole tiles."""
    name, tile = draw(st.sampled_from(_REDUCTIONS)), draw(st.sampled_from("FS"))
    target, axis = draw(st.sampled_from([("r", 1), ("c", 0)]))
    clear, reverse = draw(st.booleans()), draw(st.booleans())
    row, column = draw(_corner(place, place.rows, "by")), draw(_corner(place, place.columns, "bx"))
    forms = (
        f"T.clear({tile})",
        f"T.fill({tile}, -T.infinity('float32'))",
        f"T.reduce_{name}({tile}, {target}, dim={axis}, clear={clear})",
        f"T.reduce_abssum({tile}, {target}, dim={axis})",
        f"T.cumsum(S, dim={axis}, reverse={reverse})",
        f"T.atomic_add(GC[{row}, {column}], {tile})",
        f"T.atomic_add(GR[{row}], r)",
    )
    return place.line(draw(st.sampled_from(forms)))


@st.composite
def _value(draw: Any, place: Place, depth: int = 2) -> str:
    """A float32 of an iteration (i, j) of a parallel loop over a tile."""
    row, column = draw(_corner(place, place.rows, "by")), draw(_corner(place, place.columns, "bx"))
    sources = (
        "F[i, j]", "S[i, j]", "r[i]", "c[j]", f"GC[{row} + i, {column} + j]",
        'T.cast(H[i, j], "float32")', f"GR[{row} + i]", "T.float32(2)",
    )  # fmt: skip
    source = draw(st.sampled_from(sources))
    if depth == 0:
        return source
    other = draw(_value(place, depth - 1))
    condition = draw(_condition((*place.names, "i", "j"), data="GI[i]"))
    forms = (
        f"{source} * {other}", f"{source} - {other}", f"T.exp2({other} * {source})",
        f"T.max({source}, {other})", f"T.if_then_else({condition}, {source}, {other})",
        f"T.Select({condition}, {source}, {other})", f"{source} / {other}", f"T.rsqrt({other})",
    )  # fmt: skip
    return draw(st.sampled_from(forms))


@st.composite
def _parallel(draw: Any, place: Place, fresh: list[int]) -> str:
    """A loop over the elements of a tile, shared out to the threads."""
    text = place.line(f"for i, j in T.Parallel({place.rows}, {place.columns}):")
    inner = place.inside()
    if draw(st.booleans()):
        text += inner.line(f"if {draw(_condition((*place.names, 'i', 'j'), data='GI[i]'))}:")
        inner = inner.inside()
    row, column = draw(_corner(place, place.rows, "by")), draw(_corner(place, place.columns, "bx"))
    value, kept = draw(_value(place)), draw(_condition((*place.names, "i", "j")))
    element = f"GC[{row} + i, {column} + j]"
    forms = (
        f"F[i, j] = {value}", f"F[i, j] += {value}", f"S[i, j] = {value}", f"{element} = {value}",
        f"T.atomic_add({element}, F[i, j])", f"T.atomic_max(GR[({row} + i) % 32], {value})",
        f"F[i, j] = T.if_then_else({kept}, F[i, j], -T.infinity('float32'))",
        f'H[i, j] = T.cast({value}, "float16")',
    )  # fmt: skip
    return text + inner.line(draw(st.sampled_from(forms)))


@st.composite
def _by_thread(draw: Any, place: Place, fresh: list[int]) -> str:
    """What each thread does by itself."""
    names = (*place.names, "tx")
    text = ""
    if draw(st.booleans()):
        text += place.line(f"if {draw(_condition(names, data='GI[bx]'))}:")
        place = place.inside()
    at = f"({draw(_index(names))}) % {place.rows}, ({draw(_index(names))}) % {place.columns}"
    forms = (
        f"S[{at}] = S[{at}] + GR[({draw(_index(names))}) % 32]",
        f"GC[{at}] = T.exp(S[{at}])",
        f"GC[by * {place.rows} + tx, bx] = own[0]",
        f"T.atomic_add(GC[{at}], own[1])",
        "T.sync_threads()",
    )
    if draw(st.booleans()):
        return text + place.line(draw(st.sampled_from(forms)))
    text += place.line("for v in T.vectorized(4):")
    place = place.inside()
    forms = (
        f"own[v] = GC[({draw(_index(names))}) % {place.rows}, v]",
        f"S[({draw(_index(names))}) % {place.rows}, v] = own[v] * T.float32(3)",
        "GR[tx % 8 * 4 + v] = own[v]",
    )
    return text + place.line(draw(st.sampled_from(forms)))


@st.composite
def _loop(draw: Any, place: Place, fresh: list[int]) -> str:
    fresh[0] += 1
    name, number = f"k{fresh[0]}", draw(st.integers(1, 4))
    bound = draw(_index(place.names))
    forms = (
        f"T.Pipelined({number}, num_stages=2)", f"T.serial({number})", f"T.unroll({number})",
        f"T.Pipelined(T.min({bound}, {number}), num_stages=3)", f"T.serial({bound})",
        f"range({bound}, {bound} + {number})", f"T.serial(T.ceildiv({bound} + 1, {number}))",
        f"T.serial(0, {number * 3}, 2)",
    )  # fmt: skip
    return place.line(f"for {name} in {draw(st.sampled_from(forms))}:") + draw(
        _body(place.inside(name), fresh)
    )


@st.composite
def _branch(draw: Any, place: Place, fresh: list[int]) -> str:
    text = place.line(f"if {draw(_condition(place.names, data='GI[by]'))}:")
    text += draw(_body(place.inside(), fresh))
    if draw(st.booleans()):
        text += place.line("else:") + draw(_body(place.inside(), fresh))
    return text


@st.composite
def _counter(draw: Any, place: Place, fresh: list[int]) -> str:
    """A loop that goes on while a number of its own allows it."""
    fresh[0] += 1
    name = f"n{fresh[0]}"
    text = place.line(f'{name} = T.alloc_var("int32")')
    text += place.line(f"{name} = {draw(_index(place.names))}")
    text += place.line(f"while {name} < {draw(st.integers(1, 6))}:")
    text += draw(_by_thread(place.inside(), fresh))
    return text + place.inside().line(f"{name} = {name} + {draw(st.integers(1, 2))}")
