"""Every count against an execution of the framework's own IR, without a tolerance.

`run.py` does the same for whole source trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from equality.compare import Found, UnknownCountError, differences
from equality.process import TESTS, cases_of, shared
from equality.programs import dynamic, programs
from equality.run import requests
from equality.tile_programs import kernels
from support.properties import examples
from tirlens import pipeline, source
from tirlens.model.counting.formulas import formulas
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

pytestmark = pytest.mark.slow

TVM, TILELANG = "tvm-0.27.0.post1", "tilelang-0.1.15"
FILES = {
    TVM: ["facts/kernels/tvm_loops.py", "facts/kernels/tvm_macros.py",
          "facts/kernels/tvm_threads.py", "facts/kernels/exact_tvm.py",
          "facts/kernels/vectors_tvm.py", "facts/kernels/dynamic_tvm.py"],
    TILELANG: ["facts/kernels/tilelang_tiles.py", "facts/kernels/tilelang_macros.py",
               "facts/kernels/tilelang_plain.py", "facts/kernels/tilelang_constants.py",
               "facts/kernels/exact_tilelang.py", "facts/kernels/vectors_tilelang.py",
               "facts/kernels/dynamic_tilelang.py",
               "examples/gemm_tilelang.py", "examples/attention_tilelang.py"],
}  # fmt: skip
# Two blocks of rows, of heads and of the batch: what a usual size has more of is executed for long.
CALLS = {"examples/attention_tilelang.py": ("attention(2, 2, 256, 64)",)}
# What is not executed, and what the reference executor says of it.
REFUSED = {
    "scalar": "unknown",  # a loop that runs until data say so
    "scalars": "unknown",
}
CASES = [(TVM, "cases_tir"), ("tvm-0.26.0", "cases_tir"), ("tvm-0.25.0.post1", "cases_tir"),
         (TVM, "cases_tvm"), (TILELANG, "cases_tilelang")]  # fmt: skip
REFUSED_CASES = {
    # Which threads take part is decided after the source, or stands in functions it only names.
    (TVM, "cases_tvm"): {
        "blackwell": "ptx.elect_sync of a computed size",
        "cluster": "the call ptx.mapa_u32",
        "named_functions": "the call call_llvm_pure_intrin",
        "ptx_arithmetic": "the call ptx.fma",
        "ptx_memory": "the call ptx.ld_vec",
        "ptx_operands": "the call ptx.mov",
        "ptx_wide": "the call ptx.ld_vec",
        "read_only_loads": "the call ptx.ld",
        "wmma": "a fragment in global memory",
    },
    (TILELANG, "cases_tilelang"): {
        "dot_product": "the call call_extern",
        "keys_in_addresses_of_arguments": "the call call_extern",
        "named_after_instructions": "the call call_extern",
        "nothing_and_unknown": "the call call_extern",
    },
}


@pytest.mark.parametrize("environment_name", list(FILES))
def test_kernels(environment_name: str) -> None:
    unequal: dict[str, Any] = {}
    equal = 0
    for record in records(environment_name):
        if "facts" not in record:
            continue
        found = differing(record)
        if found == {}:
            equal += 1
        else:
            unequal[record["kernel"]] = found
    for name, reason in REFUSED.items():
        if name in unequal:
            assert reason in unequal.pop(name)
    assert unequal == {}
    assert equal >= 11


def records(environment_name: str) -> Iterator[dict[str, Any]]:
    """What the execution of the files' kernels gives."""
    for name in FILES[environment_name]:
        for request in requests([str(TESTS / name)], calls=CALLS.get(name, ())):
            yield from shared(environment_name).records(request)


@pytest.mark.parametrize(("environment_name", "cases"), CASES)
def test_cases(environment_name: str, cases: str) -> None:
    records = cases_of(environment_name, TESTS / f"ops/{cases}.py")
    found = {name: differing(record) for name, record in records.items()}
    unequal = {name: what for name, what in found.items() if what}
    assert unequal == REFUSED_CASES.get((environment_name, cases), {})


def test_schedules() -> None:
    records = cases_of(TVM, TESTS / "equality/schedules.py")
    found = {name: differing(record) for name, record in records.items()}
    assert {name: what for name, what in found.items() if what} == {}


@examples(40, derandomize=True)
@given(text=programs())
def test_programs(tmp_path_factory: Any, text: str) -> None:
    record = executed_text(TVM, tmp_path_factory, text)
    found = differing(record)
    if isinstance(found, str):
        # A while loop whose turns the model cannot know has no count.
        assert "while" in text and found.startswith("unknown"), found + text
        return
    assert beyond_bounds(found, record) == {}, text


@examples(30, derandomize=True)
@given(text=kernels())
def test_tile_programs(tmp_path_factory: Any, text: str) -> None:
    record = executed_text(TILELANG, tmp_path_factory, text)
    found = differing(record)
    assert not isinstance(found, str), found + text
    assert beyond_bounds(found, record) == {}, text


def beyond_bounds(found: Found, record: dict[str, Any]) -> Found:
    """What is no upper bound where the model says that it is one.

    So it does where a jump cannot be foreseen, and of distinct bytes where conditions on data are
    taken to hold.
    """
    jumps = any("jump" in caveat["message"] for caveat in record["facts"].get("caveats", ()))
    assumed = record["counted"]["assumed"]
    return {
        what: one
        for what, one in found.items()
        if not (one.above and (jumps or (assumed and what.endswith("inexact)"))))
    }


@examples(25, derandomize=True)
@given(text=dynamic())
def test_formulas(tmp_path_factory: Any, text: str) -> None:
    record = executed_text(TVM, tmp_path_factory, text)
    assert len(record["more"]) == 2
    if not any(form in text for form in ("if i <", "if i %", ", m):")):
        facts = from_json(KernelFacts, record["facts"])
        assert set(formulas(facts)) == {"flop", "global_bytes"}, text
    assert differing(record) == {}, text


def executed_text(environment_name: str, folder: Any, text: str) -> dict[str, Any]:
    """The record of the one function in `text`."""
    path = Path(folder.getbasetemp()) / "program.py"
    path.write_text(text, encoding="utf-8")
    request = pipeline.analysis_request(1, str(path), text, source.read(text), pipeline.Options())
    record, end = shared(environment_name).records(request)
    assert end["status"] == 0
    return record


def differing(record: dict[str, Any]) -> Found | str:
    """What differs, or why it cannot be said."""
    if "counted" not in record:
        return str(record["refused"]) + record.get("detail", "")
    facts = from_json(KernelFacts, record["facts"])
    try:
        return differences(facts, record)
    except UnknownCountError as error:
        return f"unknown: {error}"
