"""Extract the facts of the kernels that stand for library kernels of ``public.csv``.

    PYTHONPATH=server PYTHON_WITH_TVM      tests/measured/trace_library.py
    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/trace_library.py TILELANG_CHECKOUT

Under apache-tvm the kernels of torch and cuBLAS (`kernels/library_{tvm,rows}.py`), whose launch
figures the table gives, are traced into ``facts/library_tvm.json.gz``; under tilelang the
tensor-core products (`kernels/library_tilelang.py`) into ``facts/library_tilelang.json.gz``.  Where
a table does not tell the configuration, a small set stated here is traced and the fastest
prediction counts, as the library or the tuner would choose.  The matrix-vector kernels of
tilelang's documentation come from its ``examples/gemv``, with the configurations given there.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]

from factbook import TABLES, Factbook, extracted, made_by  # noqa: E402
from tables import DEVICES  # noqa: E402

# (block_m, block_n, block_k, stages, threads): what tuners and libraries take for large products.
AMPERE_TILES = (
    (64, 64, 32, 3, 128),
    (64, 128, 32, 3, 128),
    (128, 128, 32, 3, 128),
    (128, 256, 32, 3, 256),
    (256, 128, 32, 3, 256),
)
CDNA_TILES = (
    (64, 64, 32, 2, 256),
    (128, 64, 32, 2, 256),
    (128, 128, 32, 2, 256),
    (256, 128, 32, 2, 256),
)
# The same table's sizes for 8-bit operands, k 64, 128.
HOPPER_FP8_TILES = (
    (128, 128, 128, 3, 128),
    (128, 128, 128, 3, 256),
    (128, 256, 128, 3, 256),
    (256, 128, 128, 3, 256),
)
# (block_M, block_N, block_K, num_stages) from the search space of tilelang's mamba2 benchmark.
CHUNK_SCAN_TILES = (
    (64, 64, 64, 2),
    (64, 64, 128, 2),
    (128, 64, 64, 2),
    (128, 64, 64, 3),
    (128, 64, 128, 2),
    (256, 64, 64, 2),
)
# The kernels of examples/gemv, by their names in the table, as its main function calls them.
GEMV_CONFIGURATIONS = {
    "naive_gemv": {"BLOCK_N": 128, "BLOCK_K": 128},
    "splitk_gemv": {"BLOCK_N": 32, "BLOCK_K": 32, "reduce_threads": 32},
    "splitk_gemv_vectorized": {"BLOCK_N": 2, "reduce_threads": 32},
    "splitk_gemv_vectorized_tvm": {"BLOCK_N": 2, "reduce_threads": 32},
}
# From the search space that the table names: 64, 128, 256; k 32, 64; stages 0-3; 128, 256 threads.
HOPPER_TILES = (
    (128, 128, 64, 3, 128),
    (128, 128, 64, 3, 256),
    (128, 256, 64, 3, 256),
    (256, 128, 64, 3, 256),
)


def table_rows(table: str) -> Iterator[tuple[int, dict[str, str], dict[str, Any]]]:
    with (TABLES / table).open(encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            yield number, row, json.loads(row["shape"] or "{}")


class Cache:
    """The number of a kernel in the book, by what it was made from; `number` puts it there."""

    def __init__(self, number: Callable[[Any, str], int]) -> None:
        self._number = number
        self._numbers: dict[tuple[Any, ...], int] = {}

    def __call__(self, name: str, make: Callable[..., Any], *arguments: Any, **named: Any) -> int:
        key = (name, make, arguments, tuple(named.items()))
        if key not in self._numbers:
            self._numbers[key] = self._number(make(*arguments, **named), name)
        return self._numbers[key]


def trace_tvm() -> Factbook:
    import library_tvm as library

    # torch's kernels, which these stand for, are compiled without fast math.
    os.environ["TVM_CUDA_NVCC_NO_FAST_MATH"] = "1"
    book = Factbook("public.csv")
    facts = Cache(lambda function, name: book.number(extracted(function, name)))
    for number, row, shape in table_rows("public.csv"):
        if row["gpu"] not in DEVICES:
            continue
        operation = row["op"].removeprefix("torch ")
        if row["source"] == "llmcompass_hw" and row["family"] != "gemm":
            warp = 64 if row["gpu"].startswith("MI") else 32
            kernel, sizes = half_precision(operation, shape, warp)
            book.add(number, [[facts(operation, *kernel)]], sizes)
        elif row["source"] == "neusight" and row["family"] == "gemm_fp32":
            arguments = sgemm_arguments(json.loads(row["config"]), shape, operation)
            if isinstance(arguments, str):
                book.skip(arguments)
            else:
                book.add(number, [[facts("sgemm", library.sgemm, *arguments)]])
        elif row["source"] == "neusight":
            kernel, sizes = single_precision(operation, shape, json.loads(row["config"]))
            book.add(number, [[facts(operation, *kernel)]], sizes)
    return book


Made = tuple[tuple[Any, ...], dict[str, int]]


def single_precision(operation: str, shape: dict[str, int], launch: dict[str, str]) -> Made:
    """What makes the kernel that the table names, and its run-time sizes."""
    import library_rows as library
    from library_tvm import elementwise

    rows, columns = shape["rows"], shape["cols"]
    if operation == "ln":
        return (library.layer_norm,), {"rows": rows, "columns": columns}
    if operation == "softmax" and "softmax_warp_forward" in launch["kernel"]:
        return (library.softmax_by_warp, columns), {"rows": rows}
    if operation == "softmax":
        threads = int(launch["block"].split("x")[0])
        return (library.softmax_by_block, threads), {"rows": rows, "columns": columns}
    return (elementwise, operation), {"n": rows * columns}


def half_precision(operation: str, shape: dict[str, int], warp: int) -> Made:
    """The same of a table without launch figures: torch's own choice for these sizes."""
    import library_rows as library
    from library_tvm import elementwise

    if operation == "gelu":
        return (elementwise, "gelu", "float16"), {"n": shape["n"]}
    rows, columns = shape["M"], shape["N"]
    if operation == "layernorm":
        return (library.layer_norm, "float16", warp), {"rows": rows, "columns": columns}
    if columns <= 1024:
        return (library.softmax_by_warp, columns, "float16", warp), {"rows": rows}
    threads = library.softmax_threads(columns, "float16", warp)
    return (library.softmax_by_block, threads, "float16", warp), {"rows": rows, "columns": columns}


