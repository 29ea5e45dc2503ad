"""The digest of a kernel's text changes with what makes the kernel, and with nothing else."""

from __future__ import annotations

import pytest

from tirlens import source
from tirlens.source.digest import KernelDigests

TEXT = '''import tvm
from tvm.script import tirx as T

BLOCK = 128  # threads
UNUSED = 3


@T.macro
def body(A, i):
    A[i] = A[i] * T.float32(2)


# tirlens: scale(4096)
def scale(n, m=1):
    """Scale BLOCK."""
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((n,), "float32")):
        for i in T.thread_binding(n // BLOCK, thread="blockIdx.x"):
            body(A, i)
    return main


def other():
    return scale(1)


print(other())
'''


def digest(text: str, name: str = "scale") -> str | None:
    found = source.read(text)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if f"def {name}" in line)
    return KernelDigests(found).at(line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BLOCK = 128", "BLOCK = 256"),
        ("T.float32(2)", "T.float32(3)"),
        ("m=1", "m=2"),
        ("            body(A, i)", "            body(A, 0)"),
        ("tirx as T", "tir as T"),
    ],
)
def test_an_edit_of_what_makes_the_kernel_changes_it(old: str, new: str) -> None:
    assert old in TEXT
    assert digest(TEXT.replace(old, new)) != digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("UNUSED = 3", "UNUSED = 4"),
        ("# threads", "# threads of a block"),
        ("# tirlens: scale(4096)", "# tirlens: scale(64), device=h100-sxm"),
        ("return scale(1)", "return scale(2)"),
        ("print(other())", "print()"),
        ("\n\n\n@T.macro", "\n\n\n\n\n\n@T.macro"),
        ("body(A, i)\n", "body(A, i)   \n\n"),
        ("import tvm\n", "import tvm\nimport os\n"),
    ],
)
def test_an_edit_of_something_else_does_not(old: str, new: str) -> None:
    assert old in TEXT
    assert digest(TEXT.replace(old, new)) == digest(TEXT)


def test_a_text_with_a_syntax_error_has_none() -> None:
    assert digest(TEXT + "\ndef (:\n") is None


def test_a_name_in_a_formatted_string_counts() -> None:
    text = 'N = 3\n\n\ndef k():\n    return f"{N} elements"\n'
    assert digest(text, "k") != digest(text.replace("N = 3", "N = 4"), "k")
