"""unused-accuracy: a product that DRAM limits could multiply all bits in the same time.

What it finds
-------------
Products on Tensix cores that are bound by DRAM and whose math fidelity leaves out bits of their
operands.

Why it costs time
-----------------
It costs none: the matrix engine waits for DRAM. The bits that the fidelity leaves out are accuracy
that the program could have.

Evidence
--------
The time that the product takes at the higher fidelity, at the rate that the cores sustain, is
shorter than the measured time.

How to change it
----------------
`compute_kernel_config=ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4)` for
bfloat16, HiFi2 for `bfloat8_b`.

Example
-------
```diff
 device("wormhole-n150")
-product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi2", 140e-6, flop=1 << 30, dram_bytes=35_000_000)
+product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi4", 140e-6, flop=1 << 30, dram_bytes=35_000_000)
```

Source
------
tenstorrent/tt-perf-report, README; tenstorrent/tt-metal,
`tech_reports/matrix_engine/matrix_engine.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.math_fidelity import PASSES
from tirlens.measured.advice.fidelity_need import needed_fidelity, sustained_flop_per_s
from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import fidelity, products, types


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise a higher fidelity where DRAM takes longer anyway."""
    for kernel in products(question):
        operands, present = types(kernel.operation), fidelity(kernel.operation)
        if operands is None or present is None or kernel.bound != "DRAM" or kernel.device is None:
            continue
        needed = needed_fidelity(*operands)
        if needed is None or PASSES[needed] <= PASSES[present]:
            continue
        cores, flop = kernel.operation.cores, kernel.flop
        rate = sustained_flop_per_s(kernel.device, operands, needed)
        if cores is None or flop is None or rate is None:
            continue
        products_s = flop / (rate * cores / kernel.device.sm_count)
        if products_s > kernel.time_s:
            continue
        yield MeasuredAdvice(
            rule="unused-accuracy",
            message=f"{needed} multiplies all bits of {' x '.join(operands[:2])} in the time that "
            f"DRAM takes anyway; {present} leaves some out",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure(f"products in {needed}", products_s, "s"),
            ),
        )
