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

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from tirlens_sass import Function, Instruction, read

# What of an opcode's modifiers is kept: the function, the types, the shape, the width.
_KEPT = re.compile(
    r"^(MUFU\.\w+|IMAD\.(?:MOV|WIDE|HI|SHL|IADD|X|U32)|[HQIO]G?MMA\.(?:SP\.)?\w+|F2FP\.\w+\.\w+"
    r"|(?:I2F|F2I|F2F|I2FP|F2IP|FRND)\b.*|LDSM\.\w+\.\w+|STSM\.\w+\.\w+|VOTE|SHFL)"
)
_WIDTHS = re.compile(r"\.(U8|S8|U16|S16|64|128)\b")
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
class Code:
    """The instructions of a kernel, and those of its main loop: none of straight code.

    The main loop is the innermost one of most matrix instructions, else of most.
    """

    whole: Sequence[Instruction]
    loop: Sequence[Instruction]


def code_of(listing: str) -> dict[str, Code]:
    """The code of each kernel in a listing of ``nvdisasm -c``.

    Blocks that call a subroutine of the compiler's are left out, and what follows the code.
    """
    return {kernel.name: _code_of(kernel) for kernel in read(listing).kernels}


def _code_of(kernel: Function) -> Code:
    blocks = {
        block.index: kernel.instructions[block.first : block.last + 1] for block in kernel.blocks
    }
    blocks = {
        index: block
        for index, block in blocks.items()
        if not any(one.name == "CALL" for one in block) and not _is_after_the_end(block)
    }
    loops = [
        [one for index in sorted(loop.blocks & blocks.keys()) for one in blocks[index]]
        for loop in kernel.loops
    ]
    outer = {
        loop.parent
        for loop, inside in zip(kernel.loops, loops, strict=True)
        if not _is_wait(inside)
    }
    inner = [
        inside
        for number, inside in enumerate(loops)
        if number not in outer and not _is_wait(inside)
    ]

    def weight(loop: Sequence[Instruction]) -> tuple[int, int]:
        return sum(one.name.endswith("MMA") for one in loop), len(loop)

    return Code(
        [one for block in blocks.values() for one in block], max(inner, key=weight, default=[])
    )


def _is_wait(loop: Sequence[Instruction]) -> bool:
    """Whether a loop waits for a barrier in shared memory, and does nothing else."""
    works = any(one.memory or one.name.endswith("MMA") for one in loop)
    return not works and any(one.name == "SYNCS" for one in loop)


def _is_after_the_end(block: Sequence[Instruction]) -> bool:
    """Whether a block is the branch to itself at the end of all kernels, or padding."""
    return all(one.name == "NOP" or (one.name == "BRA" and one.guard is None) for one in block)


def histogram(code: Sequence[Instruction]) -> str:
    """How often each opcode stands in some code, with the modifiers that change its cost."""
    counts = Counter(_name(item.full_name) for item in code)
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
    code = code_of(listing)
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
        out.append(
            Compiled(
                path.stem,
                ptxas,
                max(map(int, re.findall(r"__launch_bounds__\((\d+)", text))),
                registers,
                stack,
                stores + loads,
                histogram(mine.whole),
                histogram(mine.loop),
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
