"""The arrays that stand in for numpy where it is not installed give what numpy gives."""

from __future__ import annotations

import gzip
import json
import math
import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirlens.model import analyze
from tirlens_counting.arrays import functions
from tirlens_counting.arrays.dtypes import dtype_of
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

ROOT = Path(__file__).parents[3]
FACTS = ROOT / "tests/measured/facts/library_tvm.json.gz"
SHAPES = [(), (1,), (4,), (3, 1), (3, 4), (2, 1, 4)]
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.and_, operator.or_, operator.xor),
]


def both(build: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What numpy gives, and what stands in for it."""
    with numpy.errstate(all="ignore"):
        return build(numpy), build(functions)


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def assert_same(build: Callable[[Any], Any]) -> None:
    expected, found = both(build)
    assert plain(found) == plain(expected)


@st.composite
def integers_of(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Nested lists of integers in a shape."""
    if not shape:
        return draw(st.integers(-9, 9))
    return [draw(integers_of(shape[1:])) for _ in range(shape[0])]


@pytest.mark.parametrize("function", BINARY, ids=lambda one: one.__name__)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_operators_broadcast(function: Callable[[Any, Any], Any], data: st.DataObject) -> None:
    left, right = (
        data.draw(st.sampled_from(shapes).flatmap(integers_of)) for shapes in (SHAPES[1:], SHAPES)
    )
    try:
        expected = both(lambda np: function(np.asarray(left), np.asarray(right)))[0]
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            function(functions.asarray(left), functions.asarray(right))
        return
    assert plain(function(functions.asarray(left), functions.asarray(right))) == plain(expected)


FUNCTIONS = ["minimum", "maximum", "multiply", "logical_and", "logical_or"]


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(SHAPES[3:]).flatmap(integers_of),
    st.sampled_from([(), (1,), (3, 1)]).flatmap(integers_of),
)
def test_functions_of_two_arrays_broadcast(name: str, left: Any, right: Any) -> None:
    if name.startswith("logical"):
        assert_same(lambda np: getattr(np, name)(np.asarray(left) > 0, np.asarray(right) > 0))
    assert_same(lambda np: getattr(np, name)(np.asarray(left), np.asarray(right)))


@pytest.mark.parametrize("other", [int, float, bool, object, 3, "i", None, "int64"])
@pytest.mark.parametrize("own", [int, float, bool, object])
def test_a_type_of_elements_is_equal_to_the_type_that_names_it(own: type, other: Any) -> None:
    assert (dtype_of(own) == other) == (own is other)
    assert dtype_of(own) == dtype_of(dtype_of(own))


REDUCTIONS = ["any", "all", "sum", "mean", "min", "max"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1, 2)])
@settings(max_examples=5, deadline=None)
@given(values=integers_of((2, 3, 4)))
def test_reductions(name: str, axis: Any, values: Any) -> None:
    expected, found = both(lambda np: getattr(np.asarray(values), name)(axis=axis))
    assert numpy.allclose(plain(found), plain(expected), rtol=1e-15)


