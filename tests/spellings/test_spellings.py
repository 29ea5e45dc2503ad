"""One kernel in several spellings has one cost: by any index, grid, loop or tile operation.

The kernels of a group execute the same instructions on the same addresses in each thread.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from support.workers import analyzed
from tirlens import pipeline, source
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import KernelReport
from tirlens_worker.facts import KernelFacts

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).parent / "kernels"
FRAMEWORKS = {"tvm_spellings": "tvm-0.27.0.post1", "tilelang_spellings": "tilelang-0.1.15"}
GROUPS = {
    "tvm_spellings": {
        "transpose with coalesced reads": [
            f"coalesced_reads_{one}()"
            for one in ("grid_2d", "threads_1d", "grid_1d", "flat", "fused", "shifts")
        ],
        "transpose with coalesced writes": [
            f"coalesced_writes_{one}()" for one in ("grid_2d", "grid_1d", "fused", "shifts")
        ],
        "transpose of columns": [f"columns_{one}()" for one in ("grid_2d", "fused", "shifts")],
        "product": [f"product_{one}()" for one in ("grid_2d", "flat", "shifts")],
        "stencil": [f"stencil_{one}()" for one in ("grid_2d", "flat", "shifts")],
        "tiled product": [
            f"tiled_product('{one}')" for one in ("2d", "flatlocal", "serial", "regs")
        ],
        "vectors": [f"exponentials('{one}')" for one in ("vectorized", "2d")],
        "blocks": [f"blocks('{one}')" for one in ("threads", "block")],
        "sums of rows": [
            f"row_sums('{one}')" for one in ("plain", "one", "stride", "guard", "ite")
        ],
        "grid-stride loop": [f"scaled('{one}')" for one in ("grid_mul", "step")],
    },
    "tilelang_spellings": {
        "elementwise": [
            f"doubled('{one}')"
            for one in ("par2", "par1", "flat", "frag", "frag2", "g1", "guard", "thread")
        ],
        "product": [f"product('{one}')" for one in ("copy", "par", "region", "tB", "outpar")],
        "product of a serial loop": [f"product('{one}')" for one in ("serial", "p0")],
        "sums of rows": [f"row_sums('{one}')" for one in ("copy", "par")],
        "attention": [
            f"attention('{one}')" for one in ("clear", "clear_accum", "zero", "par", "one")
        ],
    },
}
CASES = [(module, group) for module, groups in GROUPS.items() for group in groups]


@cache
def facts_by_call(module: str) -> dict[str, KernelFacts]:
    """The kernels of all calls of a file."""
    path = KERNELS / f"{module}.py"
    text = path.read_text(encoding="utf-8")
    calls = tuple(call for group in GROUPS[module].values() for call in group)
    options = pipeline.Options(calls=calls, time_limit_s=60.0)
    request = pipeline.analysis_request(1, str(path), text, source.read(text), options)
    return {kernel.call: kernel for kernel in analyzed(FRAMEWORKS[module], request).kernels}


def reports(module: str, group: str, device: str) -> list[KernelReport]:
    found = facts_by_call(module)
    return [analyze(found[call], load(device), by_line=False) for call in GROUPS[module][group]]


# From sm_90 on, tilelang copies by TMA what is a copy, and not what is a loop.
@pytest.mark.parametrize("device", ["a100-80-sxm", "rtx-4090"])
@pytest.mark.parametrize(("module", "group"), CASES)
def test_one_kernel_in_several_spellings_has_one_cost(module: str, group: str, device: str) -> None:
    first, *others = reports(module, group, device)
    assert first.time_s is not None and first.l2_bytes is not None
    # What comes from DRAM goes through L2.
    assert first.l2_bytes >= 0.99 * ((first.dram_bytes.read or 0) + (first.dram_bytes.write or 0))
    for other in others:
        assert other.time_s == pytest.approx(first.time_s, rel=0.005)
        assert other.flop == first.flop
        assert other.l2_bytes == pytest.approx(first.l2_bytes, rel=0.005)
        assert other.dram_bytes.read == pytest.approx(first.dram_bytes.read, rel=0.005)
        assert other.dram_bytes.write == first.dram_bytes.write
        assert other.registers_per_thread == pytest.approx(first.registers_per_thread, rel=0.3)
