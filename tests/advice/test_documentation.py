"""The docstring of each rule is its page, and the example in it is a test.

An example is one ``diff`` block. The rule finds something in its old lines and nothing in its new
ones, which are faster where the rule gives a saving.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from support.actions import ACTION
from support.workers import TILELANG, TVM, analyzed
from tirlens import pipeline, source
from tirlens.advice import rules
from tirlens.model.report import KernelReport

SECTIONS = [
    "What it finds",
    "Why it costs time",
    "Evidence",
    "How to change it",
    "Example",
    "Source",
]
MODULES = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))


def docstring(module: str) -> str:
    return inspect.cleandoc(importlib.import_module(f"{rules.__name__}.{module}").__doc__ or "")


def example(module: str) -> tuple[str, str]:
    """The kernel before and after the change."""
    block = re.search(r"```diff\n(.*?)\n```", docstring(module), re.DOTALL)
    assert block is not None
    lines = block[1].split("\n")
    before = [line[1:] for line in lines if not line.startswith("+")]
    after = [line[1:] for line in lines if not line.startswith("-")]
    return "\n".join(before) + "\n", "\n".join(after) + "\n"


@pytest.mark.parametrize("module", MODULES)
def test_a_rule_is_documented(module: str) -> None:
    text = docstring(module)
    assert re.findall(r"^(.+)\n-+$", text, re.MULTILINE) == SECTIONS
    assert text.startswith(module.replace("_", "-") + ": ")
    before, after = example(module)
    assert before != after


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_the_example_of_a_rule(module: str, tmp_path: Path) -> None:
    before, after = (reported(text, tmp_path / f"{module}.py") for text in example(module))
    rule = module.replace("_", "-")
    assert rule in {advice.rule for advice in before.advice}
    assert rule not in {advice.rule for advice in after.advice}
    assert all(ACTION.fullmatch(advice.action) for advice in before.advice)
    saving_s = {advice.rule: advice.saving_s for advice in before.advice}[rule]
    assert after.time_s is not None
    if saving_s is not None:
        assert before.time_s is not None and after.time_s < before.time_s


def reported(text: str, path: Path) -> KernelReport:
    environment = TILELANG if "import tilelang" in text else TVM
    path.write_text(text, encoding="utf-8")
    options = pipeline.Options(time_limit_s=60.0)
    read = source.read(text)
    result = analyzed(environment, pipeline.analysis_request(1, str(path), text, read, options))
    assert result.problems == ()
    found = pipeline.file_report(read, result, options, str(path))
    assert found.problems == ()
    (report,) = found.kernels
    return report
