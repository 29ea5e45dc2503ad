"""What NVIDIA's compiler makes of the suite's kernels, beside what the model assumes of them.

    python tests/measured/suite_sass.py CUDA_FOLDER OUT.csv FILE.json.gz... --tilelang FOLDER

CUDA_FOLDER and the files are of one run of `trace_suite.py`; FOLDER is the installed package
`tilelang`, whose headers the sources include, `--nvcc` that of CUDA 12 or 13.
Kernels that OUT.csv has are not compiled again.  Spilled bytes are of the code, not of what is
executed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model import analyze  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402


@dataclass(frozen=True)
class Compiled:
    """What ptxas says of a kernel; `local_bytes` is its stack, `spilled_bytes` loads and stores."""

    source: str
    threads: int
    registers: int
    local_bytes: int
    spilled_bytes: int


def compiled(source: Path, nvcc: str, tilelang: Path) -> Compiled:
    """Compile a source for the H200 with the options of its first line."""
    text = source.read_text()
    options = json.loads(text.partition("\n")[0].removeprefix("// "))
    flags = [word for option in options for word in str(option).split()]
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [nvcc, "-std=c++17", "-O3", "-arch=sm_90a", "-cubin", "-Xptxas", "-v", "-w"]
            + [f"-I{tilelang / part}" for part in ("src", "3rdparty/cutlass/include")]
            + [*flags, str(source), "-o", f"{folder}/kernel.cubin"],
            capture_output=True,
            text=True,
            check=True,
        ).stderr
    bounds = re.findall(r"__launch_bounds__\((\d+)", text)
    entries = re.findall(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
        r"\s+ptxas info\s+: Used (\d+) registers",
        said,
    )
    stack, stores, loads, registers = map(int, max(entries, key=lambda entry: int(entry[3])))
    return Compiled(source.name, max(map(int, bounds)), registers, stack, stores + loads)


def assumed(content: Mapping[str, Any], device: Device) -> Iterator[tuple[str, str, Any]]:
    """Source, family and report of each distinct kernel of a file."""
    seen: set[str] = set()
    for row in content["rows"]:
        for launch in row["launches"]:
            source = launch.get("cuda")
            if source is None or source in seen:
                continue
            seen.add(source)
            facts = from_json(KernelFacts, content["facts"][launch["facts"]])
            needed = {variable.name for variable in facts.variables}
            sizes = {k: v for k, v in launch["bindings"].items() if k in needed}
            family = launch["file"].removeprefix("tileops/kernels/").removesuffix(".py")
            yield source, family, analyze(facts, device, sizes)


def compare(known: Mapping[str, Compiled], files: list[Path], device: Device) -> str:
    """A line a kernel, and what is systematic: the model's registers over the compiler's."""
    table: list[str] = []
    ratios: list[float] = []
    for path in files:
        content = json.loads(gzip.decompress(path.read_bytes()))
        for source, family, report in assumed(content, device):
            found = known.get(source)
            if found is None or report.registers_per_thread is None:
                continue
            ratios.append(report.registers_per_thread / found.registers)
            spills = any("spill" in note.message for note in report.caveats)
            words = [
                f"threads {report.threads_per_block} != {found.threads}"
                if report.threads_per_block != found.threads
                else "",
                "spills unseen" if found.spilled_bytes and not spills else "",
                "spills imagined" if spills and not found.spilled_bytes else "",
                f"{found.local_bytes} B stack"
                if found.local_bytes and not found.spilled_bytes
                else "",
            ]
            blocks = report.occupancy and report.occupancy.blocks_per_sm
            table.append(
                f"{family:45s}{source[:50]:52s}{report.registers_per_thread:4d}{found.registers:5d}"
                f"{ratios[-1]:6.2f}  blocks {blocks}  {', '.join(filter(None, words))}"
            )
    if ratios:
        table.append(f"{len(ratios)} kernels, median ratio of registers {median(ratios):.2f}")
    return "\n".join(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--tilelang", type=Path)
    options = parser.parse_args()
    known: dict[str, Compiled] = {}
    names = [item.name for item in fields(Compiled)]
    if options.table.exists():
        with options.table.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                name = row.pop("source")
                known[name] = Compiled(name, **{key: int(value) for key, value in row.items()})
    with options.table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        if not known:
            writer.writeheader()
        for source in sorted(options.folder.glob("*.cu")) if options.tilelang else ():
            if source.name in known:
                continue
            try:
                known[source.name] = compiled(source, options.nvcc, options.tilelang)
            except (subprocess.CalledProcessError, ValueError) as error:
                print(source.name, getattr(error, "stderr", error), file=sys.stderr)
                continue
            writer.writerow(asdict(known[source.name]))
            file.flush()
    print(compare(known, options.files, load("h200")))


if __name__ == "__main__":
    main()
