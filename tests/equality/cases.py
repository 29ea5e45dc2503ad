"""The cases of a module, which build their functions themselves, in the framework's own process."""

from __future__ import annotations

import importlib.util
import linecache
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equality.lockstep import Lockstep
from equality.records import facts_of, of_function
from tirlens_worker import codec
from tirlens_worker.facts import Span
from tirlens_worker.tracing.evaluate import Traced


def executed_programs(programs: list[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """The facts and the executed counts of the function `main` of each module, by `Lockstep`."""
    for path, seed in programs:
        record: dict[str, Any] = {"path": path}
        try:
            function = load(path).main
            traced = Traced(function, Span(1, 0, 1, 0), "main", "module-level")
            record["facts"] = codec.to_json(facts_of(traced))
            record["counted"] = Lockstep(function, seed).run()
        except Exception as error:
            record["refused"] = f"{type(error).__name__}: {error}"
            record["detail"] = traceback.format_exc(limit=-4)
        yield record


def load(path: str) -> Any:
    """The module at `path`."""
    spec = importlib.util.spec_from_file_location("cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    linecache.checkcache(path)
    spec.loader.exec_module(module)
    return module


def cases(path: str, limit_s: int | None) -> Iterator[dict[str, Any]]:
    """One record a case: its `kernel` is its name; without `limit_s` it has the facts alone."""
    module = load(path)
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
