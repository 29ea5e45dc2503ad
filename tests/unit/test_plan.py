"""Requirement 14: a cached part is used wherever the worker would find the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support import kernels
from support.robust import kernel
from tirlens import pipeline, source
from tirlens.settings import Settings
from tirlens_worker.protocol import Problem, Result

TEXT = kernel(1024)
FACTS = replace(kernels.scale(), definition="scale", call="scale", call_source="direct")
ANSWER = Result(1, kernels=(FACTS,))


def plan(options: pipeline.Options, cache: dict[bytes, pipeline.Part]) -> pipeline.Plan:
    found = source.read(TEXT)
    whole = pipeline.analysis_request(1, str(Path("a.py").absolute()), TEXT, found, options)
    return pipeline.plan_analysis(whole, found, "an interpreter", cache)


@pytest.mark.parametrize(
    ("options", "known"),
    [
        (pipeline.Options(), True),
        (pipeline.Options(time_limit_s=5.0), True),
        (pipeline.Options(lower=False), True),
        (pipeline.Options(advice=False), True),
        (pipeline.Options(calls=("scale()",)), False),
        (pipeline.Options(project=Settings(calls=("scale()",))), False),
    ],
)
def test_14_settings_that_do_not_concern_the_worker(options: pipeline.Options, known: bool) -> None:
    first = plan(pipeline.Options(), {})
    assert first.request is not None
    cache = first.cacheable_parts(first.result(ANSWER))
    assert (plan(options, cache).request is None) == known


@pytest.mark.parametrize("kind", ["timeout", "cancelled", "crash", "interpreter"])
def test_14_transient_problems_are_not_cached(kind: str) -> None:
    first = plan(pipeline.Options(), {})
    failed = Result(1, problems=(Problem(kind, "not this time"),))
    assert first.cacheable_parts(first.result(failed)) == {}


def test_14_the_parts_of_many_kernels_take_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each result is assigned to its top-level name once, not looked at for each name."""
    count = 200
    head, _, body = TEXT.partition("@T.prim_func")
    functions = "\n\n".join(
        f"@T.prim_func{body}".replace("def scale", f"def scale_{n}") for n in range(count)
    )
    found = source.read(head + functions)
    assert len(found.kernels) == count
    whole = pipeline.analysis_request(1, "/a.py", found.text, found, pipeline.Options())
    first = pipeline.plan_analysis(whole, found, "an interpreter", {})
    facts = [
        replace(FACTS, definition=kernel.name, name=kernel.name, span=kernel.span)
        for kernel in found.kernels
    ]
    names: list[str] = []
    root = pipeline.plan._root
    monkeypatch.setattr(pipeline.plan, "_root", lambda name: names.append(name) or root(name))
    result = first.result(Result(1, kernels=tuple(facts)))
    assert len(first.cacheable_parts(result, ["scale_7"])) == 1
    assert len(names) == 2 * count


def test_14_what_is_left_out_is_whole_statements() -> None:
    text = kernel(1024) + "\n\n" + kernel(512).replace("scale", "other").partition("\n\n")[2]
    found = source.read(text)
    whole = pipeline.analysis_request(1, "/a.py", text, found, pipeline.Options())
    first = pipeline.plan_analysis(whole, found, "an interpreter", {})
    known = first.cacheable_parts(first.result(ANSWER), ["scale"])
    request = first.with_cache(known).request
    assert request is not None
    assert [one.name for one in request.kernels] == ["other"]
    ((first_line, last_line),) = request.leave_out
    left_out = "\n".join(text.split("\n")[first_line - 1 : last_line])
    assert left_out.startswith("@T.prim_func") and "def scale(" in left_out
    assert "def other(" not in left_out


@pytest.mark.parametrize("count", [1, 90, 250])
def test_the_steps_of_many_kernels_are_the_whole_request(count: int) -> None:
    head, _, body = TEXT.partition("@T.prim_func")
    functions = "\n\n".join(
        f"@T.prim_func{body}".replace("def scale", f"def scale_{n}") for n in range(count)
    )
    found = source.read(head + functions)
    whole = pipeline.analysis_request(1, "/a.py", found.text, found, pipeline.Options())
    plan = pipeline.plan_analysis(whole, found, "an interpreter", {})
    assert plan.request is not None
    assert sum((step.kernels for step in plan.steps), ()) == plan.request.kernels
    assert (len(plan.steps) > 1) == (count > 100)
    # What one step leaves out is what its kernels do not need.
    assert all(len(step.leave_out) == count - len(step.kernels) for step in plan.steps)


def test_a_part_at_the_lines_of_the_text_is_not_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = plan(pipeline.Options(), {})
    cache = first.cacheable_parts(first.result(ANSWER))
    known = first.with_cache(cache)
    assert known.request is None
    monkeypatch.setattr(pipeline.plan, "shift_spans", None)
    again = known.with_cache({})
    assert (again.known, again.used_keys) == (known.known, known.used_keys)
