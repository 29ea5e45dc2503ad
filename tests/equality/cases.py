"""The cases of a module, which build their functions themselves, in the framework's own process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equality.records import facts_of, of_function
from tirlens_worker import codec
from tirlens_worker.facts import Span
from tirlens_worker.tracing.evaluate import Traced


def cases(path: str, limit_s: int | None) -> Iterator[dict[str, Any]]:
    """One record a case: its `kernel` is its name; without `limit_s` it has the facts alone."""
    spec = importlib.util.spec_from_file_location("cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    if "tilelang" in Path(path).stem:
        import tilelang.language as language
    else:
        from tvm.script import tirx as language
    for name, (build, _) in module.CASES.items():
        traced = Traced(build(language), Span(1, 0, 1, 0), name, "module-level")
        if limit_s is None:
            record = {"facts": codec.to_json(facts_of(traced))}
        else:
            record = of_function(traced, limit_s)
        yield {"path": path, "kernel": name, **record}
