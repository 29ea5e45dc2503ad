"""Extract the facts of the kernels of ``boards.csv``.

    PYTHONPATH=server PYTHON_WITH_TVM      tests/measured/trace_boards.py
    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/trace_boards.py

Public tables of boards that have few other rows.  Kernels on the scalar cores are those of
``kernels/{boards_tvm,tutorial_products,library_tvm,library_rows}.py``; those on the tensor cores
are tilelang kernels of the same tiles, threads and stages, but for two that their author writes
with ``mma`` and scalar loads.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]

from factbook import TABLES, Factbook, extracted  # noqa: E402
from trace_library import Cache, single_precision, table_rows  # noqa: E402
from trace_tutorials import Made, by_threads, product  # noqa: E402

TABLE = "boards.csv"
ON_TENSOR_CORES = ("attention_fwd", "gemm")


def scalar(row: dict[str, str], shape: dict[str, int], config: dict[str, Any]) -> Made:
    """Name, maker, its arguments, and the sizes that the kernel is told when it runs."""
    import boards_tvm as made

    operation = row["op"]
    if row["source"] == "board_kernelbench":
        sizes = {"rows": shape["rows"], "cols": shape["columns"]}
        block = {"kernel": "", "block": str(config.get("threads", ""))}
        (maker, *arguments), bindings = single_precision(
            operation.removeprefix("torch "), sizes, block
        )
        return operation, maker, tuple(arguments), {}, bindings
    if operation.startswith("mma"):
        sizes = {"m": shape["M"], "n": shape["N"], "k": shape["K"]}
        return "matmul", made.mma_by_scalars, (config["warp_tiles"],), {}, sizes
    if row["source"] != "board_pmpp":
        return product(row, shape, config)
    if operation.startswith("add"):
        return "add", made.add, (config["coalesced"],), {}, {"m": shape["M"], "n": shape["N"]}
    if operation == "convolution 1d":
        sizes = {"n": shape["n"], "width": shape["mask"]}
        return "convolution", made.convolution_1d, (config["threads"],), {}, sizes
    if operation == "convolution 2d":
        sizes = {**shape, "tall": shape["mask"], "wide": shape["mask"]}
        del sizes["mask"]
        return "convolution", made.convolution_2d, (), {}, sizes
    if operation == "grey":
        return "grey", made.grey, (), {}, dict(shape)
    sizes = {"m": shape["M"], "n": shape.get("N", shape["K"]), "k": shape["K"]}
    if row["family"] == "gemv":
        del sizes["k"]
        return "product", made.matrix_vector, (config["threads"], config["tiled"]), {}, sizes
    if config["tiled"]:
        sizes["tile"] = config["width"]
    return "product", made.product, (config["width"], config["tiled"]), {}, sizes


def tensor(row: dict[str, str], shape: dict[str, int], config: dict[str, Any]) -> Made:
    """The same of a kernel on the tensor cores."""
    import library_tilelang as made

    if row["family"] == "attention_fwd":
        sizes = shape["heads"], shape["seq_q"], shape["seq_kv"], shape["dim"]
        named = {**config, "dtype": row["dtype"]}
        return "attention", by_threads, (made.attention, *sizes), named, {}
    named = {**config, "dtype": row["dtype"], "panel": 0, "through_shared": False}
    if row["source"] == "board_mma":
        named["out"] = "float32"
    sizes = shape["M"], shape["N"], shape["K"]
    return "matmul", by_threads, (made.matmul, *sizes), named, {}


def main() -> None:
    has_tilelang = importlib.util.find_spec("tilelang") is not None
    # torch's kernels are compiled without fast math.
    os.environ["TVM_CUDA_NVCC_NO_FAST_MATH"] = "1"
    book = Factbook(TABLE)
    facts = Cache(lambda function, name: book.number(extracted(function, name)))
    for number, row, shape in table_rows(TABLE):
        config = json.loads(row["config"])
        on_tensor_cores = row["family"] in ON_TENSOR_CORES and "warp_tiles" not in config
        if on_tensor_cores != has_tilelang:
            continue
        made = tensor(row, shape, config) if has_tilelang else scalar(row, shape, config)
        name, maker, arguments, named, sizes = made
        book.add(number, [[facts(name, maker, *arguments, **named)]], sizes)
    name = "boards_tilelang" if has_tilelang else "boards_tvm"
    print(book.save(TABLES / "facts" / f"{name}.json.gz"))


if __name__ == "__main__":
    main()
