"""Sampled mutants of files, made by the operators of cosmic-ray.

    python tests/mutation/mutants.py --root ROOT --count 200 --seed 1 FOLDER...

runs under a Python that has cosmic-ray (https://cosmic-ray.readthedocs.io) and prints the mutants
as JSON, one a line.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from changed_code import changed_functions
from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

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


@cache
def _places(file: Path, operator: str) -> int:
    """At how many places of a file an operator applies."""
    mutating = get_operator(operator)()

    def count(node: object) -> int:
        own = sum(1 for _ in mutating.mutation_positions(node))
        return own + sum(map(count, getattr(node, "children", ())))

    return count(_tree(file))


@cache
def _tree(file: Path) -> object:
    return get_ast(file.read_text())


def sampled(files: list[Path], count: int, seed: int) -> Iterator[tuple[Path, str, str]]:
    """Mutants as file, operator and text: a file by its length, then an operator, then a place.

    What changes no function (a default, a constant of the module) is left out, and so is whether
    `zip` checks that its arguments are of one length, which they are.  So is what joins two lines,
    as the operators do where a line begins with a number: every function below has another line.
    """
    chosen = random.Random(seed)
    lengths = [len(path.read_text().splitlines()) for path in files]
    operators, seen = list(OPERATORS), set[tuple[Path, str]]()
    while len(seen) < count:
        (file,) = chosen.choices(files, lengths)
        chosen.shuffle(operators)
        operator = next((name for name in operators if _places(file, name)), None)
        if operator is None:
            continue
        occurrence = chosen.randrange(_places(file, operator))
        before = file.read_text()
        after = mutate_code(before, get_operator(operator)(), occurrence)
        is_new = (
            after
            and (file, after) not in seen
            and _without_checks(after) != _without_checks(before)
            and after.count("\n") == before.count("\n")
        )
        if is_new and changed_functions(file, before, after):
            seen.add((file, after))
            yield file, operator.removeprefix("core/"), after


def _without_checks(text: str) -> str:
    return re.sub(r"strict=(True|False)", "", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("folder", type=Path, nargs="+")
    arguments = parser.parse_args()
    files = sorted(
        path
        for folder in arguments.folder
        for path in (folder.rglob("*.py") if folder.is_dir() else [folder])
    )
    for file, operator, text in sampled(files, arguments.count, arguments.seed):
        print(json.dumps({"file": str(file), "operator": operator, "text": text}), flush=True)


if __name__ == "__main__":
    main()
