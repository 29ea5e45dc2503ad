"""Assertions of the kernel's own function are quoted, with the values of their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens_worker.program.document import describe


def said(folder: Path, text: str) -> str:
    path = folder / "kernel.py"
    path.write_text(text)
    with pytest.raises(AssertionError) as caught:
        exec(compile(text, str(path), "exec"), {"helper": lambda value: False})
    return describe(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N = 100\nassert N % 64 == 0\n", "assertion fails: N % 64 == 0, with N = 100"),
        (
            "def f(N, block=64):\n    assert N >= block, f'at least {block}'\nf(8)\n",
            "at least 64 (assertion fails: N >= block, with N = 8, block = 64)",
        ),
        (
            "kind = 'fp8'\nassert kind in (\n    'fp16',\n    'bf16',\n)\n",
            "assertion fails: kind in ( 'fp16', 'bf16', ), with kind = 'fp8'",
        ),
        ("assert helper([1])\n", "assertion fails: helper([1])"),
        ("def f():\n    raise AssertionError('own words')\nf()\n", "AssertionError: own words"),
    ],
)
def test_the_condition_and_its_values(tmp_path: Path, text: str, expected: str) -> None:
    assert said(tmp_path, text) == expected


def test_a_text_that_is_gone_leaves_the_message() -> None:
    with pytest.raises(AssertionError) as caught:
        exec(compile("assert False, 'message'", "<no file>", "exec"))
    assert describe(caught.value) == "AssertionError: message"


def test_a_program_that_is_not_well_formed_says_why() -> None:
    text = (
        "error: Program is not well-formed. If this is deliberate, consider setting ...\n\n"
        "Traceback: TIR is ill-formed: buffer x is used without a prior DeclBuffer.\n --> a.py:4:1"
    )
    assert describe(ValueError(text)) == (
        "ValueError: Program is not well-formed: TIR is ill-formed: buffer x is used without a "
        "prior DeclBuffer."
    )
    assert describe(ValueError("error: unknown name\n --> a.py:4:1")) == "ValueError: unknown name"
