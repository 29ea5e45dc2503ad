"""Each number of the model is in the registry, in a device file, or a limit of effort."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tirlens import model
from tirlens.model.constants import KINDS, Constant, all_constants

ROOT = Path(model.__file__).parent
#: Assignments with numbers that measure nothing: positions, widths by name, sentinels.
DEFINITIONS = {
    "AXES": "positions of block indices",
    "LAST_ITERATIONS": "one iteration, the last",
    "NO_SKIPS": "nothing is skipped",
    "_UNKNOWN_SIZE": "a sentinel that separates the rows of an array of unknown size",
    "_WITHOUT_WIDTH": "bits of types whose names do not say them (C, CUDA and numpy)",
}
#: Bits of sets of traits.
FLAGS = "Traits"
INLINE = {0.0, 0.5, 1.0, 2.0}


def is_number(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def literals(value: ast.expr) -> Iterator[ast.expr]:
    """The numbers of an expression without calls."""
    if is_number(value):
        yield value
    elif not isinstance(value, ast.Call):
        for inner in ast.iter_child_nodes(value):
            if isinstance(inner, ast.expr):
                yield from literals(inner)


def assignments(tree: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    """Name, value and annotation of each assignment to a name in upper case."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for name in names:
                    if isinstance(name, ast.Name) and name.id.isupper():
                        yield name.id, node.value, annotation


def is_declaration(value: ast.AST) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "constant"


def unregistered(tree: ast.AST) -> Iterator[str]:
    """The assignments of numbers that are no constants of the registry, limits or definitions."""
    for name, value, annotation in assignments(tree):
        if is_declaration(value):
            declared = cast(ast.Constant, cast(ast.Call, value).args[0]).value
            if declared != name.lstrip("_"):
                yield f"{name} is registered as {declared}"
        elif (
            any(literals(value))
            and annotation != FLAGS
            and name not in DEFINITIONS
            and not name.lstrip("_").startswith("MAX_")
        ):
            yield name


def inline(tree: ast.AST) -> Iterator[str]:
    """The floats in expressions but for 0, 1, 0.5, 2 and powers of ten."""
    declared = {
        id(inner)
        for node in ast.walk(tree)
        if is_declaration(node)
        or (isinstance(node, ast.Assign | ast.AnnAssign) and any(assignments(node)))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            value = node.value
            is_unit = value > 0 and math.isclose(math.log10(value) % 1, 0, abs_tol=1e-12)
            if id(node) not in declared and value not in INLINE and not is_unit:
                yield f"line {node.lineno}: {value}"


def test_the_numbers_of_all_modules() -> None:
    found: list[str] = []
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        found += [f"{path}: {one}" for one in (*unregistered(tree), *inline(tree))]
    assert found == []


def test_what_is_found() -> None:
    tree = ast.parse(
        "A = 3\nMAX_B = 4\n_C = constant('C', 5.0)\nD = {'a': 2.5}\nE = constant('F', 1)\n"
        "G: Traits = 1 << 3\ndef f(x): return 0.75 * x + 1e-9 + 0.5\n"
    )
    assert list(unregistered(tree)) == ["A", "D", "E is registered as F"]
    assert list(inline(tree)) == ["line 7: 0.75"]


@pytest.mark.parametrize("entry", all_constants().values(), ids=lambda entry: entry.name)
def test_an_entry(entry: Constant) -> None:
    assert entry.kind in KINDS
    assert entry.unit
    assert entry.meaning.endswith(".")
    assert entry.source or entry.kind in ("estimate", "choice", "compiler")
    assert bool(entry.rows) == (entry.kind == "fitted")
    if entry.bounds is not None:
        assert entry.bounds[0] <= entry.value <= entry.bounds[1]