MATRIX = [[3, 1, 2], [0, 5, 5]]
LIST = [4, 1, 1, 7, 0]
CASES: dict[str, Callable[[Any], Any]] = {
    "slices": lambda np: np.asarray(MATRIX)[:, 1:],
    "reversed slice": lambda np: np.asarray(LIST)[::-2],
    "a row": lambda np: np.asarray(MATRIX)[-1],
    "an element": lambda np: np.asarray(MATRIX)[1, 2],
    "a new axis": lambda np: np.asarray(LIST)[:, None].shape,
    "a trailing axis": lambda np: np.asarray(MATRIX)[..., None].shape,
    "a mask": lambda np: np.asarray(MATRIX)[np.asarray(MATRIX) > 1],
    "indices": lambda np: np.asarray(LIST)[np.asarray([[0, 3], [4, 4]])],
    "as many indices": lambda np: np.asarray(LIST)[np.asarray([4, 3, 0, 1, 1])],
    "kinds": lambda np: [np.asarray(one).dtype.kind for one in ([1, 2], [1, 0.5], [True])],
    "floats": lambda np: np.asarray(LIST) / 2 + np.ones(5),
    "division by zero": lambda np: np.asarray(LIST) // np.asarray([0, 1, 2, 0, 3]),
    "remainder of zero": lambda np: np.asarray(LIST) % 0,
    "choice": lambda np: np.where(np.asarray(LIST) > 1, np.asarray(LIST), -1),
    "unravelled": lambda np: list(np.unravel_index(np.arange(24), (2, 3, 4))),
    "open mesh": lambda np: [one.shape for one in np.ix_(np.arange(2), np.arange(3))],
    "full mesh": lambda np: list(np.meshgrid(np.arange(2), np.arange(3), indexing="ij")),
    "transposed": lambda np: np.transpose(np.asarray(MATRIX), [1, 0]),
    "expanded": lambda np: np.expand_dims(np.asarray(MATRIX), [0, 2]).shape,
    "differences": lambda np: np.diff(np.asarray(MATRIX)),
    "differences with an end": lambda np: np.diff(np.asarray(LIST), append=0),
    "running sums": lambda np: np.cumsum(np.asarray(LIST)),
    "running sums of rows": lambda np: np.cumsum(np.asarray(MATRIX), axis=0),
    "product with a vector": lambda np: np.asarray(MATRIX) @ np.asarray([1, 10, 100]),
    "distinct": lambda np: np.unique(np.asarray(LIST)),
    "positions of the distinct": lambda np: np.unique(np.asarray(LIST), return_inverse=True)[1],
    "order": lambda np: np.argsort([2, 0, 1]),
    "first place": lambda np: np.searchsorted(np.asarray([0, 2, 4]), np.asarray([0, 1, 4, 9])),
    "counts": lambda np: np.bincount(np.asarray(LIST), minlength=10),
    "sums of weights": lambda np: np.bincount(np.asarray(LIST), weights=np.ones(5) / 2),
    "a single element": lambda np: np.average(np.asarray(0.5), weights=np.asarray(2.0)),
    "average": lambda np: np.average(np.asarray(LIST), weights=np.asarray([1, 0, 0, 1, 2])),
    "exponential": lambda np: np.exp(np.asarray([0.0, -1.0])),
    "split": lambda np: np.stack(np.split(np.arange(6), 3)),
    "joined": lambda np: np.append(True, np.asarray(LIST)[1:] > 1),
    "negated": lambda np: ~(np.asarray(LIST) > 1),
    "absolute": lambda np: abs(-np.asarray(LIST)),
    "large integers": lambda np: (np.asarray(LIST).astype(object) * 10**30).sum(),
    "groups": lambda np: np.asarray(LIST)[:4].reshape(-1, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_functions(name: str) -> None:
    assert_same(CASES[name])


def test_assignment() -> None:
    def fill(np: Any) -> Any:
        found = np.zeros((3, 3), dtype=bool)
        found[np.ix_([0, 2], [1, 2])] = np.asarray([[True, False], [True, True]])
        line = np.zeros(4, dtype=np.int64)
        line[1:3] += np.asarray([5, 6])
        line[np.asarray([0, 3])] = 1
        return [found, line]

    assert_same(fill)


# The facts of some measured kernels, analysed where numpy cannot be imported.
_WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = sys.modules["numpy.typing"] = None
import json
sys.path[:0] = [sys.argv[1]]
from tirlens import hardware
from tirlens.model import analyze
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts
for facts in json.load(sys.stdin):
    report = analyze(from_json(KernelFacts, facts), hardware.load("h100-sxm"), {})
    print(json.dumps([report.status, report.time_s, report.flop, report.compulsory_bytes]))
"""


@pytest.mark.slow
def test_the_model_gives_the_same_reports_without_numpy() -> None:
    from tirlens import hardware

    every = json.loads(gzip.decompress(FACTS.read_bytes()))["facts"]
    chosen = every[:: max(len(every) // 16, 1)]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_NUMPY, str(ROOT / "server")],
        input=json.dumps(chosen),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(chosen)
    device = hardware.load("h100-sxm")
    for facts, (status, time_s, flop, compulsory_bytes) in zip(chosen, lines, strict=True):
        report = analyze(from_json(KernelFacts, facts), device, {})
        assert (report.status, report.flop, report.compulsory_bytes) == (
            status,
            flop,
            compulsory_bytes,
        )
        assert time_s == report.time_s or math.isclose(time_s, report.time_s, rel_tol=1e-12)
    assert sum(status == "ok" for status, *_ in lines) >= len(lines) // 2


# All that a server in an editor may come to import.
_IMPORTS_WITHOUT_NUMPY = """
import importlib, pkgutil, sys
sys.modules["numpy"] = sys.modules["numpy.typing"] = None
sys.path[:0] = [sys.argv[1]]
for package in ("session", "lsp", "pipeline", "model", "advice", "ide", "measured"):
    root = importlib.import_module(f"tirlens.{package}")
    for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        importlib.import_module(module.name)
"""


@pytest.mark.slow
def test_the_server_is_imported_without_numpy() -> None:
    command = [sys.executable, "-c", _IMPORTS_WITHOUT_NUMPY, str(ROOT / "server")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize(
    "function", [operator.truediv, operator.floordiv, operator.mod], ids=lambda one: one.__name__
)
def test_divisions_of_every_sign(function: Callable[[Any, Any], Any], kind: type) -> None:
    """Also by zero, where numpy has infinities and no numbers; of integers it has zeros."""
    above = [[kind(value)] for value in (-7, -3, 0, 1, 6)]
    below = [kind(value) for value in (-4, -3, 2, 7)]
    if kind is int or function is operator.truediv:
        below.append(kind(0))
    expected, found = both(lambda np: function(np.asarray(above), np.asarray(below)))
    assert repr(plain(found)) == repr(plain(expected))
    expected, found = both(lambda np: np.asarray(above) / np.asarray([math.inf, math.nan]))
    assert repr(plain(found)) == repr(plain(expected))
