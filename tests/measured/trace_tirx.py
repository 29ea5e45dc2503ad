"""Extract the facts of the measured TIRx kernels.  It needs apache-tvm 0.27 and torch.

    PYTHONPATH=server PYTHON tests/measured/trace_tirx.py TIRX_KERNELS_CHECKOUT

TIRX_KERNELS_CHECKOUT is mlc-ai/TIRx-kernels at commit 51a6c01d, which is written for a development
version of TVM; what release 0.27 lacks of it is put in its place below.  Only facts are written.
"""

from __future__ import annotations

import csv
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from factbook import TABLES, Factbook, extracted  # noqa: E402
from tirx_sizes import launched, turned  # noqa: E402


def answer_as_development_version() -> None:
    """`BufferLoad` is a class there, and there are functors of statements.

    The kernels use the functors for a lint, and to chain sibling branches of warp roles, which
    exclude each other, into one else-if: neither changes what is executed.
    """
    import tvm.tirx
    from tvm import ir

    make = tvm.tirx.BufferLoad
    ir.TensorLoad.buffer = property(lambda self: self.source)

    class Loads(type):
        def __instancecheck__(cls, item: object) -> bool:
            return isinstance(item, ir.TensorLoad)

        def __call__(cls, *arguments: Any, **named: Any) -> Any:
            return make(*arguments, **named)

    tvm.tirx.BufferLoad = Loads("BufferLoad", (), {})
    functors = types.ModuleType("tvm.tirx.stmt_functor")
    functors.StmtExprVisitor = type("StmtExprVisitor", (), {"__call__": lambda self, body: None})
    functors.ir_transform = lambda body, before, after: body
    sys.modules[functors.__name__] = functors
    tvm.tirx.stmt_functor = functors


def functions(found: Any) -> Iterator[Any]:
    """The PrimFuncs of what `get_kernel` returned: one, a module or a collection of them."""
    if type(found).__name__ == "PrimFunc":
        yield found
    elif type(found).__name__ == "IRModule":
        yield from found.functions.values()
    elif isinstance(found, dict):
        for item in found.values():
            yield from functions(item)
    elif isinstance(found, (list, tuple)):
        for item in found:
            yield from functions(item)


def bindings(facts: Any, operation: str, config: dict[str, Any]) -> dict[str, int]:
    """The sizes that a kernel takes at run time: those that its module's launcher passes, and
    those of its configuration under the names that they have there."""
    given: dict[str, Any] = {
        name.lower(): value for name, value in config.items() if isinstance(value, int)
    }
    given.update(launched(operation, config))
    return {
        variable.name: int(size)
        for variable in facts.variables
        if (size := given.get(variable.name.removeprefix("runtime_").lower())) is not None
    }


def trace(row: dict[str, str], book: Factbook, number: int) -> None:
    from tirx_kernels import registry

    module = registry.load_kernel(row["op"])
    label = json.loads(row["shape"])["config"]
    configs = [*module.CONFIGS, *getattr(module, "BENCH_CONFIGS", ())]
    config = next(dict(item) for item in configs if item["label"] == label)
    del config["label"]
    sizes: dict[str, int] = {}
    kernels: list[int] = []
    for function in functions(module.get_kernel(**config)):
        facts = extracted(function, row["op"], label)
        sizes.update(bindings(facts, row["op"], config))
        sizes.update(turned(row["op"], config, facts))
        kernels.append(book.number(facts))
    book.add(number, [kernels], sizes)


def main(checkout: str) -> None:
    answer_as_development_version()
    sys.path.insert(0, checkout)
    book = Factbook("public.csv")
    with (TABLES / "public.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        if row["source"] == "tirx_kernels" and row["impl"] == "tvm-tirx":
            try:
                trace(row, book, number)
            except Exception as error:  # one kernel must not stop the others
                book.skip(f"{row['op']}: {type(error).__name__}: {str(error)[:80]}")
    print(book.save(TABLES / "facts" / "tirx_b200.json.gz"))


if __name__ == "__main__":
    main(*sys.argv[1:])
