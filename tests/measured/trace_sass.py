"""Facts and CUDA sources of the kernels that `sass.py` compares with NVIDIA's compiler.

    python tests/measured/trace_sass.py tileops TILEOPS_CHECKOUT FOLDER
    python tests/measured/trace_sass.py tilelang TILELANG_CHECKOUT FOLDER

Runs in an environment with tilelang, without a GPU.  Checkouts are tile-ai/TileOPs at 52dbc086, of
which each measured kernel is taken once for a type (`h200_tileops.csv`), and tile-ai/tilelang at
a35008a4, of which the examples of `EXAMPLES` are.  The sources stay in the folder, with the options
of their compilation in the first line; the facts and what belongs together go into an index there.
`trace_suite.py` adds kernels of whole benchmarks to it.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels"), str(HERE.parents[1] / "server")]


class Example(NamedTuple):
    """A kernel of tilelang's examples: its file, its function, with what it is called."""

    file: str
    function: str
    arguments: Mapping[str, Any]
    archs: tuple[str, ...] = ("sm_80", "sm_90a")


_ATTENTION = {"batch": 4, "heads": 32, "seq_len": 4096, "is_causal": False}
_FLASH = "flash_attention/example_"
EXAMPLES = (
    *(
        Example(f"{_FLASH}{name}", "flashattn", {**_ATTENTION, **more})
        for name in ("mha_fwd_bshd", "gqa_fwd_bshd")
        for more in (
            {"dim": 128, "block_M": 128, "block_N": 128, "num_stages": 2, "threads": 256},
            {"dim": 64, "block_M": 64, "block_N": 64, "num_stages": 1, "threads": 128},
            {"dim": 64, "is_causal": True, "block_M": 128, "block_N": 64, "threads": 256},
        )
    ),
    *(
        Example(f"{_FLASH}gqa_bwd", name, {**_ATTENTION, "groups": 4, **more})
        for name in ("flashattn_bwd_atomic_add", "flashattn_bwd_split")
        for more in (
            {"dim_qk": 128, "dim_v": 128, "block_M": 128, "block_N": 32},
            {"dim_qk": 64, "dim_v": 64, "block_M": 64, "block_N": 64},
        )
    ),
    Example(
        f"{_FLASH}mha_bwd_bshd",
        "flashattn_bwd",
        {**_ATTENTION, "dim": 64, "block_M": 128, "block_N": 64},
    ),
    Example(
        "linear_attention/example_linear_attn_fwd",
        "tl_fused_chunk_fwd_kernel",
        {"B": 4, "S": 4096, "H": 16, "DK": 128, "DV": 128},
    ),
    Example(
        "dequantize_gemm/example_dequant_gemm_bf16_fp4_hopper",
        "matmul",
        {"M": 4096, "N": 4096, "K": 4096, "in_dtype": "bfloat16", "out_dtype": "bfloat16"}
        | {"accum_dtype": "float32", "fast_dequant": False, "block_M": 128},
    ),
    Example(
        "dequantize_gemm/example_dequant_gemv_fp16xint4",
        "dequantize_gemv",
        {"M": 1, "N": 4096, "K": 4096, "in_dtype": "float16", "out_dtype": "float16"}
        | {"accum_dtype": "float16", "num_bits": 4, "storage_dtype": "int8"},
    ),
    *(
        Example("attention_sink/example_mha_sink_fwd_bhsd", "flashattn", {**more})
        for more in (
            {"batch": 4, "heads": 32, "seq_q": 4096, "seq_kv": 4096, "dim": 128}
            | {"block_M": 128, "block_N": 128, "num_stages": 2, "threads": 256},
            {"batch": 4, "heads": 32, "seq_q": 4096, "seq_kv": 4096, "dim": 64},
        )
    ),
    Example(
        "flash_decoding/example_gqa_decode",
        "flashattn",
        {"batch": 16, "heads": 32, "groups": 8, "seqlen_kv": 8192, "dim": 128, "block_N": 128}
        | {"block_H": 64, "num_split": 8, "num_stages": 2, "threads": 128},
    ),
    Example(
        "deepseek_mla/example_mla_decode",
        "flashattn",
        {"batch": 64, "heads": 128, "kv_head_num": 1, "seqlen_kv": 8192, "dim": 512, "pe_dim": 64}
        | {"block_N": 64, "block_H": 64, "num_split": 1, "softmax_scale": 0.1},
        ("sm_90a",),
    ),
)
# Plain products: rows and columns of a tile, k, stages, threads.
PRODUCTS = (
    (128, 128, 32, 3, 128),
    (128, 128, 64, 3, 256),
    (128, 256, 64, 3, 256),
    (64, 128, 64, 2, 128),
    (64, 64, 32, 2, 128),
)


