"""activations-in-dram: a product that no peak explains reads its activations from DRAM.

What it finds
-------------
Products on Tensix cores below 65% of both peaks whose first operand is in DRAM, and at most half of
the SRAM of all cores.

Why it costs time
-----------------
Each core waits for its tiles: a read of DRAM takes longer than one of SRAM, and tiles that several
cores need are read by one and passed on.

Evidence
--------
The memory of the first operand. At most the time above the product's own roofline can be saved, at
the rates that the device sustains.

How to change it
----------------
Place it in L1, best sharded as the program configuration reads it:
`memory_config=ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG` of the operation before it, or
`ttnn.to_memory_config`.

Example
-------
```diff
 device("wormhole-n150")
-product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi2", 90e-6, memory="DEV_1_DRAM_INTERLEAVED",
-        attributes="MatmulProgramConfig(in0_block_w=2; out_subblock_h=2; out_subblock_w=2)")
+product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi2", 60e-6, memory="DEV_1_L1_WIDTH_SHARDED",
+        attributes="MatmulProgramConfig(in0_block_w=2; out_subblock_h=2; out_subblock_w=2)")
```

Source
------
tenstorrent/tt-metal, `tech_reports/GEMM_FLOPS/GEMM_FLOPS.md`, "SRAM vs DRAM";
tenstorrent/tt-perf-report, README.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.measured.advice.question import Executions, Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import products, roofline_s


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise the first operand in L1."""
    for kernel in products(question):
        inputs = kernel.operation.inputs
        memory = inputs[0].memory if inputs else None
        least_s = roofline_s(kernel)
        if kernel.bound != "SLOW" or memory is None or "L1" in memory or least_s is None:
            continue
        if not _fits_in_l1(kernel):
            continue
        yield MeasuredAdvice(
            rule="activations-in-dram",
            message="the first operand in L1",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure("roofline at sustained rates", least_s, "s"),
            ),
            saving_s=kernel.saving_down_to_s(least_s),
        )


def _fits_in_l1(kernel: Executions) -> bool:
    tensor, device = kernel.operation.inputs[0], kernel.device
    if tensor.shape is None or device is None:
        return False
    # Block floats have a byte for each element at most.
    width = {"FLOAT32": 4, "BFLOAT16": 2}.get(tensor.dtype or "", 1)
    return math.prod(tensor.shape) * width <= device.l1_bytes_per_sm * device.sm_count / 2
