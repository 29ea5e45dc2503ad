"""The kernels of a file get the calls, or the values to assume, of one problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tirlens.pipeline.problem_size import with_one_problem
from tirlens.source.source_file import KernelSource
from tirlens_worker.facts import Span
from tirlens_worker.protocol import CallCandidate

_SPAN = Span(1, 0, 1, 0)


@dataclass(frozen=True)
class Case:
    """The calls of kernels by name, and what becomes of them: first calls, and values."""

    calls: Mapping[str, Sequence[str]]
    first: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])


CASES = {
    "the problem that both have": Case(
        {"fwd": ["fwd(8, 1024)", "fwd(1, 256)"], "bwd": ["bwd(1, 256)", "bwd(2, 64)"]},
        {"fwd": "fwd(1, 256)", "bwd": "bwd(1, 256)"},
    ),
    "the more typical of two that both have": Case(
        {"fwd": ["fwd(8, 1024)", "fwd(1, 256)"], "bwd": ["bwd(1, 256)", "bwd(8, 1024)"]},
        {"fwd": "fwd(8, 1024)", "bwd": "bwd(8, 1024)"},
    ),
    "what the file itself says": Case(
        {"fwd": ["fwd(8, 1024)", "fwd(1, 256)"], "bwd": ["call-site bwd(1, size=256)"]},
        {"fwd": "fwd(1, 256)", "bwd": "bwd(1, size=256)"},
    ),
    "what the user says": Case(
        {"fwd": ["directive fwd(4, 512)"], "bwd": ["bwd(8, 1024)", "bwd(4, 512)"]},
        {"fwd": "fwd(4, 512)", "bwd": "bwd(4, 512)"},
    ),
    "a problem that is no kernel's most typical": Case(
        {"fwd": ["fwd(8, 1024)", "fwd(1, 2)"], "bwd": ["bwd(4, 64)", "bwd(1, 2)"]},
        {"fwd": "fwd(8, 1024)", "bwd": "bwd(4, 64)"},
    ),
    "kernels for different sizes": Case(
        {"warp": ["warp(8, 32)"], "block": ["block(8, 4096)"], "grid": []},
        {"warp": "warp(8, 32)", "block": "block(8, 4096)"},
    ),
    "other types and blocks": Case(
        {
            "fwd": ["call-site fwd(4, 512, dtype='float16')"],
            "bwd": ["bwd(8, 1024)", "bwd(4, 512, dtype=T.bfloat16, block=32)"],
        },
        {"fwd": "fwd(4, 512, dtype='float16')", "bwd": "bwd(4, 512, dtype=T.bfloat16, block=32)"},
    ),
    "values for a kernel without calls": Case(
        {"fwd": ["fwd(8, 1024, block=64)"], "prepare": ["prepare(8)"], "bwd": []},
        {"fwd": "fwd(8, 1024, block=64)", "prepare": "prepare(8)"},
        {"bwd": {"batch": "8", "size": "1024"}},
    ),
    "a call whose result is called": Case(
        {"fwd": ["fwd(8, 1024)(64, 128)"], "prepare": ["prepare(8)(32)"], "bwd": []},
        {"fwd": "fwd(8, 1024)(64, 128)", "prepare": "prepare(8)(32)"},
        {"bwd": {"batch": "8", "size": "1024"}},
    ),
    "arguments that only the caller knows": Case(
        {"fwd": ["call-site fwd(n, 1024)"], "bwd": ["bwd(1, 2)", "bwd(3, 1024)"], "add": []},
        {"fwd": "fwd(n, 1024)", "bwd": "bwd(3, 1024)"},
        {"add": {"size": "1024"}},
    ),
    "calls that are not understood": Case(
        {"fwd": ["fwd(*sizes)", "fwd("], "bwd": ["other(1, 2)"]},
        {"fwd": "fwd(*sizes)", "bwd": "other(1, 2)"},
    ),
    "no calls": Case({"fwd": [], "bwd": []}),
}


def _kernel(name: str, calls: Sequence[str]) -> KernelSource:
    candidates: list[CallCandidate] = []
    for call in calls:
        source, space, expression = call.partition(" ")
        is_named = bool(space) and source.isidentifier() | (source == "call-site")
        candidates.append(
            CallCandidate(expression, source, _SPAN)
            if is_named
            else CallCandidate(call, "repository", _SPAN)
        )
    return KernelSource(
        name, "factory", _SPAN, _SPAN, 1, parameters=("batch", "size", "block", "dtype"),
        candidates=tuple(candidates),
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_kernels_of_a_file_have_one_problem(case: Case) -> None:
    before = [_kernel(name, calls) for name, calls in case.calls.items()]
    after = with_one_problem(before)
    assert {k.name: k.candidates[0].expression for k in after if k.candidates} == case.first
    hints = {k.name: {n: v for n, (v, *_) in k.hints.items()} for k in after if k.hints}
    assert hints == case.values
    for old, new in zip(before, after, strict=True):
        assert sorted(map(repr, old.candidates)) == sorted(map(repr, new.candidates))


@pytest.mark.parametrize(
    ("own", "values"),
    [
        (("512", "256"), ("512", "256", "1024")),
        (("512", "1024"), ("1024", "512")),
        ((), ("1024",)),
    ],
)
def test_values_of_incomplete_calls_exclude_another_problem(
    own: tuple[str, ...], values: tuple[str, ...]
) -> None:
    other = replace(_kernel("bwd", []), hints={"size": own} if own else {})
    calls = (_kernel(name, [f"{name}(8, 1024)"]) for name in ("fwd", "prepare"))
    found = with_one_problem([*calls, other])
    assert found[2].hints == {"batch": ("8",), "size": values}


@pytest.mark.parametrize(
    ("kind", "first"), [("benchmark", "fwd(8, 1024)"), ("program", "fwd(1, 256)")]
)
def test_the_problem_of_a_benchmark_comes_before_that_of_a_test(kind: str, first: str) -> None:
    """A test that both kernels have takes no benchmark's place."""
    fwd, bwd = _kernel("fwd", ["fwd(8, 1024)", "fwd(1, 256)"]), _kernel("bwd", ["bwd(1, 256)"])
    calls = [replace(fwd.candidates[0], kind=kind), replace(fwd.candidates[1], kind="test")]
    fwd = replace(fwd, candidates=tuple(calls))
    bwd = replace(bwd, candidates=(replace(bwd.candidates[0], kind="test"),))
    found = with_one_problem([fwd, bwd])
    assert [kernel.candidates[0].expression for kernel in found] == [first, "bwd(1, 256)"]


