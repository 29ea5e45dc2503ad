"""Facts as lines of text at places, and the same lines written beneath the source.

A comment ``# ^^^ store [mul] A[i] -> B[i]`` beneath a line of a kernel says that the facts have
such a node, shown at the carets' column of that line (or the whole of it, where there are several
carets).  Every node of the facts must be expected so, in the order of the walk.  An expectation is:

* ``kernel NAME grid X Y threads N panel P`` beneath the ``def``, wherever the caret stands;
* ``KIND VARIABLE EXTENT`` for a loop, with its start, step and annotations if it has any;
* ``KIND CONDITION`` for a branch (and ``else`` where it has one), ``while CONDITION``;
* ``let VARIABLE = VALUE``;
* ``OP [ARITHMETIC] READS -> WRITES`` for a statement, preceded by who runs it unless a thread.

``<- TEXT`` at the end is the line within the macro that wrote the node, ``<- FILE: TEXT`` in
another file; ``?`` before an access is its guard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Span,
    Statement,
    While,
)


def text(value: Expr) -> str:
    """`value` with every pair of parentheses, so that its structure is what is compared."""
    if not isinstance(value, tuple):
        return str(value)
    if value[0] == "load":
        return f"{value[1]}[{', '.join(text(one) for one in value[2:])}]"
    if value[0] == "opaque":
        return str(value[1])
    if value[0] in ("min", "max", "select", "cast", "not", "~"):
        return f"{value[0]}({', '.join(text(one) for one in value[1:])})"
    return f"({f' {value[0]} '.join(text(one) for one in value[1:])})"


_EXPECTATION = re.compile(r"\s*#\s*(\^+) (.*)$")


def expected(source: str) -> list[str]:
    """The expectations in `source` as ``line:column text`` (``line:column-column text``)."""
    out: list[str] = []
    line = 0
    for number, content in enumerate(source.split("\n"), 1):
        found = _EXPECTATION.match(content)
        if found is None:
            line = number
            continue
        begin, end = found.span(1)
        words = found.group(2).rstrip()
        if words.startswith("kernel "):
            place = f"{line}"
        else:
            place = f"{line}:{begin}" if end - begin == 1 else f"{line}:{begin}-{end}"
        out.append(f"{place} {words}")
    return sorted(out, key=_line)


def observed(kernels: tuple[KernelFacts, ...], source: str, folder: Path) -> list[str]:
    """What the facts hold, written as `expected` writes it; `folder` has the files of macros."""
    lines = source.split("\n")
    out: list[str] = []
    for kernel in kernels:
        out.append(f"{kernel.span.line} {_kernel(kernel)}")
        for node in _nodes(kernel.body):
            out.append(_at(node.sites, _node(node), lines, folder))
    return sorted(out, key=_line)


def without_ends(observed: list[str], expected: list[str]) -> list[str]:
    """`observed` with those end columns dropped that `expected` leaves open."""
    open_ended = {line for line in expected if "-" not in line.partition(" ")[0]}
    out: list[str] = []
    for line in observed:
        place, _, words = line.partition(" ")
        short = f"{place.partition('-')[0]} {words}"
        out.append(short if short in open_ended else line)
    return out


def _line(item: str) -> int:
    return int(re.split("[: ]", item)[0])


def _at(sites: tuple[Span, ...], words: str, lines: list[str], folder: Path) -> str:
    if not sites:
        return f"0:0 {words}"
    first = sites[0]
    end = f"-{first.end_column}" if first.end_line == first.line else ""
    for site in sites[1:]:
        if site.file is None:
            words += f" <- {lines[site.line - 1].strip()}"
        else:
            path = folder / Path(site.file).name
            other = path.read_text(encoding="utf-8").split("\n")
            words += f" <- {path.name}: {other[site.line - 1].strip()}"
    name = "" if first.file is None else f"{Path(first.file).name} "
    return f"{first.line}:{first.column}{end} {name}{words}"


def _kernel(kernel: KernelFacts) -> str:
    launch = kernel.launch
    words = [f"kernel {kernel.name}"]
    for name in ("grid", "cluster", "threads"):
        extents = getattr(launch, name)
        if extents:
            words.append(f"{name} {' '.join(map(text, extents))}")
    if launch.panel is not None:
        words.append(f"panel {launch.panel} {launch.panel_order}")
    words += [f"variable {one.name}" for one in kernel.variables]
    return " ".join(words)


def _nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for part in ("body", "then", "orelse"):
            yield from _nodes(getattr(node, part, ()))


def _node(node: Node) -> str:
    if isinstance(node, Loop):
        words = f"{node.kind} {node.var} {text(node.extent)}"
        if node.start != 0:
            words += f" from {text(node.start)}"
        if node.step != 1:
            words += f" by {text(node.step)}"
        return words + "".join(f" {k}={v}" for k, v in node.annotations.items())
    if isinstance(node, Branch):
        return f"{node.kind} {text(node.condition)}{' else' if node.orelse else ''}"
    if isinstance(node, While):
        return f"while {text(node.condition)}"
    if isinstance(node, Let):
        return f"let {node.var} = {text(node.value)}"
    return _statement(node)


def _statement(node: Statement) -> str:
    words = [] if node.per == "thread" else [node.per]
    words.append(node.display_name)
    if node.arith:
        words.append(f"[{' '.join(map(_arith, node.arith))}]")
    words += [_access(one) for one in node.accesses if one.mode == "read"]
    stores = [_access(one) for one in node.accesses if one.mode != "read"]
    return " ".join(words + (["->", *stores] if stores else []))


def _arith(one: Arith) -> str:
    return _guarded(one.op if one.count == 1 else f"{text(one.count)}*{one.op}", one.guard)


def _access(one: Access) -> str:
    words = f"{one.buffer}[{', '.join(map(text, one.indices))}]"
    if one.extents:
        words += f"+[{', '.join(map(text, one.extents))}]"
    return _guarded(words if one.lanes == 1 else f"{words}x{one.lanes}", one.guard)


def _guarded(words: str, guard: Expr | None) -> str:
    return words if guard is None else f"{text(guard)}?{words}"
