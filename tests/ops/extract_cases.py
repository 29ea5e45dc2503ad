"""Runs under a framework's Python: builds the cases of one module and prints their facts.

Arguments: the folder that holds `tirlens_worker`, the module of cases.  Standard output gets one
JSON object, the encoded facts or the error by case.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from pathlib import Path


def main(server: str, cases: str) -> None:
    sys.path.insert(0, server)
    spec = importlib.util.spec_from_file_location("cases", cases)
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)

    language = _language(Path(cases).stem)

    from tirlens_worker.codec import to_json
    from tirlens_worker.facts import Span
    from tirlens_worker.frameworks.extract import extract

    out = {}
    for name, (build, _) in module.CASES.items():
        try:
            facts = extract(
                build(language),
                definition=name,
                span=Span(1, 0, 1, 0),
                call=name,
                call_source="module-level",
            )
            out[name] = to_json(facts)
        except Exception:
            out[name] = traceback.format_exc()
    json.dump(out, sys.stdout)


def _language(cases: str):
    if "tilelang" in cases:
        import tilelang.language as language
    else:
        from tvm.script import tirx as language
    return language


if __name__ == "__main__":
    main(*sys.argv[1:])
