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
