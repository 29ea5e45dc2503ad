"""``# tirlens:`` comments: what they say, whom they reach, and what is wrong with them."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from tirlens import source
from tirlens.budget import Budget
from tirlens.source.directives import parse_directive
from tirlens_worker.facts import Span

HERE = Span(1, 0, 1, 1)
TWO = """\
# tirlens: device=a100
import tilelang
import tilelang.language as T
{top}
{above}
@tilelang.jit
def f(M, N):
    @T.prim_func
    def main():
        {inside}
        pass
    return main

@tilelang.jit
def g(M):
    @T.prim_func
    def main():
        pass
    return main

f(1, 1)
{far}
"""


def read(**places: str) -> source.SourceFile:
    return source.read(TWO.format(**{"top": "", "above": "", "inside": "", "far": "", **places}))


@pytest.mark.parametrize(
    ("payload", "budget"),
    [
        ("max-time=120us", Budget(120e-6)),
        ("max-time = 1.5 ms, M=8", Budget(1.5e-3)),
        ("device=a100, max-dram=1.2GB, max-time=2s", Budget(2.0, 1.2e9)),
        ("max-dram=512KiB", Budget(None, 512 * 1024)),
        ("M=8", Budget()),
    ],
)
def test_budgets(payload: str, budget: Budget) -> None:
    directive = parse_directive(payload, HERE)
    assert directive.error is None
    assert astuple(directive.budget) == pytest.approx(astuple(budget))


@pytest.mark.parametrize(
    ("payload", "is_marked", "off"),
    [("on", True, False), ("off", False, True), ("on, M=8", True, False), ("M=8", False, False)],
)
def test_marks(payload: str, is_marked: bool, off: bool) -> None:
    directive = parse_directive(payload, HERE)
    assert (directive.error, directive.on, directive.off) == (None, is_marked, off)
    first, second = read(above=f"# tirlens: {payload}").kernels
    assert (first.is_marked, first.off, second.is_marked) == (is_marked, off, False)


@pytest.mark.parametrize(
    ("payload", "calls", "bindings", "device", "off"),
    [
        ("matmul(1, 2)", ("matmul(1, 2)",), {}, None, False),
        ("f(1, (2, 3)), f(4)", ("f(1, (2, 3))", "f(4)"), {}, None, False),
        ("M=4096, batch=8", (), {"M": 4096, "batch": 8}, None, False),
        ("M=32*1024, N=2**12", (), {"M": 32768, "N": 4096}, None, False),
        ("device=h100-sxm", (), {}, "h100-sxm", False),
        ("device=../gpus/mine.toml, M=1", (), {"M": 1}, "../gpus/mine.toml", False),
        ("off", (), {}, None, True),
        ("f('a,b', k=1)", ("f('a,b', k=1)",), {}, None, False),
    ],
)
def test_payloads(
    payload: str, calls: tuple[str, ...], bindings: dict[str, int], device: str | None, off: bool
) -> None:
    found = parse_directive(payload, HERE)
    assert found.error is None
    assert (found.calls, found.bindings, found.device, found.off) == (calls, bindings, device, off)


@pytest.mark.parametrize(
    "payload", ["", "f(1", "M=", "M=big", "M=1.5", "device=", "1 + 2", "f(1) g(2)"]
)
def test_wrong_payloads(payload: str) -> None:
    assert parse_directive(payload, HERE).error


@pytest.mark.parametrize(
    ("payload", "fidelity"),
    [
        ("math-fidelity=HiFi4", "HiFi4"),
        ("device=wormhole-n150, math-fidelity = hifi3, M=8", "HiFi3"),
        ("math-fidelity='LoFi'", "LoFi"),
        ("M=8", None),
    ],
)
def test_math_fidelities(payload: str, fidelity: str | None) -> None:
    assert parse_directive(payload, HERE).math_fidelity == fidelity
    first, second = read(above=f"# tirlens: {payload}").kernels
    assert (first.math_fidelity, second.math_fidelity) == (fidelity, None)


@pytest.mark.parametrize("payload", ["math-fidelity=HiFi5", "math-fidelity=", "math-fidelity=2"])
def test_no_math_fidelity(payload: str) -> None:
    assert "LoFi, HiFi2, HiFi3, HiFi4" in (parse_directive(payload, HERE).error or "")


def test_a_nearer_math_fidelity_counts() -> None:
    first, second = read(
        top="# tirlens: math-fidelity=LoFi", inside="# tirlens: math-fidelity=HiFi4"
    ).kernels
    assert (first.math_fidelity, second.math_fidelity) == ("HiFi4", "LoFi")


def test_a_slip_of_device_is_told_as_one() -> None:
    assert "did you mean device?" in (parse_directive("devise=a30", HERE).error or "")


def test_the_nearest_call_wins() -> None:
    f, g = read(above="# tirlens: f(2, 2)", inside="# tirlens: f(3, 3)").kernels
    assert [(c.expression, c.source, c.required) for c in f.candidates] == [
        ("f(3, 3)", "directive", True),
        ("f(1, 1)", "call-site", False),
    ]
    assert g.candidates == ()


def test_the_top_of_the_file_reaches_all_and_nearer_wins() -> None:
    f, g = read(above="# tirlens: device=h100-sxm, N=2", top="# tirlens: N=1\n").kernels
    assert f.device is not None and f.device.device == "h100-sxm"
    assert g.device is not None and g.device.device == "a100"
    assert (f.bindings, g.bindings) == ({"N": 2}, {"N": 1})


def test_off() -> None:
    f, g = read(above="# tirlens: off").kernels
    assert (f.off, g.off) == (True, False)


@pytest.mark.parametrize(
    ("place", "comment", "word"),
    [
        ("above", "# tirlens: matmul(1)", "no kernel"),
        ("above", "# tirlens: maybe", "no kernel"),
        ("inside", "# tirlens: M=many", "whole number"),
        ("far", "# tirlens: M=1", "neither above"),
    ],
)
def test_wrong_directives_are_told_where_they_stand(place: str, comment: str, word: str) -> None:
    found = read(**{place: comment})
    (problem,) = found.problems
    line = TWO.format(**{"top": "", "above": "", "inside": "", "far": "", place: comment})
    at = next(n for n, text in enumerate(line.splitlines(), 1) if comment in text)
    assert (problem.kind, problem.span.line) == ("directive", at)
    assert word in problem.message


def test_a_directive_in_a_string_is_none() -> None:
    text = "import tilelang\nx = '# tirlens: nonsense here'\n"
    assert source.read(text).problems == ()
