"""What the facts say happens against what happens: the same functions executed twice.

Once as TIR, by an executor that knows the language and nothing of TIRLens; once as facts, by the
interpreter of `KernelFacts`.  Operations, issued bits and touched elements must be equal.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache

import pytest

from ops import cases_tir
from ops.test_statements import HERE, built
from support.environments import environment
from support.interpreter import run
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

ENVIRONMENTS = ["tvm-0.27.0.post1", "tvm-0.26.0"]

pytestmark = pytest.mark.slow


@cache
def executed(environment_name: str) -> dict[str, dict[str, list]]:
    """What the TIR executor counted in each case."""
    done = subprocess.run(
        [str(environment(environment_name)), str(HERE / "execute_cases.py")],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", list(cases_tir.CASES))
@pytest.mark.parametrize("environment_name", ENVIRONMENTS)
def test_facts_and_ir_agree(environment_name: str, name: str) -> None:
    encoded = built(environment_name, "cases_tir")[name]
    assert not isinstance(encoded, str), encoded
    facts = from_json(KernelFacts, encoded)
    tally = run(facts, {}, unknown=1)
    outside = {buffer.id: buffer.name for buffer in facts.buffers if buffer.is_parameter}
    counted = {
        "operations": sorted(
            [op, dtype, count]
            for (op, dtype), count in tally.operations.items()
            if "float" in dtype and count
        ),
        "bits": sorted(
            [outside[buffer], mode, count]
            for (buffer, mode), count in tally.bits.items()
            if buffer in outside
        ),
        "touched": sorted(
            [outside[buffer], len(found)]
            for buffer, found in tally.touched.items()
            if buffer in outside
        ),
    }
    assert counted == executed(environment_name)[name]
