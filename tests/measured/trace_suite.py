"""Extract the facts of every kernel that TileOPs' own benchmarks launch, with their workloads.

    python tests/measured/trace_suite.py TILEOPS_CHECKOUT OUTPUT.json.gz [PYTEST_OPTION...]
    TIRLENS_CUDA=FOLDER python tests/measured/trace_suite.py ...

The benchmarks run as they are, without a GPU: tensors are shapes (`no_gpu`), kernels are traced
and not compiled, other libraries are not called, and of a tuned kernel the default configuration
is taken.  TILEOPS_CHECKOUT is tile-ai/TileOPs at commit 52dbc086; needs tilelang, torch, pytest and
pyyaml.  `suite.py` prints what the model says of the output.  With a folder, the CUDA source that
tilelang makes of some kernels is left there, for `compiled.py`.
"""

from __future__ import annotations

import gzip
import inspect
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "server")]

from other_libraries import without_other_libraries  # noqa: E402
from trace_sass import Sources  # noqa: E402

# The folder for CUDA sources, if they are wanted: two of a factory, whose kernels are much alike.
SOURCES = Sources(Path(os.environ["TIRLENS_CUDA"]), 2) if "TIRLENS_CUDA" in os.environ else None


@dataclass
class Recorder:
    """What has been launched, by benchmark."""

    facts: dict[str, int] = field(default_factory=dict[str, int])
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    launches: list[dict[str, Any]] | None = None
    tuned: bool = False

    def save(self, path: str) -> None:
        """Write all that was recorded."""
        content = {
            "rows": self.rows,
            "failures": self.failures,
            "facts": [json.loads(text) for text in self.facts],
        }
        with gzip.GzipFile(path, "wb", mtime=0) as file:
            file.write(json.dumps(content, separators=(",", ":")).encode())


RECORDER = Recorder()


class TracedKernel:
    """In place of a compiled kernel: called with tensors, it is recorded and answers shapes."""

    config: dict[str, Any]
    latency = 0.0

    def __init__(self, jit: Any, args: Any, kwargs: Any) -> None:
        from factbook import made_by

        self.function = made_by(jit, *args, **kwargs)
        self.config = {}
        attributes = self.function.attrs
        outputs = jit.out_idx
        if attributes and "tilelang_out_idx" in attributes:
            outputs = list(attributes["tilelang_out_idx"])
        count = len(self.function.params)
        listed = [outputs] if isinstance(outputs, int) else list(outputs or [])
        self.outputs = [index % count for index in listed]
        self.one = isinstance(outputs, int) or len(self.outputs) == 1
        self.record = {**_origin(jit, args, kwargs), "facts": None}

    def __call__(self, *tensors: Any, **_: Any) -> Any:
        import torch

        given = iter(tensors)
        sizes: dict[str, int] = {}
        results = []
        buffers = self.function.buffer_map
        for index, parameter in enumerate(self.function.params):
            buffer = buffers.get(parameter)
            if index in self.outputs:
                shape = [_size(extent, sizes) for extent in buffer.shape]
                dtype = getattr(torch, str(buffer.dtype).replace("bool", "bool"))
                results.append(torch.empty(shape, dtype=dtype, device="cuda"))
                continue
            value = next(given)
            if buffer is None:
                if isinstance(value, int):
                    sizes[parameter.name] = value
            else:
                for extent, size in zip(buffer.shape, value.shape, strict=False):
                    sizes |= _named(extent, int(size))
        if RECORDER.launches is not None:
            RECORDER.launches.append({**self.record, "facts": self._facts(), "bindings": sizes})
        if not results:
            return None
        return results[0] if self.one else tuple(results)

    def _facts(self) -> int | str:
        if self.record["facts"] is None:
            from factbook import without_places

            from tirlens_worker.codec import to_json
            from tirlens_worker.facts import Span
            from tirlens_worker.frameworks.extract import extract

            try:
                facts = extract(
                    self.function,
                    definition=self.record["factory"],
                    span=Span(1, 0, 1, 0),
                    call="",
                    call_source="option",
                )
                text = json.dumps(without_places(to_json(facts)))
                self.record["facts"] = RECORDER.facts.setdefault(text, len(RECORDER.facts))
                if SOURCES is not None:
                    family = self.record["file"].removeprefix("tileops/kernels/")
                    factory = self.record["factory"].strip("_")
                    SOURCES.add(self.function, family.removesuffix(".py"), factory)
            except Exception as error:  # one kernel must not stop the others
                self.record["facts"] = f"{type(error).__name__}: {str(error)[:300]}"
        return self.record["facts"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def _named(extent: Any, size: int) -> dict[str, int]:
    """What the size of a dimension says of the name that it is made of: ``n`` or ``n + 1``."""
    if hasattr(extent, "name"):
        return {extent.name: size}
    first, second = getattr(extent, "a", None), getattr(extent, "b", None)
    if type(extent).__name__ == "Add" and hasattr(first, "name") and hasattr(second, "value"):
        return {first.name: size - int(second.value)}
    return {}


def _size(extent: Any, sizes: dict[str, int]) -> int:
    from tilelang import tvm

    if isinstance(extent, int) or hasattr(extent, "value"):
        return int(extent)
    values: dict[Any, Any] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tvm.tirx.Var) and node.name in sizes:
            values[node] = tvm.tirx.IntImm(node.dtype, sizes[node.name])

    tvm.tirx.stmt_functor.post_order_visit(extent, visit)
    whole = tvm.tirx.stmt_functor.substitute(extent, values)
    return int(tvm.arith.Analyzer().simplify(whole))


