"""Matrix instructions in a kernel that its device does not have.

Their cost is estimated at the rate of the device's own instructions, but the kernel does not
compile for it.
Sources: PTX ISA, "Target ISA Notes" of ``wgmma.mma_async`` (sm_90a alone) and ``tcgen05.mma``
(sm_100, sm_101, sm_103 and sm_110 and not sm_120); AMD's CDNA 1 to 4 and RDNA 3 and 4 ISA guides,
"Matrix Arithmetic Instructions" (MFMA: gfx908 to gfx950) and "WMMA" (gfx11 and gfx12).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tirlens_worker.facts import Gemm, MatrixInstruction, Mma

from ...report import CaveatNote

_HAVE: Mapping[MatrixInstruction, re.Pattern[str]] = {
    "wgmma": re.compile(r"sm_90a?"),
    "tcgen05": re.compile(r"sm_1(00|01|03|10)[af]?"),
    "mfma": re.compile(r"gfx9(08|0a|4\d|5\d)"),
    "rdna_wmma": re.compile(r"gfx1[12]\d\d"),
}


def find_unsupported_instructions(nodes: Iterable[object], arch: str) -> tuple[CaveatNote, ...]:
    """A caveat at each line with a matrix instruction that `arch` does not have."""
    found: dict[CaveatNote, None] = {}
    for node in nodes:
        if not isinstance(node, (Gemm, Mma)) or node.instruction is None:
            continue
        have = _HAVE.get(node.instruction)
        if have is None or have.fullmatch(arch):
            continue
        message = (
            f"{arch} has no {node.instruction} instruction: "
            "the statement does not compile for this device"
        )
        found[CaveatNote(message, node.sites[0] if node.sites else None)] = None
    return tuple(found)
