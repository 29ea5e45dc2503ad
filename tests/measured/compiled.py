"""What NVIDIA's compiler makes of CUDA sources, without a GPU: registers, spills, instructions.

    python tests/measured/compiled.py FOLDER TABLE.csv --nvcc NVCC --nvdisasm NVDISASM \
        --tilelang PACKAGE

FOLDER is of `trace_sass.py` or `trace_suite.py`, PACKAGE the installed package ``tilelang``, whose
headers the sources include; nvdisasm is in the package ``nvidia-cuda-nvdisasm``.  Kernels that the
table has are not compiled again.  Instructions are those of the code, not of what is executed: all
of a kernel's, and those of its main loop, the innermost one that has the most of them.  The
compiler's subroutines, which ordinary values do not reach, are left out.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

# What of an opcode's modifiers is kept: the function, the types, the shape, the width.
_KEPT = re.compile(
    r"^(MUFU\.\w+|IMAD\.(?:MOV|WIDE|HI|SHL|IADD|X|U32)|[HQIO]G?MMA\.(?:SP\.)?\w+|F2FP\.\w+\.\w+"
    r"|(?:I2F|F2I|F2F|I2FP|F2IP|FRND)\b.*|LDSM\.\w+\.\w+|STSM\.\w+\.\w+|VOTE|SHFL)"
)
_WIDTHS = re.compile(r"\.(U8|S8|U16|S16|64|128)\b")
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*);")
# Sources that are compiled together: most of the time goes into their headers.
TOGETHER = 16
_MEMORY = frozenset({"LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "LDGSTS"})


@dataclass(frozen=True)
class Compiled:
    """One compiled kernel; a histogram of opcodes is written ``FFMA:12 MUFU.EX2:2``."""

    kernel: str
    ptxas: str
    threads: int
    registers: int
    stack_bytes: int
    spill_bytes: int
    code: str
    loop: str


@dataclass(frozen=True)
class Instruction:
    """`labels` stand before it, `target` is the one that a branch goes to."""

    labels: tuple[str, ...]
    opcode: str
    target: str = ""


def instructions_of(listing: str) -> dict[str, list[Instruction]]:
    """The instructions of each kernel in a listing of ``nvdisasm -c``."""
    found: dict[str, list[Instruction]] = {}
    code: list[Instruction] = []
    labels: tuple[str, ...] = ()
    inside = False
    for line in listing.splitlines():
        text = line.strip()
        if named := re.match(r"\.section\s+\.text\.(\w+)", text):
            code, inside = found.setdefault(named[1], []), True
        elif re.match(r"\.section\s", text):
            inside = False
        elif named := re.match(r"(\.L\w+|\$[\w$]+):$", text):
            labels = (*labels, named[1])
            inside = inside and not named[1].startswith("$")  # a subroutine of the compiler's
        elif inside and (one := _INSTRUCTION.match(text)):
            target = re.search(r"`\((\.L\w+)\)", one[2])
            code.append(Instruction(labels, one[1], target[1] if target else ""))
            labels = ()
    for code in found.values():
        while code and code[-1].opcode == "NOP":
            code.pop()
        if code and code[-1].opcode.startswith("BRA"):
            code.pop()  # the branch to itself at the end of all kernels
    return {name: _without_calls(code) for name, code in found.items()}


def _without_calls(code: Sequence[Instruction]) -> list[Instruction]:
    """The code without the branches that call a subroutine of the compiler's."""
    parts: list[list[Instruction]] = [[]]
    for item in code:
        if item.labels:
            parts.append([])
        parts[-1].append(item)
        if item.opcode.startswith("BRA"):
            parts.append([])
    kept = [part for part in parts if not any(item.opcode.startswith("CALL") for item in part)]
    return [item for part in kept for item in part]


def loops_of(code: Sequence[Instruction]) -> list[range]:
    """The loops, as ranges of instructions from the target of a branch backwards to the branch."""
    labels = {label: place for place, item in enumerate(code) for label in item.labels}
    loops: dict[int, int] = {}
    for place, item in enumerate(code):
        start = labels.get(item.target, place + 1)
        if item.opcode.startswith("BRA") and start <= place:
            loops[start] = max(loops.get(start, 0), place)
    return [range(start, end + 1) for start, end in loops.items()]


def main_loop(code: Sequence[Instruction]) -> range | None:
    """The innermost loop of most matrix instructions, else of most; None of straight code."""
    loops = loops_of(code)
    inner = [
        loop
        for loop in loops
        if not any(one.start in loop and one.stop <= loop.stop for one in loops if one != loop)
    ]

    def weight(loop: range) -> tuple[int, int]:
        return sum("MMA." in code[place].opcode for place in loop), len(loop)

    return max(inner, key=weight, default=None)