def _origin(jit: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Where the kernel comes from: its file, factory and what both are called with."""
    function = getattr(jit.func, "orig_func", None) or jit.func
    function = inspect.unwrap(function)
    factory = getattr(function, "__qualname__", "?").partition(".")[0]
    free = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    static = {name: _plain(cell) for name, cell in zip(free, cells, strict=False)}
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    file = str(getattr(function, "__module__", "?")).replace(".", "/") + ".py"
    return {
        "file": file,
        "factory": factory,
        "static": {k: v for k, v in static.items() if v is not None},
        "config": {k: v for k, v in bound.arguments.items() if isinstance(v, (int, str, float))},
    }


def _plain(cell: Any) -> Any:
    value = cell.cell_contents
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value):
        return list(value)
    return None


def patch_tilelang() -> None:
    """Kernels are traced where they would be compiled; of those to be tuned the given one is."""
    from tilelang.autotuner.tuner import AutoTuneImpl
    from tilelang.jit import JITImpl

    JITImpl.compile = lambda self, *args, **kwargs: TracedKernel(self, args, kwargs)

    def untuned(self: Any, *args: Any, **kwargs: Any) -> Any:
        RECORDER.tuned = True
        configs = self.configs(*args, **kwargs) if callable(self.configs) else self.configs
        kwargs.pop("__return_kernel", None)
        config = {**(configs[0] if configs else {}), **kwargs}
        kernel = TracedKernel(self.jit_impl, args, config)
        kernel.config = {name: config[name] for name in (configs[0] if configs else {})}
        return kernel

    AutoTuneImpl.__call__ = untuned


def patch_library() -> None:
    """Benchmarks run the library's own kernels once; tuning takes the default."""
    import torch
    from benchmarks.benchmark_base import BenchmarkBase
    from tileops.kernels.kernel_base import Kernel

    from benchmarks import benchmark_base, timing

    def autotune(self: Any, *_: Any, **__: Any) -> None:
        RECORDER.tuned = True
        self.config = self.default_config

    def tune_jit_kernel(
        self: Any, jit_kernel: Any, configs: Any, *_: Any, seed_config: Any = None, **__: Any
    ) -> Any:
        RECORDER.tuned = True
        chosen = {**self._autotune_initial_kwargs(jit_kernel, seed_config)}
        kernel = jit_kernel(**chosen)
        kernel.config = chosen
        return kernel

    Kernel.autotune = autotune
    Kernel.tune_jit_kernel = tune_jit_kernel

    def profile(self: Any, functor: Any, *inputs: Any, tag: str = "tileops") -> dict[str, Any]:
        RECORDER.launches = []
        try:
            functor(*inputs)
            ideal = _ideal(self)
            RECORDER.rows.append(
                {
                    "workload": os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0],
                    "tag": tag,
                    "tuned": RECORDER.tuned,
                    "flop": ideal[0],
                    "bytes": ideal[1],
                    "launches": RECORDER.launches,
                }
            )
        finally:
            RECORDER.launches = None
        return {"device_busy_ms": 1.0, "latency_ms": 1.0}

    def compare(
        self: Any, functors: dict[str, Any], *inputs: Any, record_as: Any = None, params: Any = None
    ) -> dict[str, Any]:
        results = {}
        for tag, value in functors.items():
            functor, args = value if isinstance(value, tuple) else (value, inputs)
            results[tag] = {"device_busy_ms": 1.0, "latency_ms": 1.0}
            if tag.startswith("tileops"):
                results[tag] = profile(self, functor, *args, tag=tag)
        return results

    torch.testing.assert_close = lambda *_, **__: None
    BenchmarkBase.profile = profile
    BenchmarkBase.compare = compare
    timing.bench_kernel = benchmark_base.bench_kernel = lambda functor, args=(), **_: (
        functor(*args),
        [],
    )[1]


def _ideal(benchmark: Any) -> tuple[float | None, float | None]:
    try:
        return benchmark.calculate_flops(), benchmark.calculate_memory()
    except Exception:  # the library's formula of this operation does not answer
        return None, None


class Plugin:
    """Failures beside the rows."""

    @staticmethod
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        """Where sources are wanted, of each test the first and the last case."""
        if SOURCES is None:
            return
        cases: dict[str, list[Any]] = {}
        for item in items:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
        items[:] = [item for group in cases.values() for item in group[:: max(len(group) - 1, 1)]]

    @staticmethod
    def pytest_runtest_setup(item: Any) -> None:
        RECORDER.tuned = False

    @staticmethod
    def pytest_runtest_logreport(report: Any) -> None:
        if report.failed:
            last = str(report.longrepr).strip().splitlines()
            RECORDER.failures[report.nodeid] = " | ".join(last[-6:])[-700:]


def main(checkout: str, output: str, *options: str) -> None:
    sys.path[:0] = [str(Path(checkout) / "src"), checkout]
    import no_gpu  # torch is whole before what it may use is replaced
    from trace_tileops import answer_as_h200

    answer_as_h200()
    without_other_libraries()
    import pytest

    pretending = no_gpu.pretend()
    next(pretending)
    patch_tilelang()
    patch_library()
    os.chdir(checkout)
    chosen = [item for item in options if not item.startswith("-")] or ["benchmarks/ops"]
    flags = [item for item in options if item.startswith("-")]
    pytest.main(
        ["-q", "-p", "no:cacheprovider", "--tb=short", "--no-header", "-rN", *flags, *chosen],
        plugins=[Plugin()],
    )
    RECORDER.save(output)
    launches = sum(len(row["launches"]) for row in RECORDER.rows)
    print(
        f"{len(RECORDER.rows)} rows, {launches} launches, {len(RECORDER.facts)} distinct facts, "
        f"{len(RECORDER.failures)} failures",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
