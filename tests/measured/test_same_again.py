"""The order of sets, which differs from process to process, shows in no report."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

FACTS = Path(__file__).parent / "facts"
DEVICES = {"tilelang": "h200", "cpu": "x86-avx512", "": "a100-80-sxm"}
EACH = 4
SIZE = 512


def reports() -> list[str]:
    """A few kernels of each file of facts, on a device of their kind, to the last digit."""
    found: list[str] = []
    for path in sorted(FACTS.glob("*.json.gz")):
        content = json.loads(gzip.decompress(path.read_bytes()))
        items = content["facts"] if isinstance(content, dict) else content
        device = next(load(name) for word, name in DEVICES.items() if word in path.name)
        kernels = [item.get("facts", item) for item in items]
        sample = kernels[:: max(len(kernels) // EACH, 1)][:EACH]
        for item in sample + list(filter(_has_launches, kernels))[:EACH]:
            facts = from_json(KernelFacts, item)
            sizes = {variable.name: SIZE for variable in facts.variables} | dict(facts.sizes)
            found.append(f"{path.name} {facts.name} {analyze(facts, device, sizes)!r}")
    return found


def _has_launches(kernel: Mapping[str, Any]) -> bool:
    """Whether a kernel is several launches, whose reports are made one."""
    return [node.get("kind") for node in kernel["body"]].count("grid") > 1


@pytest.mark.slow
def test_the_same_in_every_process() -> None:
    one, other = (_in_a_process(seed) for seed in ("1", "2"))
    assert len(one) >= 50
    assert [(a, b) for a, b in zip(one, other, strict=True) if a != b] == []


def _in_a_process(seed: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


if __name__ == "__main__":
    print("\n".join(reports()))
