"""lowest-bit: half of the passes of a matrix product compute the lowest bit of its activations.

What it finds
-------------
Products of bfloat16 activations on Tensix cores in HiFi4 that DRAM does not bound.

Why it costs time
-----------------
bfloat16 has 8 bits, of which a pass takes 7 from the activations. The third and fourth pass
multiply the last one: HiFi2 leaves it out and takes half of the passes.

Evidence
--------
The types and the fidelity of the row. The saving compares the rates that the device sustains at
both fidelities; the product takes at least the time of its bytes in DRAM.

How to change it
----------------
`math_fidelity=ttnn.MathFidelity.HiFi2` in `compute_kernel_config`, where the model's accuracy
allows it: compare the outputs (PCC).

Example
-------
```diff
 device("wormhole-n150")
-product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi4", 900e-6)
+product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi2", 660e-6)
```

Source
------
tenstorrent/tt-metal, `tech_reports/matrix_engine/matrix_engine.md`; tenstorrent/tt-perf-report,
README: "HiFi2 may also work".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.fidelity_need import needed_fidelity, speed_up
from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import fidelity, products, types


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise HiFi2 where the accuracy allows it."""
    for kernel in products(question):
        operands = types(kernel.operation)
        if operands is None or fidelity(kernel.operation) != "HiFi4" or kernel.device is None:
            continue
        ratio = speed_up(kernel.device, operands, "HiFi4", "HiFi2")
        if needed_fidelity(*operands) != "HiFi4" or kernel.bound == "DRAM" or ratio is None:
            continue
        yield MeasuredAdvice(
            rule="lowest-bit",
            message="HiFi2 in place of HiFi4, where the accuracy allows it: it leaves out the "
            "lowest bit of the activations",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure("rate at HiFi4 of that at HiFi2", 1 / ratio, "share"),
            ),
            saving_s=kernel.saving_down_to_s(kernel.time_s / ratio),
        )