def test_the_only_call_gives_its_dynamic_sizes_to_the_others() -> None:
    """A mask without a call of its own has the lengths of the kernel before it."""
    call = CallCandidate("scores(8, 64)", "repository", _SPAN, bindings={"rows": 512, "heads": 4})
    first = replace(_kernel("scores", []), candidates=(call,))
    mask = replace(_kernel("mask", []), parameters=(), dimensions={"X": ("rows", "columns")})
    found = with_one_problem([first, mask])
    assert [kernel.hints.get("rows") for kernel in found] == [None, ("512",)]
    assert found[0].candidates == (call,) and "heads" not in found[1].hints


def test_kernels_without_calls_share_what_incomplete_calls_give() -> None:
    """The batch of the first, the length that only one has; blocks are those of each."""
    names = ("batch", "length", "heads", "width", "block_M")
    hints = [
        {"batch": ("2",), "length": ("512",), "block_M": ("64",)},
        {"batch": ("4",), "heads": ("16",)},
        {"mode": ("'max'",), "width": ("1",)},
    ]
    kernels = [
        replace(_kernel(f"k{number}", []), parameters=names, hints=values)
        for number, values in enumerate(hints)
    ]
    sizes = {"batch": ("2",), "length": ("512",), "heads": ("16",)}
    assert [dict(kernel.hints) for kernel in with_one_problem(kernels)] == [
        {**sizes, "block_M": ("64",)},
        {**sizes, "batch": ("4",)},
        {"mode": ("'max'",), "width": ("1",), **sizes},
    ]
