"""fewer-passes: a matrix product takes more passes than the bits of its operands need.

What it finds
-------------
Products on Tensix cores whose math fidelity is above the one that their types need.

Why it costs time
-----------------
A pass multiplies 5 bits of the weights with 7 bits of the activations, the leading 1 included.
HiFi2 adds the other bits of the weights, HiFi3 those of the activations, HiFi4 the products of
both. bfloat16 has 8 bits, bfloat8_b 7 and bfloat4_b 3: passes over bits that are 0 change nothing.
A result of 3 bits needs one step less.

Evidence
--------
The types and the fidelity of the row. The saving compares the rates that the device sustains at
both fidelities; the product takes at least the time of its bytes in DRAM.

How to change it
----------------
`compute_kernel_config=ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi2)`, or
LoFi for `bfloat4_b` weights.

Example
-------
```diff
 device("wormhole-n150")
-product("BFLOAT8_B", "BFLOAT8_B", "BFLOAT8_B", "HiFi4", 900e-6)
+product("BFLOAT8_B", "BFLOAT8_B", "BFLOAT8_B", "HiFi2", 560e-6)
```

Source
------
tenstorrent/tt-metal, `tech_reports/matrix_engine/matrix_engine.md`; the device's rates from
`tech_reports/GEMM_FLOPS/GEMM_FLOPS.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.math_fidelity import PASSES
from tirlens.measured.advice.fidelity_need import needed_fidelity, speed_up
from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import fidelity, products, types


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise the fidelity that the types need."""
    for kernel in products(question):
        operands, present = types(kernel.operation), fidelity(kernel.operation)
        if operands is None or present is None:
            continue
        needed = needed_fidelity(*operands)
        if needed is None or PASSES[needed] >= PASSES[present] or kernel.device is None:
            continue
        ratio = speed_up(kernel.device, operands, present, needed)
        if ratio is None:
            continue
        yield MeasuredAdvice(
            rule="fewer-passes",
            message=f"{needed} computes all bits that {' x '.join(operands[:2])} => {operands[2]} "
            f"has use for, {present} takes {PASSES[present]} passes instead of {PASSES[needed]}",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure(f"rate at {present} of that at {needed}", 1 / ratio, "share"),
            ),
            saving_s=kernel.saving_down_to_s(kernel.time_s / ratio),
        )
