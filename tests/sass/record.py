"""Records what NVIDIA's tools print of the kernels in ``data``: the fixtures of the SASS reader.

    python tests/sass/record.py FOLDER [SOURCE.cu ARCHITECTURE -I...]

FOLDER has nvcc and nvdisasm. Of each kernel three texts are kept, with no path of the machine: the
code (``-c -g -hex``), the live ranges (``-c -plr``) and the graph of basic blocks (``-bbcfg``),
which are the oracles for registers and for control flow. A source of one's own, such as one that
``tirlens lower`` prints, is recorded for one architecture.
"""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120")
TEXTS = {
    "sass": ("-c", "-g", "-hex"),
    "ranges": ("-c", "-plr", "-lrm", "wide"),
    "graph": ("-bbcfg",),
}
_FILE = re.compile(r'(//## File ")([^"]*/)?([^"/]*")')


def record(tools: Path, source: Path, architecture: str, options: Sequence[str] = ()) -> None:
    """Compile `source` and write its three texts."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, "kernels.cubin")
        nvcc = [str(tools / "nvcc"), f"-arch={architecture}", "-cubin", "-lineinfo", "-std=c++17"]
        subprocess.run([*nvcc, "-w", *options, str(source), "-o", str(cubin)], check=True)
        for kind, flags in TEXTS.items():
            command = [str(tools / "nvdisasm"), *flags, str(cubin)]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            name = f"{source.stem}.{architecture}.{kind}.xz"
            kept = _FILE.sub(r"\1\3", text).encode()
            (DATA / name).write_bytes(lzma.compress(kept, preset=9 | lzma.PRESET_EXTREME))


def main(arguments: Sequence[str]) -> None:
    tools = Path(arguments[0])
    if arguments[1:]:
        record(tools, Path(arguments[1]), arguments[2], arguments[3:])
        return
    for source in sorted(DATA.glob("*.cu")):
        for architecture in ARCHITECTURES:
            record(tools, source, architecture)


if __name__ == "__main__":
    main(sys.argv[1:])
