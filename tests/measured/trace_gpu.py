"""Trace the kernels of a table of ``tirlens measure``: their facts, lowered for the device.

    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/trace_gpu.py TABLE.csv FACTS.json.gz

The interpreter needs platformdirs as well.  Paths in the column `file` are relative to the
present folder; a row whose kernel cannot be traced has no facts.
"""

from __future__ import annotations

import csv
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from factbook import Factbook

from tirlens import pipeline, source
from tirlens.pipeline import Options
from tirlens_worker import analysis
from tirlens_worker.facts import KernelFacts
from tirlens_worker.frameworks import detect
from tirlens_worker.frameworks.locations import spans
from tirlens_worker.frameworks.lowering.lower import LoweringError, lower
from tirlens_worker.program import defined_values, patches
from tirlens_worker.program.document import Document
from tirlens_worker.program.load import load
from tirlens_worker.tracing.trace import Tracer


def kernels(path: Path, calls: list[str], arch: str) -> Iterator[KernelFacts | None]:
    """The facts of each call of one file."""
    text = path.read_text(encoding="utf-8")
    found = source.read(text)
    document = Document(str(path.absolute()), text)
    defined_values.record_definitions(document)
    patches.install_captures()
    analysis.enter_folder(str(path.absolute()))
    loaded = load(document, (), lambda line: None)
    patches.install_captures()
    tracer = Tracer(loaded)
    for call in calls:
        options = Options(device="h100-sxm", calls=(call,))
        asked = pipeline.analysis_request(1, str(path.absolute()), text, found, options)
        facts = None
        for kernel in asked.kernels:
            for one in kernel.candidates:
                for traced in tracer.trace(replace(kernel, candidates=(one,))).traced:
                    facts = analysis.facts_of(loaded, kernel, traced)
                    try:
                        lowered = lower(traced.function, {"kind": "cuda", "arch": arch})
                        facts = replace(facts, lowered=(lowered,))
                    except LoweringError:
                        pass
        yield facts


def main(table: Path, output: Path) -> None:
    detect()
    book = Factbook(table.name)
    here = Path.cwd()
    with table.open(encoding="utf-8") as file:
        rows = list(enumerate(csv.DictReader(file)))
    by_file = itertools.groupby(
        sorted(rows, key=lambda item: item[1]["file"]), lambda item: item[1]["file"]
    )
    with spans.recording():
        for name, group in by_file:
            items = list(group)
            os.chdir(here)
            # The lowering of a measurement is for sm_90a where it is for sm_90.
            arch = items[0][1]["target"]
            try:
                facts = list(kernels(here / name, [row["call"] for _, row in items], arch))
            except Exception as error:
                print(name, repr(error)[:300], file=sys.stderr)
                facts = [None] * len(items)
            for (number, row), one in zip(items, facts, strict=True):
                if one is None:
                    book.skip(f"the kernel cannot be traced: {name}")
                    continue
                bindings = dict(word.split("=") for word in row["bindings"].split())
                book.add(number, [[book.number(one)]], {k: int(v) for k, v in bindings.items()})
            print(name, len(items), flush=True)
    os.chdir(here)
    print(book.save(output))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
