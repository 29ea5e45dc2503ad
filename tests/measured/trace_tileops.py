"""Extract the facts of the measured TileOPs kernels.  Runs in an environment with tilelang.

    python tests/measured/trace_tileops.py TILEOPS_CHECKOUT OUTPUT.json.gz

TILEOPS_CHECKOUT is tile-ai/TileOPs at commit 52dbc086.  Only facts are written, never sources.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import json
import re
import sys
import types
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "server")]

from factbook import Factbook, extracted, made_by  # noqa: E402


def answer_as_h200() -> None:
    """The library asks torch for the device it runs on while it builds a kernel."""
    import torch

    properties = types.SimpleNamespace(
        name="NVIDIA H200",
        multi_processor_count=132,
        major=9,
        minor=0,
        total_memory=141_000_000_000,
        shared_memory_per_multiprocessor=233472,
        shared_memory_per_block_optin=232448,
        max_threads_per_multi_processor=2048,
        L2_cache_size=62914560,
        warp_size=32,
    )
    torch.cuda.is_available = lambda: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_name = lambda *_: "NVIDIA H200"
    torch.cuda.get_device_properties = lambda *_: properties


def operations(package: str) -> dict[str, Any]:
    """``op_func`` of every elementwise kernel class, by the class's name in lower case."""
    found: dict[str, Any] = {}
    folder = Path(importlib.import_module(package).__file__ or "").parent
    for path in sorted(folder.glob("*.py")):
        module = importlib.import_module(f"{package}.{path.stem}")
        for name, value in vars(module).items():
            if inspect.isclass(value) and (
                hasattr(value, "op_func") or name.endswith("AndMulFwdKernel")
            ):
                key = re.sub(r"(Fwd)?Kernel$", "", name).lower()
                found.setdefault(key, value)
    return found


def operation_name(workload: str) -> str:
    test, _, case = workload.partition("[")
    name = re.sub(r"^test_|(_manifest)?_bench$", "", test)
    if name in ("binary_arith", "comparison", "logical", "broadcast", "fused_gated_strategy"):
        name = case.split("-")[0]
    return name.replace("_", "")


def interpolate(start: Any, end: Any) -> Any:
    import tilelang.language as T

    return start + T.cast(0.5, start.dtype) * (end - start)


def prim_func(row: dict[str, str], functions: dict[str, Any]) -> Any:
    module = row["kernel_file"].removeprefix("src/").removesuffix(".py").replace("/", ".")
    factory = getattr(importlib.import_module(module), row["factory"])
    static = json.loads(row["static"])
    config = json.loads(row["config"])
    parameters = inspect.signature(factory).parameters
    if "op_func" in parameters:
        cls = functions[operation_name(row["workload"])]
        function = getattr(cls, "op_func", None)
        if operation_name(row["workload"]) == "lerp":
            # Its class makes the function from a weight when it is built: 0.5 unless one is given.
            function = interpolate
        if hasattr(cls, "_alpha_op_func"):
            one = object.__new__(cls)
            one._alpha = 1
            function = one._alpha_op_func()
        if function is None:
            activation = cls.activation_func

            def function(gate: Any, value: Any) -> Any:
                return activation(gate) * value

        static["op_func"] = function
    static.update(derived(static, row))
    renamed = {"out_dtype": "output_dtype", "threads_arg": "threads", "npt_arg": "num_per_thread"}
    arguments = {renamed.get(k, k) if k not in parameters else k: v for k, v in static.items()}
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in arguments.items()}
    arguments = {k: v for k, v in arguments.items() if k in parameters}
    for name, value in config.items():
        target = renamed.get(name, name)
        if target in parameters and target not in arguments and name != target:
            arguments[target] = value
    for name, parameter in parameters.items():
        if (
            name not in arguments
            and parameter.default is inspect.Parameter.empty
            and name in config
        ):
            arguments[name] = config[name]
    jit = factory(**arguments)
    wanted = inspect.signature(getattr(jit, "func", jit)).parameters
    return made_by(jit, **{k: v for k, v in config.items() if k in wanted})


SHORT_NAMES = {
    "B": "batch", "C": "num_chunks", "Q": "chunk_len", "H": "n_heads", "P": "d_head",
    "N": "d_state", "G": "n_groups", "S": "seq_len",
}  # fmt: skip


def derived(static: dict[str, Any], row: dict[str, str]) -> dict[str, Any]:
    """Arguments that the table gives under the names that the kernel has for them inside."""
    if "mamba" in row["kernel_file"]:
        return {long: static[short] for short, long in SHORT_NAMES.items() if short in static}
    if "rope" in row["kernel_file"]:
        heads = static["stride_s"] // static["head_dim"]
        return {"num_heads": heads, "batch": static["N_total"] // static["stride_b"]}
    if "clamp" in row["kernel_file"]:
        return {
            "has_min": "max-only" not in row["workload"],
            "has_max": "min-only" not in row["workload"],
        }
    if row["factory"] == "_make_binary_explicit":
        divisors = static.get("divisors", [1])
        above = [static["N_total"], *divisors[:-1]]
        shape = [whole // part for whole, part in zip(above, divisors, strict=True)]
        return {
            "coalesced_shape": shape,
            "a_strides": static.get("a_strides", [1]),
            "b_strides": static.get("b_strides", [1]),
            "a_numel": static.get("a_numel", static["N_total"]),
            "b_numel": static.get("b_numel", static["N_total"]),
        }
    return {}


def main(checkout: str, output: str) -> None:
    answer_as_h200()
    sys.path.insert(0, str(Path(checkout) / "src"))
    functions = operations("tileops.kernels.elementwise")
    book = Factbook("h200_tileops.csv")
    cache: dict[tuple[str, ...], int | str] = {}
    with (HERE / "h200_tileops.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        elementwise = "elementwise" in row["kernel_file"]
        name = operation_name(row["workload"]) if elementwise else ""
        given = json.dumps(derived(json.loads(row["static"]), row))
        key = (row["kernel_file"], row["factory"], row["static"], row["config"], name, given)
        if key not in cache:
            try:
                facts = extracted(prim_func(row, functions), row["factory"])
                cache[key] = book.number(facts)
            except Exception as error:  # one kernel must not stop the others
                cache[key] = f"{row['factory']}: {type(error).__name__}: {str(error)[:120]}"
        found = cache[key]
        if isinstance(found, str):
            book.skip(found)
        else:
            book.add(number, [[found]])
    print(book.save(output), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
