"""What NVIDIA's compiler makes of measured kernels: registers, stack and spills of each row.

    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/compiled_rows.py MEASURED.csv TABLE.csv

The interpreter needs platformdirs and cattrs as well, and finds nvcc and nvdisasm as TIRLens does
(``CUDA_HOME``).  Paths in the column `file` of MEASURED.csv, a table of ``tirlens measure``, are
relative to the present folder.  Rows that TABLE.csv has are not compiled again.  About two seconds
a kernel; products by wgmma are left out, whose registers lowering gives.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tirlens.hardware import load
from tirlens.pipeline.compilation_request import compilation_of, compiled_architecture
from tirlens.worker_client.toolchain import find_toolchain
from tirlens_worker.facts import CompiledLaunch
from tirlens_worker.frameworks.held_function import extract_held
from tirlens_worker.frameworks.lowering.generate import generate
from tirlens_worker.frameworks.lowering.machine_code import add_machine_code
from tirlens_worker.protocol import CUDA, GeneratedCode

COLUMNS = ("row", "registers", "stack_bytes", "spill_bytes")
DEVICE = "h100-sxm"
KERNELS = frozenset({"add", "rms_norm", "softmax", "transpose"})


def compiled(function: Any, name: str) -> CompiledLaunch | None:
    """What the compiler makes of a function; None where it or the framework refuses it."""
    facts, path = extract_held(function, name)
    arch = compiled_architecture(facts, load(DEVICE))
    if arch is None:
        return None
    code = GeneratedCode(facts.definition, facts.name, facts.call, arch)
    target = {"kind": "cuda", "arch": arch}
    texts = generate(function, facts.framework, target, path or "", (CUDA,))
    code = replace(code, texts=tuple(texts))
    compiler = find_toolchain(Path(sys.executable)).compiler
    code = add_machine_code(code, facts.framework, compiler, with_sass=True)
    return compilation_of(code, facts).launch


@cache
def names_of(path: Path) -> dict[str, Any]:
    """The names of a module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return vars(module)


def main(measured: Path, table: Path) -> None:
    known: set[str] = set()
    if table.exists():
        with table.open(encoding="utf-8") as file:
            known = {row["row"] for row in csv.DictReader(file)}
    with measured.open(encoding="utf-8") as file:
        rows = list(enumerate(csv.DictReader(file)))
    with table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not known:
            writer.writerow(COLUMNS)
        for number, row in rows:
            if row["kernel"] not in KERNELS or str(number) in known:
                continue
            function = eval(row["call"], names_of(Path(row["file"])))
            found = compiled(function, row["kernel"])
            if found is not None:
                resources = (found.registers_per_thread, found.stack_bytes, found.spill_bytes)
                writer.writerow((number, *resources))
                file.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
