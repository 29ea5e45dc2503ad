"""Extract the facts of the kernels of ``tutorials.csv``.

    PYTHONPATH=server PYTHON_WITH_TVM      tests/measured/trace_tutorials.py
    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/trace_tutorials.py

Each row of the table is a step of a published tutorial, with a configuration that is known.  The
kernels on the scalar cores are written out in ``kernels/tutorial_{memory,products}.py``; those on
the tensor cores are tilelang kernels of the same tiles, threads and stages.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]

from factbook import TABLES, Factbook, extracted  # noqa: E402
from trace_library import Cache, table_rows  # noqa: E402

from tirlens_worker.program.compilations import with_options  # noqa: E402

TABLE = "tutorials.csv"
# Elements as wide as the tutorial's, of any type: they are only copied.
ELEMENTS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
Made = tuple[str, Any, tuple[Any, ...], dict[str, Any], dict[str, int]]


def memory(row: dict[str, str], shape: dict[str, int], config: dict[str, Any]) -> Made:
    """Name, maker, its arguments, and the sizes that the kernel is told when it runs."""
    import tutorial_memory as made

    family = row["family"]
    if "element_bytes" in config:
        each = config["element_bytes"]
        arguments = ELEMENTS[each], config["lanes"], config.get("shared", False)
        return "copy", made.copy, arguments, {}, {"n": shape["bytes"] // each}
    if row["op"] == "strided copy":
        return "copy", made.strided_copy, (), config, {"n": shape["bytes"] // 4}
    if family == "transpose":
        sizes = {"m": shape["M"], "n": shape["N"]}
        if config.get("swizzle"):
            return "transpose", made.transpose_swizzled, (), {}, sizes
        if "coalesced" in config:
            return "transpose", made.transpose, (config["coalesced"], config["pad"]), {}, sizes
        return "transpose", made.transpose, ("both", config["pad"], False), {}, sizes
    if "by_warps" in config:
        return "row_sums", made.row_sums, (), config, dict(shape)
    if config.get("version") == 8:
        return "array_sum", made.array_sum_vectors, (108 * 8,), {}, {}
    if "version" in config:
        # How many steps the trees of the first ones have is known when they run.
        steps = {4: 2, 5: 0, 6: 0}.get(config["version"], 8)
        sizes = {"steps": steps} if config["version"] < 7 else {}
        return "array_sum", made.array_sum, (config["version"],), {}, sizes
    if family == "stencil":
        maker = made.laplacian_tiled if config else made.laplacian
        return "laplacian", maker, tuple(config.values()), {}, dict(shape)
    if family == "gemv":
        sizes = {"m": shape["M"], "n": shape["K"]}
        return "sgemv", made.matrix_vector, tuple(config["rows_lanes"]), {}, sizes
    operation = "mul" if row["op"].endswith("mul") else "add"
    if "blocks" in config:
        maker = made.two_arrays_strided
        return operation, maker, (operation, row["dtype"]), config, dict(shape)
    return operation, made.two_arrays, (operation, row["dtype"]), config, {}


def product(row: dict[str, str], shape: dict[str, int], config: dict[str, Any]) -> Made:
    """The same of a product on the scalar cores."""
    import tutorial_products as made

    sizes = {"m": shape["M"], "n": shape["N"], "k": shape["K"]}
    # Sizes are of 64 bits and guarded in one tutorial, of 32 bits and multiples in the other.
    integer = "int64" if row["source"] == "tutorial_leimao" else "int32"
    named = {"dtype": row["dtype"], "integer": integer}
    if "naive" in config:
        return "gemm", made.naive, (config["naive"],), named, sizes
    rest = {key: value for key, value in config.items() if key != "tile"}
    named |= {"guarded": integer == "int64", **rest}
    return "gemm", made.tiled, tuple(config["tile"]), named, sizes


def by_threads(make: Any, *arguments: Any, **named: Any) -> Any:
    """A kernel that loads with cp.async, as one for Ampere does on any later board, too."""
    options = {"tl.disable_tma_lower": True, "tl.disable_warp_specialized": True}
    return with_options(make(*arguments, **named), options)


def tensor(row: dict[str, str], shape: dict[str, int], config: dict[str, Any]) -> Made:
    """The same of a kernel on the tensor cores."""
    import library_tilelang as made

    rest = {key: value for key, value in config.items() if key != "group"}
    named = {
        **rest,
        "dtype": row["dtype"],
        "panel": config["group"],
        "through_shared": False,
    }
    sizes = shape["M"], shape["N"], shape["K"]
    return "matmul", by_threads, (made.matmul, *sizes), named, {}


def main() -> None:
    has_tilelang = importlib.util.find_spec("tilelang") is not None
    book = Factbook(TABLE)
    facts = Cache(lambda function, name: book.number(extracted(function, name)))
    for number, row, shape in table_rows(TABLE):
        config = json.loads(row["config"])
        on_tensor_cores = row["source"] == "tutorial_gau_nernst"
        if on_tensor_cores != has_tilelang:
            continue
        make = tensor if on_tensor_cores else product if row["family"] == "gemm_simt" else memory
        name, maker, arguments, named, sizes = make(row, shape, config)
        book.add(number, [[facts(name, maker, *arguments, **named)]], sizes)
    name = "tutorials_tilelang" if has_tilelang else "tutorials_tvm"
    print(book.save(TABLES / "facts" / f"{name}.json.gz"))


if __name__ == "__main__":
    main()
