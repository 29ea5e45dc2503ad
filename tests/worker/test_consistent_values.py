"""Assumed values satisfy the conditions that a definition sets for its parameters together."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping

import pytest

from tirlens_worker.tracing.consistent_values import Conditions
from tirlens_worker.tracing.definition_conditions import broken_conditions

# The body of ``def kernel(heads, dim, size, block=32)``, what is assumed, and what then follows.
CASES: Mapping[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "a product": (
        "assert dim == heads * size",
        {"heads": "16", "dim": "128", "size": "64"},
        {"heads": "16", "dim": "1024", "size": "64"},
    ),
    "a factor of what the text gives": (
        "assert dim == heads * size",
        {"heads": "32", "given": "1024", "size": "128"},
        {"heads": "8", "given": "1024", "size": "128"},
    ),
    "what is to be divided by a default": (
        "assert size % block == 0",
        {"size": "100"},
        {"size": "96"},
    ),
    "a range and a divisor": (
        "assert heads <= 64 and heads % 8 == 0",
        {"heads": "128"},
        {"heads": "64"},
    ),
    "a branch that raises": (
        "if dim % heads:\n    raise ValueError(dim)",
        {"heads": "32", "dim": "80"},
        {"heads": "32", "dim": "64"},
    ),
    "a branch that the values take": (
        "if heads == 1:\n    assert dim == 8\nelse:\n    assert dim == 256",
        {"heads": "2", "dim": "128"},
        {"heads": "2", "dim": "256"},
    ),
    "what is computed before": (
        "each = dim // heads\nassert each == 128",
        {"heads": "16", "dim": "128"},
        {"heads": "16", "dim": "2048"},
    ),
    "a value that is listed": (
        "assert mode in ('row', 'column')",
        {"mode": "'whole'"},
        {"mode": "'row'"},
    ),
    "the nearest of many that are listed": (
        "assert size in {{{}}}".format(", ".join(str(8 * (2 * i + 1)) for i in range(1, 500))),
        {"size": "2048"},
        {"size": "2056"},
    ),
    "a number that is no size": (
        "assert (size + (1 << 2000)) % 64 == 0",
        {"size": "100"},
        {"size": "128"},
    ),
    "nothing that cannot be satisfied": (
        "assert heads < 0",
        {"heads": "16"},
        {"heads": "16"},
    ),
    "nothing that is not known": (
        "n = T.dynamic('n')\nassert n % heads == 3\nassert helper(heads)",
        {"heads": "16"},
        {"heads": "16"},
    ),
}


def definition(body: str) -> ast.stmt:
    """A factory with the statements `body` before its kernel."""
    inside = textwrap.indent(body, "    ")
    text = f"def kernel(heads, dim, size, mode, block=32):\n{inside}\n"
    return ast.parse(text + "    def main(): pass\n    return main\n").body[0]


@pytest.mark.parametrize(("body", "assumed", "expected"), CASES.values(), ids=CASES.keys())
def test_values_satisfy_the_conditions(
    body: str, assumed: dict[str, str], expected: dict[str, str]
) -> None:
    given = {"dim": assumed.pop("given")} if "given" in assumed else {}
    if given:
        expected = {"dim" if name == "given" else name: text for name, text in expected.items()}
    conditions = Conditions(definition(body), {}, {"block": 32})
    choices = {"mode": ("'row'", "'column'")}
    found = conditions.satisfied_by({**assumed, **given}, choices, [set(given), set(), {"size"}])
    assert found == expected


def test_names_and_lines_of_broken_conditions() -> None:
    body = "rows = size // block\nassert rows * heads == dim"
    values = {"size": 64, "block": 32, "heads": 2, "dim": 5}
    (broken,) = broken_conditions(definition(body), [], values, {})
    assert (broken.line, broken.names) == (3, {"size", "block", "heads", "dim"})
    assert broken.numbers == {2, 4, 5}
