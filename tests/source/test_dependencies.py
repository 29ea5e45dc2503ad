"""Which statements of a text a kernel may depend on."""

from __future__ import annotations

import pytest

from tirlens import source

HEAD = """\
from tvm.script import tirx as T
import helpers
"""


def _reached(text: str, name: str, *expressions: str) -> set[str]:
    """The names bound by what the definition of `name` reaches, the imports left aside."""
    body = source.read(HEAD + text).statements
    assert body
    reach = source.Reach(body)
    own = [place for place, item in enumerate(body) if name in item.binds]
    names = {bound for place in reach.of(own, expressions) for bound in body[place].binds}
    return names - {"T", "helpers"}


KERNELS = """\
N = 1024
M = N * 2
UNUSED = 3

def half(x):
    return x // len(SIZES)

SIZES = [1, 2]

@T.prim_func
def one(A: T.Buffer((M,), "float32")):
    A[0] = T.float32(0)

@T.prim_func
def two(A: T.Buffer((8,), "float32")):
    A[half(8)] = T.float32(1)

def main():
    return one, two
"""


@pytest.mark.parametrize(
    ("name", "expressions", "expected"),
    [
        ("one", (), {"one", "M", "N"}),
        ("two", (), {"two", "half", "SIZES"}),
        ("one", ("one(UNUSED)",), {"one", "M", "N", "UNUSED"}),
        ("main", (), {"main", "one", "two", "M", "N", "half", "SIZES"}),
    ],
)
def test_a_kernel_reaches_what_its_words_bind(
    name: str, expressions: tuple[str, ...], expected: set[str]
) -> None:
    assert _reached(KERNELS, name, *expressions) == expected


@pytest.mark.parametrize(
    "statement",
    [
        "UNUSED += 1",
        "helpers.x = UNUSED",
        "helpers.register(UNUSED)",
        "x = helpers.register(UNUSED)",
        "x = half(UNUSED)",
        "if UNUSED: x = 1",
        "for x in range(UNUSED): pass",
        "with open('x') as x: y = UNUSED",
        "del UNUSED",
        "def f(x=half(UNUSED)): pass",
        "def f(x: half(UNUSED)): pass",
        "@half\ndef f(): return UNUSED",
        "@helpers.register\ndef f(): return UNUSED",
        "class C:\n    x = half(UNUSED)",
        "class C(helpers.Base):\n    x = UNUSED",
        "def f():\n    global N\n    N = UNUSED",
        "x = [half(n) for n in range(UNUSED)]",
        "a = 1; UNUSED.b = 2",
        "x, SIZES[0] = UNUSED, 1",
    ],
)
def test_what_may_do_more_than_bind_its_names_is_always_reached(statement: str) -> None:
    assert "UNUSED" in _reached(KERNELS + statement + "\n", "one")


@pytest.mark.parametrize(
    "statement",
    [
        "x = UNUSED * 2",
        "x: int = max(UNUSED, T.int32(4))",
        "x, y = UNUSED, [n for n in range(4)]",
        "def f(x=UNUSED): return helpers.x(half(x))",
        "@T.prim_func(private=True)\ndef f(): return UNUSED",
        "class C:\n    'text'\n    x = UNUSED\n    def m(self): half(1)",
        "'UNUSED'",
        "if __name__ == '__main__':\n    half(UNUSED)",
        "# UNUSED",
    ],
)
def test_what_binds_names_only_is_reached_by_them_alone(statement: str) -> None:
    assert _reached(KERNELS + statement + "\n", "one") == {"one", "M", "N"}


OPERATORS = """\
import functools
import torch
from helpers import Base

@functools.lru_cache
def build(n):
    for _ in range(n): pass

@torch.library.custom_op("x::y", mutates_args=())
def operator(x):
    return build(UNUSED)

@operator.register_fake
def _(x):
    return UNUSED

class Kernel(Base):
    size = M

    def forward(self, x=SIZES):
        return operator(x)

    def other(self):
        return UNUSED
"""


def test_who_does_not_name_an_operator_or_a_class_does_not_reach_what_they_execute() -> None:
    expected = {"build", "functools", "torch", "Base", "Kernel", "M", "N", "SIZES"}
    assert _reached(KERNELS + OPERATORS, "build") == expected


@pytest.mark.parametrize("name", ["operator", "Kernel"])
def test_who_names_an_operator_reaches_what_is_registered_with_it(name: str) -> None:
    text = KERNELS + OPERATORS + f"def user():\n    return {name}\n"
    assert {"operator", "_", "UNUSED", "build"} <= _reached(text, "user")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    def other", "    @Base.register\n    def other"),
        ("(Base)", "(Base, metaclass=Meta)"),
        ("class Kernel", "@Base.register\nclass Kernel"),
        ("def other", "def __init_subclass__"),
        ("    for _ in range(n): pass", "    return _"),
        ("    for _ in range(n): pass", "    return Kernel"),
        ("operator.register_fake", "Base.register_fake"),
    ],
)
def test_what_may_be_executed_is_reached(before: str, after: str) -> None:
    assert before in OPERATORS
    assert "UNUSED" in _reached(KERNELS + OPERATORS.replace(before, after), "build")


def test_the_text_of_a_class_that_counts_is_what_its_definition_evaluates() -> None:
    body = source.read(HEAD + KERNELS + OPERATORS).statements
    place = next(place for place, item in enumerate(body) if "Kernel" in item.binds)
    own = [place for place, item in enumerate(body) if "build" in item.binds]
    text = source.Reach(body).of(own, ())[place]
    assert " ".join(text.split()) == (
        "class Kernel(Base): size = M def forward(self, x=SIZES): def other(self):"
    )
    assert source.Reach(body).of(own, ["Kernel()"])[place] == body[place].text


@pytest.mark.parametrize("word", ["eval('N')", "globals()", "__import__('sys').modules"])
def test_who_can_look_up_any_name_reaches_everything(word: str) -> None:
    text = KERNELS.replace("len(SIZES)", word)
    assert {"one", "UNUSED", "main"} <= _reached(text, "two")
    assert _reached(text, "one") == {"one", "M", "N"}


def test_identifiers_are_compared_as_python_does() -> None:
    assert "ﬁnal" not in _reached("ﬁnal = 1\ndef f(): return ﬁnal\n", "f")
    assert _reached("ﬁnal = 1\ndef f(): return final\n", "f") == {"f", "final"}


def test_a_text_that_does_not_parse_has_no_statements() -> None:
    assert source.read(KERNELS + "def (\n").statements == ()
