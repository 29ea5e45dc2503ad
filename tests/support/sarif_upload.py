"""What GitHub's upload requires of a SARIF log."""

from __future__ import annotations

from typing import Any


def assert_uploadable(document: dict[str, Any]) -> None:
    """Assert that a log has what is required."""
    assert document["$schema"] and document["version"] == "2.1.0"
    (run,) = document["runs"]
    described = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert run["tool"]["driver"]["name"]
    fingerprints: list[str] = []
    for item in run["results"]:
        assert item["message"]["text"] and item["ruleId"] in described
        assert item["level"] in ("note", "warning", "error")
        physical = item["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"]
        region = physical["region"]
        assert {"startLine", "startColumn", "endLine", "endColumn"} <= region.keys()
        assert all(number >= 1 for number in region.values())
        start, end = (region[f"{x}Line"] for x in ("start", "end"))
        assert (start, region["startColumn"]) <= (end, region["endColumn"])
        fingerprints.append(item["partialFingerprints"]["primaryLocationLineHash"])
    assert len(set(fingerprints)) == len(fingerprints)
