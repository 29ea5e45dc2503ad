"""Nests as schedules leave them, for `programs`: what random statements seldom come to.

Tiles whose last one is not whole, under ``T.where`` in a block of threads and under ``if`` in a
vector; loops within loops whose bounds are rounded, strided and cut off; choices within choices
around loads that lie outside an array; other names for an array's memory.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_ODD = st.sampled_from([3, 5, 6, 7, 11])


def text(depth: int, lines: list[str]) -> str:
    """Lines at an indentation; what they have of their own is kept."""
    return "".join("    " * depth + line + "\n" for line in lines)


@st.composite
def tails(draw: Any, number: int, threads: bool) -> list[str]:
    """A split axis whose last tile is not whole; with `threads` bound to blocks and threads."""
    size = draw(st.integers(2, 13))
    tile = draw(st.sampled_from([3, 8, 48] if threads else [2, 4, 5]))
    o, i, v = (f"{letter}{number}" for letter in "oiv")
    tiles = -(-size // tile) + draw(st.sampled_from([0, 0, 1]))
    outer, inner = f"range({tiles})", f"range({tile})"
    if threads:
        outer = f'T.thread_binding({tiles}, thread="blockIdx.x")'
        inner = f'T.thread_binding({tile}, thread="threadIdx.x")'
    flat = f"{o} * {tile} + {i}"
    lines = [f"for {o} in {outer}:", f"    for {i} in {inner}:"]
    lines += [f'        with T.sblock("t{number}"):', f"            T.where({flat} < {size})"]
    lines.append(f"            {v} = T.axis.spatial({size}, {flat})")
    forms = (
        f"B[{v}] = B[{v}] * T.float16(3)",
        f"A[{v} % 7, {v} // 7] = T.exp(A[{v} // 9, {v} % 9])",
        f"C[{v} // 5 % 4, {v} % 5] = C[0, 0] + T.if_then_else({v} < {size // 2}, 1, C[1, 1])",
    )
    return [*lines, "            " + draw(st.sampled_from(forms))]


@st.composite
def vectors(draw: Any, number: int) -> list[str]:
    """A vector of which some lanes are left out, as the tail of a split makes them."""
    o, v = f"o{number}", f"l{number}"
    lanes, size = draw(st.sampled_from([2, 4, 8])), draw(st.integers(3, 13))
    lines = [f"for {o} in range({-(-size // lanes)}):", f"    for {v} in T.vectorized({lanes}):"]
    lines.append(f"        if {o} * {lanes} + {v} < {size}:")
    other = draw(st.sampled_from([f"B[{o}]", f"B[12 - {o} * {lanes} - {v}]", "T.float16(1)"]))
    return [*lines, f"            B[{o} * {lanes} + {v}] = B[{o} * {lanes} + {v}] + {other}"]


@st.composite
def ragged(draw: Any, number: int) -> list[str]:
    """Three loops, each as long as those around it leave it, some of them strided."""
    a, b, c = (f"{letter}{number}" for letter in "abc")
    size, step = draw(st.integers(2, 7)), draw(st.integers(2, 4))
    tile = draw(st.integers(2, 4))
    bounds = [
        f"range({a} // {tile}, {size})", f"range({a} % {tile} + 1)", f"range({size} - {a})",
        f"T.serial({a}, {size}, step={step})", f"T.serial({a} * 2, {a} * 2 + {size}, step={step})",
        f"range(T.ceildiv({size} - {a}, {tile}))", f"range(T.min({a} * {tile}, {size}))",
        f"range(T.max({a} - {tile}, 0), {a} + 1)",
    ]  # fmt: skip
    inner = [bound.replace(a, b) for bound in bounds] + [
        f"range(T.max({a} - {b}, 0))", f"range(T.min({a}, {b}), T.max({a}, {b}) + 1)",
        f"range(({a} + {b}) // {tile})",
    ]  # fmt: skip
    lines = [f"for {a} in range({size}):", f"    for {b} in {draw(st.sampled_from(bounds))}:"]
    lines.append(f"        for {c} in {draw(st.sampled_from(inner))}:")
    row, column = f"({a} * {tile} + {c}) // {tile} % 7", f"({b} + {c} * {step}) % 9"
    return [*lines, f"            A[{row}, {column}] = A[{column} % 7, {row}] + T.float32(1)"]


@st.composite
def padded(draw: Any, number: int) -> list[str]:
    """Loads from an array with a margin that it has not, behind one choice or two."""
    y, x = f"y{number}", f"x{number}"
    dy, dx = draw(st.integers(-2, 2)), draw(st.integers(-2, 2))
    row, column = f"{y} + ({dy})", f"{x} + ({dx})"
    load = f"A[{row}, {column}]"
    rows = f"0 <= {row} and {row} < 7"
    columns = f"0 <= {column} and {column} < 9"
    zero = "T.float32(0)"
    inside = f"T.if_then_else({y} % 2 == 0, {load}, A[0, {x}])"
    outside = f"T.if_then_else({x} // 3 == 1, S[{y}, {x}], {zero})"
    forms = (
        f"T.if_then_else({rows} and {columns}, {load}, {zero})",
        f"T.if_then_else({rows}, T.if_then_else({columns}, {load}, {zero}), T.exp(S[{y}, 0]))",
        f"T.if_then_else({rows} and {columns}, {inside}, {outside})",
    )
    value = draw(st.sampled_from(forms))
    return [f"for {y}, {x} in T.grid(7, 9):", f"    S[{y}, {x}] = {value} * T.float32(2)"]


@st.composite
def aliases(draw: Any, number: int) -> list[str]:
    """The memory of an array under another name, of another shape or type or a part of it."""
    name, i = f"w{number}", f"i{number}"
    dtype = draw(st.sampled_from(["float32", "float32", "int8", "float64", "float16"]))
    rows, columns, offset = draw(st.sampled_from([(63, 1, 0), (9, 7, 0), (3, 5, 0), (4, 9, 18)]))
    if dtype == "float64":
        rows, columns, offset = draw(st.sampled_from([(31, 1, 0), (5, 4, 3)]))
    place = f", elem_offset={offset}" if offset else ""
    size = draw(st.integers(1, rows * columns))
    element = f"{name}[{i} // {columns}, {i} % {columns}]"
    others = [element]
    if dtype == "float32":
        others += [f"A[{i} % 7, {i} % 9]", f"A[{i} // 9, {i} % 9]", "A[6, 8]"]
    return [
        f'{name} = T.decl_buffer(({rows}, {columns}), "{dtype}", data=A.data{place})',
        f"for {i} in range({size}):",
        f"    {element} = {draw(st.sampled_from(others))} + T.{dtype}(1)",
    ]


@st.composite
def left(draw: Any, number: int) -> list[str]:
    """Loops that are left early, and turns that are given up, where indices say so."""
    o, v = f"o{number}", f"v{number}"
    size, limit = draw(st.integers(2, 8)), draw(st.integers(-1, 8))
    start = draw(st.sampled_from(["0", "2", o]))
    loop = draw(st.sampled_from([
        f"range({size})", f"T.serial({start}, {start} + {size})", f"range({o}, {size})",
        f"T.serial({start}, {start} + {size}, step=3)", f"T.unroll({size})",
    ]))  # fmt: skip
    turns = [None, None, f"{v} % 2 == {limit % 2}", f"{v} == {limit - 1}"]
    give_up = draw(st.sampled_from(turns))
    leave = draw(st.sampled_from([
        f"{v} == {limit}", f"{v} >= {limit}", f"{v} == {o} + {limit % 3}",
        f"{v} * 2 > {o} + {limit}", f"{v} + {o} >= {limit}", f"{o} == 1",
        f"{v} == {limit} and {o} == 1", f"{limit} == {v} - {o}",
    ]))  # fmt: skip
    element = f"A[{o} % 7, {v} % 9]"
    store = f"        {element} = {element} + T.float32(1)"
    lines = [f"for {o} in range({draw(st.integers(1, 4))}):", f"    for {v} in {loop}:"]
    lines += [store] if draw(st.booleans()) else []
    if give_up is not None:
        lines += [f"        if {give_up}:", *(["    " + store] * draw(st.integers(0, 1)))]
        lines.append("            continue")
    lines += [f"        if {leave}:", *(["    " + store] * draw(st.integers(0, 1)))]
    lines.append("            break")
    if draw(st.booleans()):
        lines += [f"        if {v} == {limit + 1}:", "            break"]
    return [*lines, f"        {element} = T.exp({element})"]


@st.composite
def places(draw: Any, number: int) -> list[str]:
    """Elements at places that go down, are taken apart by odd numbers, or made of bits."""
    y, x, z = (f"{letter}{number}" for letter in "yxz")
    rows, columns, depth = (draw(st.integers(2, 6)) for _ in "yxz")
    few, step, odd = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(_ODD)
    flat = f"({y} * {columns} + {x}) * {step} + {z}"
    forms = [
        f"6 - {y}", f"{rows + columns} - {y} - {x}", f"({flat}) // {odd}", f"({flat}) % {odd}",
        f"({flat} + {few}) // {odd} % {few + 1}", f"({flat}) % {odd * 2} // {few + 1}",
        f"({y} * {odd} - {x} * {step}) // {few + 1}", f"({x} - {z} * {step}) % {odd}",
        f"T.bitwise_and({x} + {few}, {few})", f"T.shift_right({y} * {odd} + {z}, 1)",
        f"T.bitwise_xor({x}, {few})", f"T.if_then_else({x} < {few}, {y}, {z} + {few})",
        f"T.Select({y} % 2 == 0, {x} * {step}, T.if_then_else({z} > 1, {y}, {few}))",
    ]  # fmt: skip
    one, other = (draw(st.sampled_from(forms)) for _ in range(2))
    lines = [f"for {y}, {x}, {z} in T.grid({rows}, {columns}, {depth}):"]
    if draw(st.booleans()):
        lines.append(f"    if ({draw(st.sampled_from(forms))}) < {few + 1}:")
    indent = "    " * len(lines)
    if draw(st.booleans()):
        lines.append(f"{indent}n{number}: T.int32 = {one}")
        one = f"n{number}"
    element = f"A[({one}) % 7, ({other}) % 9]"
    source = draw(st.sampled_from([element, f"B[({other}) % 13]", f"A[6 - ({one}) % 7, 0]"]))
    value = f'T.cast({source}, "float32")' if source.startswith("B") else source
    return [*lines, f"{indent}{element} = {value} * T.float32(2)"]
