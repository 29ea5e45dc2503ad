"""Requirement 14: what a worker has told holds wherever it would be told again."""

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
TOLD = Result(1, kernels=(FACTS,))


def plan(options: pipeline.Options, kept: dict[bytes, pipeline.Part]) -> pipeline.Plan:
    found = source.read(TEXT)
    whole = pipeline.request(1, str(Path("a.py").absolute()), TEXT, found, options)
    return pipeline.Plan(whole, found, "an interpreter", kept.get)


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
def test_14_settings_that_no_worker_hears_of_ask_it_nothing(
    options: pipeline.Options, known: bool
) -> None:
    first = plan(pipeline.Options(), {})
    assert first.request is not None
    kept = first.kept(first.result(TOLD))
    assert (plan(options, kept).request is None) == known


@pytest.mark.parametrize("kind", ["timeout", "cancelled", "crash", "interpreter"])
def test_14_what_says_nothing_of_the_text_is_asked_again(kind: str) -> None:
    first = plan(pipeline.Options(), {})
    failed = Result(1, problems=(Problem(kind, "not this time"),))
    assert first.kept(first.result(failed)) == {}
