"""Configurations that are traced once, since they differ only in stages."""

from __future__ import annotations

import pytest

from tirlens import source
from tirlens.tuning.stages import Variant, stage_parameters, with_stages
from tirlens_worker.facts import KernelFacts, Launch, Loop, Span

TEXT = """
import tilelang
import tilelang.language as T

@tilelang.jit
def scale(N, block=64, stages=2, more=2{PARAMETERS}):
    @T.prim_func
    def main(A: T.Tensor((N,), "float16")):
        with T.Kernel(N // block, threads=128) as bx:
            {BEFORE}
            for i in T.Pipelined(4, num_stages=stages):
                T.clear(A[bx * block + i])
            {AFTER}
    return main
"""
LOOP = 11


def parameters_of(before: str = "pass", after: str = "pass", parameters: str = ""):
    text = TEXT.format(BEFORE=before, AFTER=after, PARAMETERS=parameters)
    (kernel,) = source.read(text).kernels
    return stage_parameters(text, kernel)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("pass", "pass", {"stages": {LOOP}}),
        ("pass", "for i in T.Pipelined(4, num_stages=stages): pass", {"stages": {LOOP, 13}}),
        (
            "pass",
            "for i in T.Pipelined(4, num_stages=more): pass",
            {"stages": {LOOP}, "more": {13}},
        ),
        # Each of these may make other facts of the parameter.
        ("x = stages", "pass", {}),
        ("for i in T.Pipelined(4, num_stages=stages + 1): pass", "pass", {}),
        ("for i in T.serial(4, num_stages=stages): pass", "pass", {}),
        ("for i in T.Pipelined(stages, num_stages=stages): pass", "pass", {}),
        ("assert stages < 4", "pass", {}),
        ("f'{stages}'", "pass", {}),
        ("stages = 3", "pass", {}),
        ("locals()", "pass", {}),
        ("def inner(stages=stages): pass", "pass", {}),
        ("def inner(stages): pass", "pass", {}),
        ("lambda stages: 1", "pass", {}),
    ],
)
def test_a_parameter_that_only_sets_stages(
    before: str, after: str, expected: dict[str, set[int]]
) -> None:
    assert parameters_of(before, after).lines == expected


def test_calls_that_differ_only_in_stages_are_one_group() -> None:
    calls = [
        "scale(8, 64, 2)",
        "scale(8, 64, stages=3)",
        "scale(8, 64, 4)",
        "scale(8, 32, 2)",
        "scale(8, stages=1, block=64)",
        "scale(8, stages=4, block=64)",
        "scale('é', stages=4)",
        "scale('é', stages=5)",
        # Without stages, or with stages that only Python knows, a call is traced itself.
        "scale(8, 64, 0)",
        "scale(8, 64, S)",
        "scale(8, 64, True)",
        "scale(8, 64)",
        "scale(*sizes, stages=2)",
        "scale(*sizes, stages=3)",
    ]
    groups = [[calls.index(one.call) for one in group] for group in parameters_of().groups(calls)]
    assert groups == [[0, 2], [1], [3], [4, 5], [6, 7], [8], [9], [10], [11], [12], [13]]


def facts_of(stages: int, line: int = LOOP, file: str | None = None) -> KernelFacts:
    site = Span(line, 12, line + 1, 40, file)
    loop = Loop("pipelined", "i", 0, 4, (), sites=(site,), annotations={"num_stages": stages})
    at = Span(8, 4, 8, 12)
    return KernelFacts(
        "main", "scale", at, "tilelang", "0.1.15", "scale(8, 64, 2)", "option", (), (),
        Launch(), body=(loop,),
    )  # fmt: skip


def test_the_facts_of_other_stages() -> None:
    ((base, other),) = parameters_of().groups(["scale(8, 64, 2)", "scale(8, 64, 5)"])
    found = with_stages(facts_of(2), base, other)
    assert found is not None
    (loop,) = found.body
    assert isinstance(loop, Loop)
    assert (found.call, loop.annotations) == ("scale(8, 64, 5)", {"num_stages": 5})


@pytest.mark.parametrize(
    "facts",
    [facts_of(3), facts_of(2, line=30), facts_of(2, file="macros.py")],
    ids=["other stages", "another loop", "another file"],
)
def test_where_the_loops_are_not_those_of_the_text_nothing_is_shared(facts: KernelFacts) -> None:
    base, other = Variant("scale(8, 64, 2)", {LOOP: 2}), Variant("scale(8, 64, 5)", {LOOP: 5})
    assert with_stages(facts, base, other) is None
