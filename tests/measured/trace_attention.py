"""Extract the facts of the attention kernels of ``tilelang_attention.csv``.

    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/trace_attention.py TILELANG_CHECKOUT

TILELANG_CHECKOUT is tile-ai/tilelang at commit e23bce79, when the kernel was one file of its own
and told the compiler in which order to start the parts of its loop; tilelang 0.1.15 finds it
itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from factbook import TABLES, Factbook, extracted, made_by  # noqa: E402
from trace_library import example, table_rows  # noqa: E402

KERNEL = "attention_sink/example_gqa_sink_fwd_bhsd_wgmma_pipelined.py"


def leave_order_to_the_compiler() -> None:
    """Let ``T.Pipelined`` take the arguments that it had at that commit."""
    import tilelang.language as T

    pipelined = T.Pipelined

    def of_today(start: Any, stop: Any = None, num_stages: int = 0, **_: Any) -> Any:
        return pipelined(start, stop, num_stages=num_stages)

    vars(T)["Pipelined"] = of_today


def main(checkout: str) -> None:
    leave_order_to_the_compiler()
    made = example(checkout, KERNEL).flashattn
    kernel = getattr(made, "jit_impl", made)
    book = Factbook("tilelang_attention.csv")
    for number, row, shape in table_rows(book.table):
        function = made_by(
            kernel,
            batch=shape["batch"],
            heads=shape["heads"],
            seq_q=shape["seq_len"],
            seq_kv=shape["seq_len"],
            dim=shape["dim"],
            groups=shape["heads"] // shape["kv_heads"],
            dtype=row["dtype"],
            **json.loads(row["config"]),
        )
        book.add(number, [[book.number(extracted(function, "flashattn"))]])
    print(book.save(TABLES / "facts" / "tilelang_attention.json.gz"))


if __name__ == "__main__":
    main(*sys.argv[1:])
