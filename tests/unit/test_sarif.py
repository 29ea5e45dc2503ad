"""What GitHub's upload of SARIF requires, by its documentation "SARIF support for code scanning".

Every property that it lists as required is there, and none is empty.
"""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

from support.sarif_upload import assert_uploadable
from tirlens.advice import rules
from tirlens.cli import sarif, sarif_rules
from tirlens_worker.facts import Span

ADVICE = [module.name.replace("_", "-") for module in pkgutil.iter_modules(rules.__path__)]
GATE = ["cost", "over-budget", "slower", "more-dram", "lost", "other-work", "unknown"]
PROBLEMS = ["syntax", "import", "trace", "needs-bindings", "crash", "timeout", "a-kind-to-come"]


@pytest.mark.parametrize("rule", [*ADVICE, *GATE, *PROBLEMS])
def test_a_rule_is_described(rule: str) -> None:
    found = sarif_rules.descriptor(rule)
    assert found["id"] == rule and len(found["name"]) <= 255
    for name in ("shortDescription", "fullDescription"):
        assert 0 < len(found[name]["text"]) <= 1024
    assert found["help"]["text"] and found["help"]["markdown"]
    assert found["fullDescription"] != sarif_rules.descriptor("another")["fullDescription"] or (
        rule in ("crash", "timeout", "a-kind-to-come")
    )


def test_a_log_has_what_an_upload_requires() -> None:
    assert_uploadable(sarif.document([]))
    assert_uploadable(
        sarif.document(
            [
                sarif.result("slower", "error", "", "k.py", None, "norm"),
                sarif.result("slower", "error", "x", "k.py", Span(3, 4, 3, 4), "norm"),
                sarif.result("syntax", "error", "x", "k.py", Span(3, 4, 2, 0)),
            ]
        )
    )


def test_a_result_is_the_same_at_another_line() -> None:
    one, other = (
        sarif.result("slower", "error", text, "k.py", Span(line, 0, line, 3), "norm")
        for line, text in ((3, "12 us"), (90, "15 us"))
    )
    assert one["partialFingerprints"] == other["partialFingerprints"]


def test_paths_are_relative_to_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "kernels").mkdir()
    monkeypatch.chdir(tmp_path / "kernels")
    for path in ("k.py", str(tmp_path / "kernels/k.py")):
        place = sarif.result("cost", "note", "x", path, None)["locations"][0]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "kernels/k.py"
