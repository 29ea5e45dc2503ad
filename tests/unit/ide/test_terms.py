"""Each term of a hover links to a place of the documentation that exists."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from support.kernels import gemm
from tirlens.advice import Question, advise
from tirlens.hardware import load
from tirlens.ide import hovers, terms, verdicts
from tirlens.model import analyze

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "server/docs"
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
PLACES = {
    *re.findall(r'<span id="([^"]+)">', GLOSSARY),
    *(head.lower() for head in re.findall(r"^## (.+)$", GLOSSARY, re.MULTILINE)),
}


@pytest.mark.parametrize("anchor", sorted({*terms.anchors().values(), *terms.BOUNDS.values()}))
def test_the_glossary_has_the_anchor(anchor: str) -> None:
    assert anchor in PLACES


def test_every_bound_has_words_and_a_link() -> None:
    assert set(terms.BOUNDS) == set(verdicts.UNITS)
    for bound in terms.BOUNDS:
        assert f"`{bound}`" in GLOSSARY or bound == "atomics"


def test_the_links_of_a_hover_lead_to_pages() -> None:
    facts, device = gemm(threads=128, stages=1), load("h100-sxm")
    report = analyze(facts, device)
    report = replace(
        report, advice=advise(Question(facts, device, report=report)), assumed={"M": "4096"}
    )
    text = hovers.kernel(report) + hovers.node(report.loops[0], report)
    links = re.findall(rf"\({re.escape(terms.SITE)}([^)]*)\)", text)
    assert links
    for link in set(links):
        page, _, anchor = link.partition("/#")
        if page == "glossary":
            assert anchor in PLACES
        elif page == "arguments":
            assert "## Where arguments come from" in (DOCS / "arguments.md").read_text("utf-8")
        else:
            rule = page.rstrip("/").removeprefix("advice/").replace("-", "_")
            assert (ROOT / f"server/tirlens/advice/rules/{rule}.py").exists()


def test_the_names_of_counters_are_terms() -> None:
    facts, device = gemm(), load("h100-sxm")
    report = analyze(facts, device)
    text = hovers.kernel(report) + "".join(hovers.node(cost, report) for _, cost in report.walk())
    names = set(re.findall(r"^\| ([^|`]+) \| [^|]+ \|$", text, re.MULTILINE)) - {"", " "}
    assert names and all(name.startswith("[") for name in names), names


def test_the_verdict_needs_no_scrolling() -> None:
    facts, device = gemm(threads=128, stages=1), load("h100-sxm")
    report = analyze(facts, device)
    report = replace(report, advice=advise(Question(facts, device, report=report)) * 3)
    above = hovers.kernel(report).split("| | |")[0]
    assert len([line for line in above.splitlines() if line and "|---" not in line]) <= 12
    assert above.startswith("**matmul (main)**: ")
