"""`tirlens.tune` in the process of a kernel, with tilelang's own tuner up to its compilations."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent

KERNEL = """
import json, logging, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import tilelang
import tilelang.language as T
import tirlens
from tilelang.autotuner.tuner import AutoTuner

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
# 4 rows of 128 x 64 x 2 bytes a stage are too much with 16 stages; 16 x 16 tiles are slow.
CONFIGS = [
    {"block_M": 128, "num_stages": 3}, {"block_M": 16, "num_stages": 1},
    {"block_M": 128, "num_stages": 16}, {"block_M": 64, "num_stages": 2},
    {"block_M": 128, "num_stages": 2}, {"block_M": "no number", "num_stages": 2},
]

def kernel(configs):
    @tilelang.autotune(configs=configs)
    @tilelang.jit(out_idx=[2], target={"kind": "cuda", "arch": "sm_90"})
    def matmul(M, N, K, block_M=64, num_stages=2):
        @T.prim_func
        def main(
            A: T.Tensor((M, K), "float16"),
            B: T.Tensor((K, N), "float16"),
            C: T.Tensor((M, N), "float16"),
        ):
            with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, block_M), threads=128) as (bx, by):
                A_shared = T.alloc_shared((block_M, 64), "float16")
                B_shared = T.alloc_shared((64, 128), "float16")
                C_local = T.alloc_fragment((block_M, 128), "float32")
                T.clear(C_local)
                for k in T.Pipelined(T.ceildiv(K, 64), num_stages=num_stages):
                    T.copy(A[by * block_M, k * 64], A_shared)
                    T.copy(B[k * 64, bx * 128], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                T.copy(C_local, C[by * block_M, bx * 128])
        return main
    return matmul

class Compiled(Exception):
    pass

def compiled_by(configs):
    # What the tuner would compile: it has called the function of configurations by then.
    def stop(self, *args):
        raise Compiled(self.configs)
    AutoTuner.generate_cache_key = stop
    try:
        kernel(configs)(4096, 4096, 1024)
    except Compiled as found:
        return found.args[0]
"""


@pytest.fixture(scope="module")
def tuned(tilelang_python: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    path = tmp_path_factory.mktemp("tune") / "tuned.py"
    program = (
        KERNEL
        + """
best = tirlens.tune.best
slow = {"block_M": 16, "num_stages": 1}
build = lambda **config: kernel(CONFIGS).jit_impl.get_tir(4096, 4096, 1024, **config)
ranked = tirlens.tune.rank(build, CONFIGS, "h100-sxm")
with ProcessPoolExecutor(2, get_context("fork")) as executor:
    elsewhere = tirlens.tune.rank(build, CONFIGS, "h100-sxm", executor=executor)
print(json.dumps({
    "plain": compiled_by(CONFIGS),
    "list": compiled_by(best(CONFIGS, 8, "h100-sxm")),
    "function": compiled_by(best(lambda M, N, K: CONFIGS, 8, "h100-sxm")),
    "two": compiled_by(best(CONFIGS, 2, "h100-sxm")),
    "refused": compiled_by(best([CONFIGS[2], CONFIGS[5]], 8, "h100-sxm")),
    "ranked": [
        [one.config, one.estimate.time_s, one.estimate.time_band_s, one.estimate.reason]
        for one in ranked
    ],
    "elsewhere": elsewhere == ranked,
}))
"""
    )
    path.write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    done = subprocess.run(
        [str(tilelang_python), str(path)], env=environment, capture_output=True, text=True,
        # The autotuner writes its log there.
        cwd=path.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_the_ranking_is_by_time_and_has_the_refused_last(tuned: tuple[Any, str]) -> None:
    ranked = tuned[0]["ranked"]
    times = [one[1] for one in ranked]
    assert times[:4] == sorted(times[:4]) and times[4:] == [None, None]
    reasons = {json.dumps(one[0]): one[3] for one in ranked[4:]}
    assert any("shared memory" in reason for reason in reasons.values())


def test_the_model_runs_in_the_processes_that_are_given(tuned: tuple[Any, str]) -> None:
    assert tuned[0]["elsewhere"] is True


def test_the_tuner_compiles_what_may_be_as_fast_as_the_best(tuned: tuple[Any, str]) -> None:
    data = tuned[0]
    ranked = data["ranked"]
    end_s = ranked[0][2][1]
    expected = [one[0] for one in ranked[:4] if one[2][0] <= end_s]
    assert data["list"] == data["function"] == expected
    assert data["two"] == expected[:2]
    assert len(data["plain"]) == 6
    assert {"block_M": 16, "num_stages": 1} not in expected


def test_where_nothing_is_predicted_to_run_all_are_kept(tuned: tuple[Any, str]) -> None:
    assert len(tuned[0]["refused"]) == 2
    assert "all configurations are kept" in tuned[1]


def test_the_log_says_what_the_prediction_chooses(tuned: tuple[Any, str]) -> None:
    data, log = tuned
    assert f"predicted best: {data['ranked'][0][0]}" in log
