"""Runs under a framework's Python: executes the cases of one module and prints their records.

Arguments: the folder that holds `tirlens_worker`, the one of the tests, the module of cases.
Standard output gets one JSON object: a record, as `records` makes them, by case.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path


def main(server: str, tests: str, cases: str) -> None:
    sys.path[:0] = [server, tests]
    spec = importlib.util.spec_from_file_location("cases", cases)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    if "tilelang" in Path(cases).stem:
        import tilelang.language as language
    else:
        from tvm.script import tirx as language
    from equality.records import of_function
    from tirlens_worker.facts import Span
    from tirlens_worker.trace import Traced

    found = {}
    for name, (build, _) in module.CASES.items():
        traced = Traced(build(language), Span(1, 0, 1, 0), name, "module-level")
        found[name] = of_function(traced, 10)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
