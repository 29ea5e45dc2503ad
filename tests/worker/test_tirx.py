"""TIRx as a package of its own: what is not done for it is said."""

from __future__ import annotations

from typing import Any

import pytest

from tirlens_worker.frameworks.benchmarking import timing
from tirlens_worker.frameworks.benchmarking.kernel_arguments import NotMeasuredError
from tirlens_worker.frameworks.lowering.generate import generate
from tirlens_worker.frameworks.lowering.lower import LoweringError


class _Facts:
    framework = "tvm_tirx"


def test_generated_code_is_refused_by_name() -> None:
    target = {"kind": "cuda", "arch": "sm_100a"}
    with pytest.raises(LoweringError, match="the code that tvm_tirx makes is not read yet"):
        generate(None, "tvm_tirx", target, "a.py", ("cuda",))


def test_a_measurement_is_refused_by_name() -> None:
    facts: Any = _Facts()
    with pytest.raises(NotMeasuredError, match="kernels of tvm_tirx are not run yet"):
        timing.measure(None, facts, {}, False)
