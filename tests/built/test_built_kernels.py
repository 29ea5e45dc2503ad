"""Kernels that files build, with the numbers that are written beside their statements.

A comment ``# tag: line=N name=value`` in a file of `data` states figures of the kernel that is
shown there; `line` is that of its loops.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main

pytestmark = pytest.mark.slow
DATA = Path(__file__).parent / "data"


@pytest.fixture
def analyze(capsys: pytest.CaptureFixture[str], each_tvm_python: Path) -> Any:
    """Analyses a file of `data`: the status, the JSON and the messages."""

    def run(name: str, *options: str) -> tuple[int, dict[str, Any], str]:
        arguments = ["analyze", str(DATA / name), "--format", "json", "--no-advice"]
        status = main([*arguments, "--python", str(each_tvm_python), *options])
        said = capsys.readouterr()
        return status, json.loads(said.out), said.err

    return run


def line_of(name: str, text: str) -> int:
    lines = (DATA / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_schedule_step_by_step(analyze: Any) -> None:
    name = "matmul_schedule.py"
    status, out, err = analyze(name)
    assert (status, err) == (0, "")
    flop = 2 * 512**3
    kernels = {(item["definition"], item["line"]): item for item in out["kernels"]}
    assert {item["flop"] for item in kernels.values()} == {flop}
    assert list(kernels) == [
        ("func", line_of(name, "# te")),
        ("mod", line_of(name, "# same")),
        ("sch", line_of(name, "# first")),
        ("sch.reorder", line_of(name, "# reorder")),
        ("sch.bind", line_of(name, '"blockIdx.y"')),
        ("sch.cache_read", line_of(name, "sch.cache_read")),
        ("sch.compute_at", line_of(name, "sch.compute_at")),
        ("sch.bind", line_of(name, "# tiles") - 1),
        ("sch.unroll", line_of(name, "# last")),
    ]
    *_, cached, tiled, last = kernels.values()
    bound = kernels["sch.bind", line_of(name, '"blockIdx.y"')]
    assert (bound["grid"], bound["threads_per_block"]) == ([32, 32, 1], 256)
    assert bound["shared_bytes_per_block"] == 0
    # Two tiles of 16 x 16 elements.
    assert [item["shared_bytes_per_block"] for item in (cached, tiled, last)] == [2048] * 3
    assert last["built"]["previous_time_s"] == tiled["time_s"]
    assert [item["built"]["is_last_version"] for item in kernels.values()][2:] == [False] * 6 + [
        True
    ]
    assert kernels["mod", line_of(name, "# same")]["built"]["same_as_line"] == 11
    # The loops are at the expression, the copies at the step that added them.
    top = [loop for loop in last["loops"] if loop["kind"] == "grid"]
    assert {loop["line"] for loop in top} == {line_of(name, "C = te.compute")}
    assert line_of(name, "sch.cache_read") in set(lines_of(top))


def lines_of(loops: list[dict[str, Any]]) -> list[int]:
    return [line for loop in loops for line in (loop["line"], *lines_of(loop["children"]))]


def test_a_graph(analyze: Any) -> None:
    name = "relax_graph.py"
    status, out, err = analyze(name)
    assert (status, err) == (0, "")
    (twice,) = [item for item in out["kernels"] if item["definition"] == "Twice.main"]
    assert (twice["name"], twice["flop"], twice["built"]["calls"]) == ("double", 32 * 32, 2)
    assert twice["built"]["arrays"] == ["float32[32, 32]"] * 2
    sums = {item["definition"]: item for item in out["modules"]}
    assert sums["Twice.main"]["flop"] == 2 * 32 * 32
    assert sums["Twice.main"]["time_s"] == pytest.approx(2 * twice["time_s"])
    for built in ("layer", "lowered", "executable"):
        assert sums[built]["flop"] == 2 * 8 * 128 * 64, built
        assert sums[built]["line"] == line_of(
            name, f"{built}, " if built == "layer" else f"{built} = "
        )
    assert {item["device_id"] for item in out["modules"]} == {"x86-avx2"}


def test_kernels_of_a_module_and_versions_of_a_schedule_have_one_size(analyze: Any) -> None:
    """The product of a module does more work than its activation, a first version reads more."""
    _, out, _ = analyze("dynamic.py")
    sizes: dict[str, set[tuple[tuple[str, int], ...]]] = {}
    for kernel in out["kernels"]:
        owner = kernel["definition"].partition(".")[0]
        sizes.setdefault(owner, set()).add(tuple(sorted(kernel["bindings"].items())))
    assert [len(found) for found in sizes.values()] == [1] * len(sizes)
    assert sizes["func"] == sizes["sch"] == {(("rows", 4096),)}
    ((_, rows),) = next(iter(sizes["large"]))
    assert 2 * rows**2 * 4096 * 4 <= 80e9 / 8


def test_functions(analyze: Any) -> None:
    name = "functions.py"
    status, out, err = analyze(name)
    assert (status, err) == (0, "")
    found = {(item["definition"], item["line"]): item for item in out["kernels"]}
    assert {item["flop"] for key, item in found.items() if key[0] == "small"} == {1024}
    assert {item["flop"] for key, item in found.items() if key[0] == "large"} == {1 << 20}
    step = found["bind.sch.bind", line_of(name, '"blockIdx.x"')]
    assert (step["flop"], step["grid"], step["threads_per_block"]) == (4096, [32, 1, 1], 128)
    assert found["test_bind.sch", line_of(name, "sch = tvm")]["schedule"] == "unscheduled"
    assert not any(definition.startswith("never_called") for definition, _ in found)


def test_of_the_calls_that_were_tried_only_the_chosen_one_is_shown(analyze: Any) -> None:
    status, out, err = analyze("nested.py")
    assert (status, err) == (0, "")
    kernels = out["kernels"]
    assert [kernel["definition"].rpartition("scale.")[2] for kernel in kernels] == [
        "scale", "func", "_schedule.sch", "_schedule.sch.reorder", "_schedule.sch.bind",
    ]  # fmt: skip
    assert {(kernel["call_source"], kernel["flop"]) for kernel in kernels} == {
        ("assumed", 4_194_304)
    }
    assert {kernel["call"] for kernel in kernels} == {"scale(4194304)"}


def test_a_removed_interface(analyze: Any) -> None:
    status, out, _ = analyze("removed.py")
    assert status == 1
    (problem,) = out["problems"]
    assert problem["line"] == line_of("removed.py", "# removed")
    assert "te.create_prim_func" in problem["message"]


def test_a_helper_whose_assumed_arguments_fail_needs_arguments(analyze: Any) -> None:
    status, out, err = analyze("helper.py")
    assert (status, out["problems"], out["not_called"]) == (1, [], [])
    kernel, needs = out["kernels"]
    assert (needs["definition"], needs["status"], needs["needs"]) == (
        "check",
        "needs-bindings",
        ["original"],
    )
    assert needs["line"] == line_of("helper.py", "# helper") + 1
    assert (kernel["definition"], kernel["flop"]) == ("add", 64)
    assert err.count("check needs original; ") == 1
