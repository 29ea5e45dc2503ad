"""Which line a key of a device file is on, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.hardware.toml_file import key_lines, numbers_by_key
from tirlens.toml_reader import tomllib

TEXT = """\
# a = 1
id = "x = y"
dram.bytes = 1
caveats = [
    "bytes = 3",
    "b",
]
[ l2 ]
bytes = 2  # [l3]
"partitions"=1
[peaks."tensor.float16"]
flop_per_s = 1
[peaks]
'tensor.int8' = { flop_per_s = 1 }
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("id", 2),
        ("dram.bytes", 3),
        ("caveats", 4),
        ("l2", 8),
        ("l2.bytes", 9),
        ("l2.partitions", 10),
        ("peaks.tensor.float16", 11),
        ("peaks.tensor.float16.flop_per_s", 12),
        ("peaks.tensor.int8", 14),
    ],
)
def test_each_way_of_writing_a_key(key: str, line: int) -> None:
    assert key_lines(TEXT)[key] == line


names = st.from_regex(r"[a-z_][a-z0-9_-]{0,8}", fullmatch=True)
numbers = st.integers(0, 10**12) | st.floats(1e-9, 1e15)


@given(st.dictionaries(names, st.dictionaries(names, numbers, max_size=4), max_size=4))
def test_every_number_of_a_file_is_on_its_line(tables: dict[str, dict[str, float]]) -> None:
    lines: list[str] = []
    for table, values in tables.items():
        lines += ["", f"[{table}]", *(f"{key} = {value!r}" for key, value in values.items())]
    text = "\n".join(lines)
    found = key_lines(text)
    for key in numbers_by_key(tomllib.loads(text)):
        name = key.rpartition(".")[2]
        assert lines[found[key] - 1].startswith(f"{name} = ")
