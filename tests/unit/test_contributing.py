"""The examples of CONTRIBUTING.md work as they are written there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from advice.test_documentation import reported
from equality.process import SHARED_LIMIT_S, Process
from ops.test_statements import describe, statements
from support.environments import environment
from support.workers import TVM
from tirlens import advice
from tirlens.advice import rules
from tirlens.hardware import load
from tirlens.hardware.audit import doubts
from tirlens.hardware.toml_file import numbers_by_key
from tirlens.toml_reader import tomllib
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / ".github/CONTRIBUTING.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^(`{3,})(\w+)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)


def example(language: str, containing: str) -> str:
    (found,) = (m[3] for m in FENCED.finditer(PAGE) if m[2] == language and containing in m[3])
    return found


def test_the_device(tmp_path: Path) -> None:
    text = example("toml", 'id = "rtx-a6000"')
    (tmp_path / "rtx-a6000.toml").write_text(text, encoding="utf-8")
    device = load(tmp_path / "rtx-a6000.toml")
    assert device.id == "rtx-a6000" and device.sm_count == load("a40").sm_count
    assert not list(doubts(device))
    assert set(numbers_by_key(tomllib.loads(text))) - set(device.sources) == set()


@pytest.mark.slow
def test_the_operation(tmp_path: Path) -> None:
    (tmp_path / "nki_reciprocal.py").write_text(example("python", "@accounts"), encoding="utf-8")
    case = example("python", "@becomes")
    head = (ROOT / "tests/ops/cases_tvm.py").read_text(encoding="utf-8").partition("\n@becomes")[0]
    own = f"from tirlens_worker import ops\n\nops.__path__.append({str(tmp_path)!r})\n"
    cases = tmp_path / "cases.py"
    cases.write_text(f"{head}\n{own}\n\n{case}", encoding="utf-8")
    with Process(str(environment(TVM)), SHARED_LIMIT_S) as process:
        (record,) = process.cases(cases, execute=False).values()
    facts = from_json(KernelFacts, record["facts"])
    expected = re.search(r'@becomes\("(.*)"\)', case)
    assert expected is not None
    assert [describe(one, facts) for one in statements(facts.body)] == [expected[1]]


@pytest.mark.slow
def test_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = example("python", "double-precision: ")
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "double_precision.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(folder)])
    importlib.invalidate_caches()
    advice._rules.cache_clear()  # pyright: ignore[reportPrivateUsage]
    try:
        block = re.search(r"```diff\n(.*?)\n```", text, re.DOTALL)
        assert block is not None
        lines = block[1].split("\n")
        for mark, speaks in (("+", True), ("-", False)):
            kernel = "\n".join(line[1:] for line in lines if not line.startswith(mark))
            found = {one.rule for one in reported(kernel, tmp_path / "kernel.py").advice}
            assert ("double-precision" in found) == speaks
    finally:
        advice._rules.cache_clear()  # pyright: ignore[reportPrivateUsage]
