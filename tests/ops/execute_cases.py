"""Runs under a framework's Python: executes the cases of `cases_tir` and prints the counts.

Standard output gets one JSON object: what the executor counted, by case.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cases_tir
from execute_tir import Executor
from tvm.script import tirx

json.dump(
    {name: Executor(build(tirx)).run() for name, (build, _) in cases_tir.CASES.items()}, sys.stdout
)
