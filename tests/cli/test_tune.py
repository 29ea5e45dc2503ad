"""The ranking of configurations on the command line, with a real framework."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main
from tirlens.cli.worker_pool import keep_workers
from tirlens.tuning import Subject
from tirlens_worker.protocol import Analyze

KERNEL = """
import itertools
import tilelang
import tilelang.language as T


def configurations(M, N, K):
    return [
        {"block_M": m, "block_N": 128, "num_stages": s, "policy": T.GemmWarpPolicy.Square}
        for m, s in itertools.product([64, 128, 100], [1, 2, 8])
    ]


@tilelang.autotune(configs=CONFIGS)
@tilelang.jit(out_idx=[2])
def matmul(M, N, K, block_M=64, block_N=64, num_stages=2, policy=T.GemmWarpPolicy.FullRow):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, 64), "float16")
            B_shared = T.alloc_shared((64, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=num_stages):
                T.copy(A[by * block_M, k * 64], A_shared)
                T.copy(B[k * 64, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, policy=policy)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main
"""
CALL = ("--call", "matmul(4096, 4096, 1024)", "--device", "h100-sxm")
# 9 configurations; with 8 stages, a block takes (m + 128) * 64 * 2 * 8 bytes: more than 227 KiB for
# 128 rows.
LISTS = {
    "function": "configurations",
    "list": "configurations(1, 1, 1)",
    "generator": "iter(configurations(1, 1, 1))",
}


@pytest.fixture(scope="module", autouse=True)
def warm_worker() -> Iterator[None]:
    """Imports the framework once for all commands."""
    with keep_workers():
        yield


@pytest.fixture
def tune(
    tmp_path: Path,
    tilelang_python: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    path = tmp_path / "kernels.py"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def command(configs: str, *options: str, status: int = 0, text: str = KERNEL) -> str:
        path.write_text(text.replace("CONFIGS", configs))
        arguments = ["tune", str(path), "--python", str(tilelang_python), *options]
        assert main(arguments) == status
        said = capsys.readouterr()
        return said.out if status == 0 else said.err

    return command


@pytest.mark.slow
@pytest.mark.parametrize("configs", LISTS.values(), ids=LISTS)
def test_the_kernels_own_list_is_ranked(configs: str, tune: Any) -> None:
    data = json.loads(tune(configs, *CALL, "--format", "json"))
    found = data["configurations"]
    assert (data["schema_version"], data["kernel"], data["device"]["id"]) == (
        1, "matmul", "h100-sxm",
    )  # fmt: skip
    assert data["evaluated"] == len(found) == 9
    assert [one["rank"] for one in found] == list(range(1, 10))
    ok = [one for one in found if one["status"] == "ok"]
    times = [one["time_s"] for one in ok]
    assert times == sorted(times) and len(ok) == 9 - data["refused"]
    assert found[: len(ok)] == ok
    for one in ok:
        low, high = one["time_band_s"]
        assert low <= one["time_s"] <= high
    assert found[0]["arguments"]["policy"].endswith("GemmWarpPolicy.Square")


@pytest.mark.slow
def test_a_kernel_without_a_list_has_a_proposal(tune: Any) -> None:
    text = KERNEL.replace("@tilelang.autotune(configs=CONFIGS)\n", "")
    text = text.replace("block_N=64", "block_N=128")
    data = json.loads(tune("", *CALL, "--format", "json", text=text))
    assert (data["origin"], data["evaluated"]) == ("proposed", 100)
    first, *others = (one for one in data["configurations"] if one["status"] == "ok")
    default = {"block_M": 64, "block_N": 128, "num_stages": 2}
    (own,) = (one for one in (first, *others) if one["arguments"] == default)
    assert first["time_s"] < own["time_s"]


@pytest.mark.slow
def test_configurations_that_are_traced_once_have_the_estimates_of_their_own(tune: Any) -> None:
    shared = json.loads(tune("configurations", *CALL, "--format", "json"))
    own = KERNEL.replace("num_stages=num_stages", "num_stages=num_stages + 0")
    each = json.loads(tune("configurations", *CALL, "--format", "json", text=own))
    assert shared["configurations"] == each["configurations"]


@pytest.mark.slow
def test_a_configuration_that_does_not_run_is_refused_with_its_reason(tune: Any) -> None:
    data = json.loads(tune("configurations", *CALL, "--format", "json"))
    reasons = {
        (one["arguments"]["block_M"], one["arguments"]["num_stages"]): one["reason"]
        for one in data["configurations"]
        if one["status"] == "refused"
    }
    assert "262144 bytes of shared memory" in reasons[128, 8]
    assert (64, 8) not in reasons


@pytest.mark.slow
def test_a_search_that_is_repeated_traces_nothing_again(
    tune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (*CALL, "--space", "block_M=64,128", "--format", "json")
    first = json.loads(tune("configurations", *options, "--fresh"))
    requests: list[int] = []
    request_for = Subject.request_for

    def noted(self: Subject, calls: Sequence[str]) -> Analyze:
        requests.append(len(calls))
        return request_for(self, calls)

    monkeypatch.setattr(Subject, "request_for", noted)
    tune("configurations", *CALL, "--space", "block_M=64", "--format", "json")
    found = json.loads(tune("configurations", *options))
    # One call for each block_M, whatever its stages; the key of the estimates has no calls.
    assert (sum(requests), first["evaluated"]) == (2, 6)
    requests.clear()
    again = json.loads(tune("configurations", *options))
    assert sum(requests) == 0
    assert again["configurations"] == found["configurations"] == first["configurations"]


@pytest.mark.slow
def test_figures_are_those_of_an_analysis(
    tune: Any, tmp_path: Path, tilelang_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = json.loads(tune("configurations", *CALL, "--format", "json"))["configurations"][0]
    path = str(tmp_path / "kernels.py")
    options = ["--python", str(tilelang_python), "--device", "h100-sxm", "--no-lower"]
    assert main(["analyze", path, "--call", best["call"], "--format", "json", *options]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["time_s"] == pytest.approx(best["time_s"], rel=1e-12)
    for name in ("bound", "occupancy", "shared_bytes_per_block", "spill_bytes"):
        assert kernel[name] == best[name], name


@pytest.mark.slow
def test_a_space_takes_the_place_of_the_own_values(tune: Any) -> None:
    text = tune("configurations", *CALL, "--space", "block_M=64..256:x2", "num_stages=2,3",
                "--format", "json")  # fmt: skip
    found = json.loads(text)["configurations"]
    pairs = [(one["arguments"]["block_M"], one["arguments"]["num_stages"]) for one in found]
    assert sorted(pairs) == [(m, s) for m in (64, 128, 256) for s in (2, 3)]


@pytest.mark.slow
def test_the_list_can_be_pasted(tune: Any) -> None:
    text = tune("[{'block_M': m, 'num_stages': 2} for m in (64, 128)]", *CALL, "--top", "1",
                "--format", "python")  # fmt: skip
    names: dict[str, Any] = {}
    exec(compile(ast.parse(text), "pasted", "exec"), names)
    assert names["configs"] == [{"block_M": 128, "num_stages": 2}]


@pytest.mark.slow
def test_several_devices_have_a_ranking_each(tune: Any) -> None:
    text = tune("configurations", *CALL, "--device", "a100-80-sxm", "--top", "3",
                "--format", "json")  # fmt: skip
    data = json.loads(text)
    assert [one["device"]["id"] for one in data["devices"]] == ["h100-sxm", "a100-80-sxm"]
    assert data["devices"][0]["configurations"] == data["configurations"]
    assert len(data["configurations"]) == 3 and data["evaluated"] == 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "status", "word"),
    [
        (("--space", "block_X=1"), 2, "no parameter block_X"),
        (("--space", "block_M"), 2, "expected NAME=V1"),
        (("--kernel", "other"), 2, "no kernel in"),
        (("--call", "matmul(1)"), 1, "missing"),
        (("--call", "matmul(0, 1, 1)", "--call", "matmul(1, 1, 1)"), 2, "one --call"),
    ],
)
def test_what_cannot_be_ranked_is_told(
    options: tuple[str, ...], status: int, word: str, tune: Any
) -> None:
    assert word in tune("configurations", *options, status=status)
