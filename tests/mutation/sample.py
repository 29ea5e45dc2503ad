"""Sampled mutants of the code, and whether the quick loop of tests kills them.

    python tests/mutation/sample.py --count 200 --seed 1

needs cosmic-ray, whose operators make the mutants (https://cosmic-ray.readthedocs.io). Each mutant
is tried in a copy of the repository: first on the held figures, which take seconds, then on all
quick tests. `accepted.txt` lists survivors that change nothing that a user sees, with the reason.
It is run by hand and weekly, not in the checks of a change.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("server/tirlens/model", "server/tirlens_counting", "server/tirlens/lsp")
ACCEPTED = Path(__file__).with_name("accepted.txt")
# Quick tests, those first that kill most.
SUITES = (("tests/figures",), ("tests/unit", "tests/advice", "tests/ops"))
LIMIT_S = 900
# The mutants that a wrong edit looks like; others (a shift in place of a sum) fail at once.
OPERATORS = tuple(
    f"core/{name}"
    for name in (
        "NumberReplacer",
        "AddNot",
        "ReplaceAndWithOr",
        "ReplaceOrWithAnd",
        "ReplaceTrueWithFalse",
        "ReplaceFalseWithTrue",
        "ReplaceBreakWithContinue",
        *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul")),
        *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt")),
        *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq")),
    )
)


@dataclass(frozen=True)
class Mutant:
    """The `occurrence`-th place of a file to which an operator of cosmic-ray applies."""

    file: Path
    operator: str
    occurrence: int
    line: int

    def __str__(self) -> str:
        place = f"{self.file.relative_to(ROOT)}:{self.line}"
        return f"{place} {self.operator.removeprefix('core/')} {self.occurrence}"


def mutants_of(file: Path, operator: str) -> Iterator[Mutant]:
    """The mutants of one operator in a file, without those outside of functions."""
    source = file.read_text()
    code = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for occurrence, line in enumerate(_positions(source, operator)):
        if line in code:
            yield Mutant(file, operator, occurrence, line)


def _positions(source: str, name: str) -> list[int]:
    operator, tree, found = get_operator(name)(), get_ast(source), list[int]()

    def visit(node: object) -> None:
        for (line, _), _ in operator.mutation_positions(node):
            found.append(line)
        for child in getattr(node, "children", ()):
            visit(child)

    visit(tree)
    return found


def sampled(count: int, seed: int, rooms: list[str]) -> list[Mutant]:
    """Mutants at random: a file by its length, then an operator that applies to it."""
    chosen = random.Random(seed)
    files = sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))
    lengths = [len(path.read_text().splitlines()) for path in files]
    names = list(OPERATORS)
    found: list[Mutant] = []
    while len(found) < count:
        (file,) = chosen.choices(files, lengths)
        chosen.shuffle(names)
        options = next(filter(None, (list(mutants_of(file, name)) for name in names)), [])
        if options and (mutant := chosen.choice(options)) not in found:
            found.append(mutant)
    return found


def is_killed(mutant: Mutant, copy: Path) -> bool:
    """Whether a quick test fails with the mutant in place."""
    file = copy / mutant.file.relative_to(ROOT)
    before = file.read_text()
    after = mutate_code(before, get_operator(mutant.operator)(), mutant.occurrence)
    if after is None:
        return True
    file.write_text(after)
    try:
        return any(_fails(suite, copy) for suite in SUITES)
    finally:
        file.write_text(before)


def _fails(suite: tuple[str, ...], copy: Path) -> bool:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
    ]
    variables = {**os.environ, "PYTHONPATH": str(copy / "server"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *suite], cwd=copy, env=variables, capture_output=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> int:
    """Try mutants and print each one with its fate; status 1 below nine of ten killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", action="append", help="a folder below the repository")
    arguments = parser.parse_args()
    accepted = {line.partition(" # ")[0] for line in ACCEPTED.read_text().splitlines()}
    killed = survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        for name in ("server", "tests", "pyproject.toml"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        if any(_fails(suite, copy) for suite in SUITES):
            raise SystemExit("the tests fail without a mutant")
        for mutant in sampled(arguments.count, arguments.seed, arguments.room or list(ROOMS)):
            if str(mutant) in accepted:
                continue
            if is_killed(mutant, copy):
                killed += 1
            else:
                survived += 1
                print(f"survived: {mutant}", flush=True)
    tried = killed + survived
    print(f"{killed} of {tried} mutants killed by the quick tests")
    return 0 if killed >= 0.9 * tried else 1


if __name__ == "__main__":
    sys.exit(main())