class Sources:
    """A folder of CUDA sources, with an index of the facts that they were made of."""

    def __init__(self, folder: Path, most: int = 1000) -> None:
        self._folder = folder
        self._most = most
        self._made: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, function: Any, family: str, name: str, arch: str = "sm_90a") -> str | None:
        """Leave a kernel's source for an architecture; its name, None beyond the most of a name."""
        from factbook import extracted, without_places

        from tirlens_worker.codec import to_json

        facts = without_places(to_json(extracted(function, name)))
        text = json.dumps(facts)
        stem = f"{name}-{arch}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
        path = self._folder / f"{stem}.cu"
        if path.exists():
            return stem
        if self._made.get(name, 0) >= self._most:
            return None
        self._made[name] = self._made.get(name, 0) + 1
        source, flags = cuda_source(function, arch)
        path.write_text(f"// {json.dumps([*flags, '-arch=' + arch])}\n{source}")
        index = {"name": stem, "family": family, "arch": arch, "facts": facts}
        (self._folder / f"{stem}.json").write_text(json.dumps(index))
        return stem


def cuda_source(function: Any, arch: str) -> tuple[str, list[str]]:
    """The CUDA source that tilelang makes of a PrimFunc, and the flags of its compiler."""
    from tilelang import tvm
    from tilelang.engine.lower import lower

    from tirlens_worker.frameworks.compile_options import COMPILE_FLAGS, PASS_CONFIGS

    attributes = dict(function.attrs or {})
    passes = dict(attributes.get(PASS_CONFIGS) or {})
    flags = [str(flag) for flag in attributes.get(COMPILE_FLAGS) or ()]
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with tvm.transform.PassContext(opt_level=3, config=passes), target:
        made = lower(function, target=target, enable_device_compile=False)
    if any("fast_math" in str(key).lower() and value for key, value in passes.items()):
        flags.append("--use_fast_math")
    return str(made.kernel_source), flags


def tileops(checkout: Path, sources: Sources) -> None:
    """Each measured kernel of TileOPs once for a type and, where it takes one, an operation."""
    import trace_tileops

    trace_tileops.answer_as_h200()
    sys.path.insert(0, str(checkout / "src"))
    functions = trace_tileops.operations("tileops.kernels.elementwise")
    seen: set[tuple[str, ...]] = set()
    with (HERE / "h200_tileops.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        elementwise = "elementwise" in row["kernel_file"]
        name = trace_tileops.operation_name(row["workload"]) if elementwise else row["config"]
        key = (row["factory"], name, row["dtype"])
        if key in seen:
            continue
        seen.add(key)
        family = row["kernel_file"].removeprefix("src/tileops/kernels/").removesuffix(".py")
        try:
            function = trace_tileops.prim_func(row, functions)
            label = name if elementwise else row["dtype"]
            made = sources.add(function, family, f"{row['factory'].strip('_')}-{label}")
            print(made, flush=True)
        except Exception as error:  # one kernel must not stop the others
            print(row["factory"], name, type(error).__name__, str(error)[:200], file=sys.stderr)


def tilelang(checkout: Path, sources: Sources) -> None:
    """Examples, each for the architectures that can have it, and plain products."""
    import library_tilelang
    import trace_tileops
    from factbook import made_by

    trace_tileops.answer_as_h200()
    for example in EXAMPLES:
        for arch in example.archs:
            try:
                path = checkout / "examples" / f"{example.file}.py"
                sys.path.insert(0, str(path.parent))
                spec = importlib.util.spec_from_file_location(path.stem, path)
                assert spec is not None and spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                jit = getattr(module, example.function)
                jit = getattr(jit, "jit_impl", jit)
                function = made_by(jit, **example.arguments)
                name = f"{path.stem.removeprefix('example_')}-{example.function}"
                print(sources.add(function, f"tilelang/{path.parent.name}", name, arch), flush=True)
            except Exception as error:  # one kernel must not stop the others
                print(example.file, arch, type(error).__name__, str(error)[:200], file=sys.stderr)
    for m, n, k, stages, threads in PRODUCTS:
        sizes = {"block_m": m, "block_n": n, "block_k": k, "stages": stages, "threads": threads}
        for arch in ("sm_80", "sm_90a"):
            function = library_tilelang.matmul(4096, 4096, 4096, **sizes)
            print(sources.add(function, "tilelang/gemm", "matmul", arch), flush=True)


if __name__ == "__main__":
    kind, checkout, folder = sys.argv[1:]
    {"tileops": tileops, "tilelang": tilelang}[kind](Path(checkout), Sources(Path(folder)))
