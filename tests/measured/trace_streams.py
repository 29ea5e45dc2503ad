"""Extract the facts of the kernels of ``streams.csv``: PYTHONPATH=server PYTHON_WITH_TVM this file.

Two blocks of ``gpu-stream`` run on an SM at a time.  It asks the driver for the least shared memory
that holds them; the kernels written here have an array of which two fill an SM.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]

from factbook import TABLES, Factbook, extracted  # noqa: E402
from trace_library import Cache, table_rows  # noqa: E402

TABLE = "streams.csv"
# Shared memory, in bytes, of which an SM holds two arrays and not three.
SPOILER_BYTES = {
    "A100 40GB SXM": 65536,
    "A100 80GB": 65536,
    "A40": 40960,
    "H100 PCIe": 81920,
    "H200 SXM 141GB": 81920,
    "L40": 40960,
    "V100": 40960,
    "MI210 (gpu-benches)": 32768,
}


def main() -> None:
    import streams_tvm as made

    book = Factbook(TABLE)
    facts = Cache(lambda function, name: book.number(extracted(function, name)))
    for number, row, shape in table_rows(TABLE):
        threads = json.loads(row["config"])["threads"]
        one = facts("stream", made.stream, row["op"], threads, SPOILER_BYTES[row["gpu"]])
        book.add(number, [[one]], {"n": shape["elements"], "secret": 0})
    print(book.save(TABLES / "facts" / "streams.json.gz"))


if __name__ == "__main__":
    main()
