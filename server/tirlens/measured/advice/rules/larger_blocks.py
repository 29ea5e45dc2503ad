"""larger-blocks: a product that no peak explains has small blocks, or the default ones.

What it finds
-------------
Products on Tensix cores below 65% of both peaks without a program configuration, with
`in0_block_w` = 1, or with an output sub-block of one tile.

Why it costs time
-----------------
A block of the inner dimension is read, multiplied and released at once: with one tile of it the
cores synchronise for each. A sub-block of several tiles reuses a tile of the operands in the
registers for several products.

Evidence
--------
The configuration in the row. At most the time above the product's own roofline can be saved, at the
rates that the device sustains.

How to change it
----------------
A `program_config` with `in0_block_w` of 2 or more and `out_subblock_h * out_subblock_w` of 2 or
more: up to 8 tiles, 4 with `fp32_dest_acc_en`.

Example
-------
```diff
 device("wormhole-n150")
-product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi2", 90e-6, memory="DEV_1_L1_WIDTH_SHARDED",
-        attributes="MatmulProgramConfig(in0_block_w=1; out_subblock_h=1; out_subblock_w=1)")
+product("BFLOAT16", "BFLOAT16", "BFLOAT16", "HiFi2", 60e-6, memory="DEV_1_L1_WIDTH_SHARDED",
+        attributes="MatmulProgramConfig(in0_block_w=2; out_subblock_h=2; out_subblock_w=2)")
```

Source
------
tenstorrent/tt-metal, `tech_reports/matrix_engine/matrix_engine.md` (tiles in the destination
registers); tenstorrent/tt-perf-report, README.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import (
    block_setting,
    is_dram_sharded,
    lacks_program_config,
    products,
    roofline_s,
)
from tirlens.measured.records import Operation


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise larger blocks."""
    for kernel in products(question):
        least_s = roofline_s(kernel)
        message = _message(kernel.operation)
        if kernel.bound != "SLOW" or message is None or least_s is None:
            continue
        yield MeasuredAdvice(
            rule="larger-blocks",
            message=message,
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure("roofline at sustained rates", least_s, "s"),
            ),
            saving_s=kernel.saving_down_to_s(least_s),
        )


def _message(operation: Operation) -> str | None:
    if lacks_program_config(operation):
        return "a program_config with its own in0_block_w and output sub-block: none is given"
    block = block_setting(operation, "in0_block_w")
    height, width = (block_setting(operation, f"out_subblock_{side}") for side in "hw")
    advice: list[str] = []
    if block is not None and block < 2:
        advice.append(f"in0_block_w of 2 or more: it is {block}")
    is_one_tile = height is not None and width is not None and height * width < 2
    if is_one_tile and not is_dram_sharded(operation):
        advice.append("an output sub-block of 2 tiles or more: it has 1")
    return "; ".join(advice) or None