def sgemm_arguments(
    launch: dict[str, str], shape: dict[str, int], operation: str
) -> tuple[int, ...] | str:
    """The arguments of `sgemm`, from cuBLAS's kernel name and grid, or why there are none.

    The kernels of linear layers (``_tn`` in their names) read weights that lie as (n, k).
    """
    kernel = launch["kernel"]
    found = re.search(r"sgemm_(\d+)x(\d+)|tilesize(\d+)x(\d+)x8", kernel)
    if found is None:
        return "a product whose kernel name tells no tile"
    if "sliced" in kernel:
        return "a product whose block is sliced along k"
    # The library's matrices are column by column: its first extent runs along our columns.
    tile_n, tile_m = (int(text) for text in found.groups() if text)
    threads = int(launch["block"].split("x")[0])
    batch, m, k, n = shape["B"], shape["M"], shape["N"], shape["K"]
    blocks = batch * -(-m // tile_m) * -(-n // tile_n)
    launched = 1
    for extent in launch["grid"].split("x"):
        launched *= int(extent)
    if launched > blocks * 1.2:
        return "a product split along k over blocks"
    return batch, m, n, k, tile_m, tile_n, threads, operation == "linear"


def trace_tilelang(
    book: Factbook, checkout: str, number: Callable[[Any, str], int] | None = None
) -> Factbook:
    """Fill `book`; `number` says what a traced kernel's number is, its facts' one in the book."""
    import library_tilelang as library

    facts = Cache(number or (lambda function, name: book.number(extracted(function, name))))

    def products(
        shape: dict[str, int], tiles: Any, accumulator: str, transposed: bool = True
    ) -> list[list[int]]:
        sizes = shape["M"], shape["N"], shape["K"]
        kept = {"accumulator": accumulator, "transposed": transposed}
        return [[facts("matmul", library.matmul, *sizes, **tile, **kept)] for tile in named(tiles)]

    for row_number, row, shape in table_rows("public.csv"):
        source = row["source"]
        if source == "tilelang_readme":
            book.add(row_number, products(shape, HOPPER_TILES, "float32"))
        elif source == "tilefusion_readme":
            config = json.loads(row["config"])
            tile = (config["block_M"], config["block_N"], config["block_K"], 1, config["threads"])
            book.add(row_number, products(shape, [tile], "float32"))
        elif source == "tilelang_docs" and row["impl"] == "tilelang":
            name = row["op"].removeprefix("gemv ")
            book.add(row_number, [[facts(name, documented_gemv, checkout, name, shape["N"])]])
        elif source == "bitblas_a100" and row["family"] == "gemv":
            book.add(row_number, [[facts("gemv", library.gemv, shape["N"], shape["K"])]])
        elif source == "bitblas_a100":
            book.add(row_number, products(shape, AMPERE_TILES, "float16"))
        elif source == "llmcompass_hw" and row["family"] == "gemm":
            tiles = AMPERE_TILES if "A100" in row["gpu"] else CDNA_TILES
            # ``torch.matmul`` of two arrays that lie row by row.
            book.add(row_number, products(shape, tiles, "float32", transposed=False))
    return book


def example(checkout: str, name: str) -> Any:
    """A module of tilelang's examples, which use einops in their references only."""
    if "einops" not in sys.modules and importlib.util.find_spec("einops") is None:
        absent = ModuleType("einops")
        vars(absent).update(rearrange=None, repeat=None)
        sys.modules["einops"] = absent
    path = Path(checkout) / "examples" / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented_gemv(checkout: str, name: str, size: int) -> Any:
    module = example(checkout, "gemv/example_gemv.py")
    return made_by(getattr(module, name), N=size, K=size, **GEMV_CONFIGURATIONS[name])


def trace_readmes(checkout: str) -> Factbook:
    """The tables in tilelang's benchmark folders: fp8 products, and mamba2's chunk scan."""
    import library_tilelang as library

    book = Factbook("tilelang_readmes.csv")
    facts = Cache(lambda function, name: book.number(extracted(function, name)))
    for number, row, shape in table_rows("tilelang_readmes.csv"):
        if row["family"] == "gemm_fp8":
            sizes = shape["M"], shape["N"], shape["K"]
            made = [
                facts("matmul", library.matmul, *sizes, **tile, dtype="float8_e4m3fn")
                for tile in named(HOPPER_FP8_TILES)
            ]
        else:
            made = [
                facts("chunk_scan", chunk_scan, checkout, shape["seq_len"], *tile)
                for tile in CHUNK_SCAN_TILES
            ]
        book.add(number, [[item] for item in made])
    return book


def chunk_scan(checkout: str, seq_len: int, *tile: int) -> Any:
    module = example(checkout, "linear_attention/example_mamba_chunk_scan.py")
    kernel = getattr(module.chunk_scan_fwd, "jit_impl", module.chunk_scan_fwd)
    names = ("block_M", "block_N", "block_K", "num_stages")
    return made_by(
        kernel,
        batch=8,
        seqlen=seq_len,
        chunk_size=256,
        ngroups=1,
        nheads=80,
        headdim=64,
        dstate=128,
        **dict(zip(names, tile, strict=True)),
    )


def named(tiles: Iterable[tuple[int, ...]]) -> Iterator[dict[str, int]]:
    """The tiles as arguments of `matmul`."""
    names = ("block_m", "block_n", "block_k", "stages", "threads")
    return (dict(zip(names, tile, strict=True)) for tile in tiles)


def main(checkout: str = "") -> None:
    if importlib.util.find_spec("tilelang") is not None:
        book, name = trace_tilelang(Factbook("public.csv"), checkout), "library_tilelang"
        print(trace_readmes(checkout).save(TABLES / "facts" / "tilelang_readmes.json.gz"))
    else:
        book, name = trace_tvm(), "library_tvm"
    print(book.save(TABLES / "facts" / f"{name}.json.gz"))


if __name__ == "__main__":
    main(*sys.argv[1:])