def histogram(code: Sequence[Instruction]) -> str:
    """How often each opcode stands in some code, with the modifiers that change its cost."""
    counts = Counter(_name(item.opcode) for item in code)
    return " ".join(f"{name}:{number}" for name, number in sorted(counts.items()))


def _name(opcode: str) -> str:
    base = opcode.partition(".")[0]
    if base in _MEMORY:
        width = _WIDTHS.search(opcode)
        return base + (width[0] if width else "")
    kept = _KEPT.match(opcode)
    return kept[1] if kept else base


def compiled(
    sources: Sequence[Path], flags: Sequence[str], tools: Mapping[str, Path]
) -> list[Compiled]:
    """Compile sources of the same options together, and take them apart."""
    texts = [_renamed(path.read_text(), number) for number, path in enumerate(sources)]
    with tempfile.TemporaryDirectory() as folder:
        cubin, whole = f"{folder}/all.cubin", Path(folder, "all.cu")
        whole.write_text("\n".join(texts))
        said = subprocess.run(
            [str(tools["nvcc"]), "-std=c++17", "-O3", "-cubin", "-Xptxas", "-v", "-w"]
            + [f"-I{tools['tilelang'] / part}" for part in ("src", "3rdparty/cutlass/include")]
            + [*flags, str(whole), "-o", cubin],
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        listing = subprocess.run(
            [str(tools["nvdisasm"]), "-ndf", "-c", cubin],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    code = instructions_of(listing)
    ptxas = version(tools["nvcc"])
    out: list[Compiled] = []
    for number, (path, text) in enumerate(zip(sources, texts, strict=True)):
        said_of = re.search(
            rf"entry function 'kernel_{number}' for '\w+'\s+ptxas info\s+: "
            rf"Function properties for kernel_{number}\s+"
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
            r"[^']*?Used (\d+) registers",
            said,
        )
        if said_of is None:
            raise ValueError(f"{path.stem}: not a single kernel")
        stack, stores, loads, registers = map(int, said_of.groups())
        mine = code[f"kernel_{number}"]
        loop = main_loop(mine)
        out.append(
            Compiled(
                path.stem,
                ptxas,
                max(map(int, re.findall(r"__launch_bounds__\((\d+)", text))),
                registers,
                stack,
                stores + loads,
                histogram(mine),
                "" if loop is None else histogram(mine[loop.start : loop.stop]),
            )
        )
    return out


def _renamed(text: str, number: int) -> str:
    """A source whose kernel has a name of its own."""
    name = re.search(r"__launch_bounds__\([^)]*\)\s+(\w+)\(", text)
    if name is None:
        raise ValueError("no kernel")
    return re.sub(rf"\b{name[1]}\b", f"kernel_{number}", text)


def version(nvcc: Path) -> str:
    """The version of the ptxas beside an nvcc."""
    said = subprocess.run([str(nvcc.parent / "ptxas"), "--version"], capture_output=True, text=True)
    found = re.search(r"V([\d.]+)", said.stdout)
    return found[1] if found else "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", type=Path)
    for tool in ("nvcc", "nvdisasm", "tilelang"):
        parser.add_argument(f"--{tool}", type=Path, required=True)
    options = parser.parse_args()
    known: set[str] = set()
    if options.table.exists():
        with options.table.open(encoding="utf-8") as file:
            known = {row["kernel"] for row in csv.DictReader(file)}
    with options.table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [item.name for item in fields(Compiled)])
        if not known:
            writer.writeheader()
        groups: dict[str, list[Path]] = {}
        for source in sorted(options.folder.glob("*.cu")):
            if source.stem not in known:
                with source.open(encoding="utf-8") as text:
                    groups.setdefault(text.readline().removeprefix("// "), []).append(source)
        for line, sources in groups.items():
            flags = [word for option in json.loads(line) for word in str(option).split()]
            for start in range(0, len(sources), TOGETHER):
                _write(writer, sources[start : start + TOGETHER], flags, vars(options))
                file.flush()


def _write(writer: Any, sources: Sequence[Path], flags: Sequence[str], tools: Any) -> None:
    """The rows of some kernels; of those that do not compile together one by one."""
    try:
        writer.writerows(map(asdict, compiled(sources, flags, tools)))
    except (subprocess.CalledProcessError, ValueError, KeyError) as error:
        if len(sources) == 1:
            print(sources[0].stem, getattr(error, "stderr", error), file=sys.stderr)
            return
        for source in sources:
            _write(writer, [source], flags, tools)


if __name__ == "__main__":
    main()
