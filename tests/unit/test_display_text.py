"""Nothing is decided from text made for people.

The model and the advice read classes and fields of the facts.  A kernel has the same report
whatever it, its arrays, its variables and its statements are called.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.kernels import gemm, scale
from support.renaming import Renaming
from support.stored_facts import NAMES, entries, stored
from tirlens.advice import rewrite
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts, Let, Node

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
MODULES = [
    path
    for room in ("tirlens/model", "tirlens/advice", "tirlens_counting")
    for path in sorted((SERVER / room).rglob("*.py"))
]
#: What is for display alone.
DISPLAYED = frozenset({"label", "message", "display_name"})
#: Copies the labels into the breakdown, and shows statements of one line and one label as one.
DISPLAY = SERVER / "tirlens/model/reporting/attribution.py"
#: Records of the report, and what is said of an estimate, into which a text may be copied.
RECORDS = frozenset(
    {"ArrayExtent", "ArrayShape", "CaveatNote", "LongerRows", "SharedLayout", "TripEstimate"}
)


def reads_of_texts(tree: ast.AST, is_copied: bool = False) -> Iterator[str]:
    """The texts for display that are read in `tree` for anything but another such text."""
    if isinstance(tree, ast.Attribute) and isinstance(tree.ctx, ast.Load) and not is_copied:
        array = tree.attr == "name" and ast.unparse(tree.value).endswith(("buffer", "array"))
        if tree.attr in DISPLAYED or array:
            yield f"line {tree.lineno}: {ast.unparse(tree)}"
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "getattr":
        asked = ast.literal_eval(tree.args[1]) if isinstance(tree.args[1], ast.Constant) else ""
        if asked in DISPLAYED:
            yield f"line {tree.lineno}: {ast.unparse(tree)}"
    record = isinstance(tree, ast.Call) and ast.unparse(tree.func) in RECORDS
    for part in ast.iter_child_nodes(tree):
        direct = isinstance(part, ast.Attribute) and isinstance(tree, ast.FormattedValue)
        yield from reads_of_texts(part, record or direct)


def test_no_text_for_display_is_read() -> None:
    reads = {
        path: found
        for path in MODULES
        if (found := list(reads_of_texts(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert set(reads) == {DISPLAY}, reads


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("'.nc' in node.label", True),
        ("any(caveat.message == SPILLS for caveat in caveats)", True),
        ("getattr(node, 'label', '')", True),
        ("len(f'{node.label.strip()}')", True),
        ("access.buffer.name == 'acc'", True),
        ("CaveatNote(caveat.message, caveat.span)", False),
        ("f'{buffer.name} has bank conflicts'", False),
        ("{variable.name for variable in facts.variables}", False),
    ],
)
def test_what_the_lint_finds(text: str, is_found: bool) -> None:
    assert bool(list(reads_of_texts(ast.parse(text)))) == is_found


#: How many kernels of a file of facts are renamed.
KERNELS_PER_FILE = 3
#: What a report says in words, and by which names.
WORDS = frozenset(
    ("name", "definition", "call", "message", "needs", "bindings", "formula", "bound_reason")
) | {"label", "step_arrays", "details", "lowering_error", "lowered"}


def figures(value: Any) -> Any:
    """A report without its words."""
    if is_dataclass(value):
        return {
            item.name: figures(getattr(value, item.name))
            for item in fields(value)
            if item.name not in WORDS
        }
    if isinstance(value, tuple):
        return [figures(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


@cache
def kernels(file: str) -> list[tuple[KernelFacts, dict[str, int]]]:
    """A few kernels of a file of facts, by a seed, with the sizes of the first row of each."""
    content, items = stored(file), entries(file)
    sizes: dict[int, dict[str, int]] = {}
    for row in [] if isinstance(content, list) else content["rows"]:
        for numbers in row.get("alternatives", ()):
            for number in numbers:
                sizes.setdefault(number, row.get("bindings", {}))
    chosen = random.Random(file).sample(range(len(items)), min(KERNELS_PER_FILE, len(items)))
    return [(from_json(KernelFacts, items[number]), sizes.get(number, {})) for number in chosen]


def assert_same_figures(
    facts: KernelFacts, bindings: Mapping[str, int], device_id: str, seed: int
) -> None:
    device, renaming = load(device_id), Renaming(seed)
    before = analyze(facts, device, bindings)
    after = analyze(renaming.facts(facts), device, renaming.bindings(bindings))
    assert figures(after) == figures(before)


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, KERNELS_PER_FILE))]
)
@pytest.mark.parametrize("file", NAMES)
def test_names_decide_nothing(file: str, number: int) -> None:
    for facts, bindings in kernels(file)[number : number + 1]:
        for device in ("x86-avx2",) if file.startswith("cpu") else ("h100-sxm", "mi300x"):
            assert_same_figures(facts, bindings, device, number)


LINES = {
    "gemm": gemm(),
    "unpipelined": gemm(stages=0),
    "scale": scale(),
    "loop": scale(1024, False),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", LINES)
def test_names_do_not_divide_lines(name: str, seed: int) -> None:
    """The entries of the breakdown are those of the lines."""
    assert_same_figures(LINES[name], {}, "h200", seed)


@pytest.mark.parametrize(
    "word", ["maxnreg", "no_set_max_nreg", "x.nc", "T.wgmma_gemm(A)", "T.tcgen05_mma", "grid 2 x 3"]
)
def test_a_word_in_every_label_decides_nothing(word: str) -> None:
    """A local array that was called ``maxnreg`` changed the time of its kernel."""

    def named(node: Node) -> Node:
        return node if isinstance(node, Let) else replace(node, label=word)

    facts, device = gemm(), load("h100-sxm")
    before, after = analyze(facts, device), analyze(rewrite.change(facts, named), device)
    assert figures(after) == figures(before)
    assert [note.message for note in after.caveats] == [note.message for note in before.caveats]
