"""Configurations ranked in a second: `tirlens tune` beside one analysis of each in this process.

    python tests/benchmarks/tuning.py PYTHON [CONFIGURATIONS]

PYTHON is an interpreter with tilelang.  The other side is what a program does without `tirlens
tune`: `Analyzer.analysis` for one configuration after another, in the process of the framework.
Both sides rank the same product in one run, and neither counts the import of the framework.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "server"))

from tirlens import source, tuning  # noqa: E402
from tirlens.pipeline import Options  # noqa: E402
from tirlens.worker_client import WorkerClient, find_interpreter  # noqa: E402
from tirlens_worker.protocol import Analyze, Result  # noqa: E402

KERNEL = """
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[2])
def matmul(M, N, K, block_M=64, block_N=64, block_K=32, num_stages=2, threads=128):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main
"""
TILES = "block_M=16..256:+16", "block_N=16..256:+16", "block_K=16..128:+16"
LAUNCHES = "num_stages=1..4", "threads=128,256"
# The other side takes so long that its rate is that of a part.
MOST_ONE_BY_ONE = 200
SIZES = 8192, 8192, 1024
ONE_BY_ONE = """
import json, sys, time
from tirlens import Analyzer
import kernel
configs = json.load(sys.stdin)
build = lambda config: kernel.matmul.get_tir(*{sizes}, **config)
Analyzer.analysis(build(configs[0]), "h100-sxm", lower=False, compile=False, advice=False)
began = time.perf_counter()
for config in configs:
    Analyzer.analysis(build(config), "h100-sxm", lower=False, compile=False, advice=False)
print(time.perf_counter() - began)
"""


def one_by_one_s(python: str, folder: Path, configs: list[dict[str, int]]) -> float:
    """Seconds that the analysis of each configuration takes, one after another."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(folder)])}
    done = subprocess.run(
        [python, "-c", ONE_BY_ONE.format(sizes=SIZES)],
        input=json.dumps(configs),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def configurations(count: int) -> list[dict[str, str]]:
    """About `count` configurations: tiles of all sizes, each with all launches."""
    tiles, launches = (
        tuning.product([tuning.parse_axis(text) for text in axes]) for axes in (TILES, LAUNCHES)
    )
    step = max(1, len(tiles) * len(launches) // count)
    return [{**tile, **launch} for tile in tiles[::step] for launch in launches]


async def ranked_s(python: str, path: Path, chosen: list[dict[str, str]]) -> float:
    """Seconds in which `tirlens.tuning` ranks the same configurations on all cores."""
    text = path.read_text()
    call = f"matmul{SIZES}"
    options = Options(calls=(call,), advice=False, device="h100-sxm")
    subject = tuning.subject_of(str(path), text, source.read(text), options)
    interpreter = find_interpreter(path, setting=python)
    jobs = len(os.sched_getaffinity(0))
    idle = [WorkerClient(interpreter) for _ in range(jobs)]
    clients = list(idle)
    free = asyncio.Semaphore(jobs)

    async def analyse(request: Analyze) -> Result:
        async with free:
            client = idle.pop()
            try:
                return await client.analyze(request)
            finally:
                idle.append(client)

    try:
        await asyncio.gather(*(client.analyze(subject.request) for client in clients))
        start = await tuning.start_of(subject, analyse)
        calls = [tuning.with_arguments(call, subject.kernel, one) for one in chosen]
        plan = tuning.Plan(call, tuple(zip(chosen, calls, strict=True)), "space")
        with ProcessPoolExecutor(jobs) as executor:
            estimate = tuning.estimator(subject, subject.devices(()), analyse, executor)
            await estimate(subject.groups(calls[:jobs]))
            began_s = time.perf_counter()
            await tuning.rank(plan, subject, start, subject.devices(()), estimate, jobs)
            return time.perf_counter() - began_s
    finally:
        for client in clients:
            await client.close()


def main() -> None:
    python, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "kernel.py"
        path.write_text(KERNEL)
        chosen = configurations(count)
        part = chosen[:: -(-len(chosen) // MOST_ONE_BY_ONE)]
        values = [{name: int(value) for name, value in one.items()} for one in part]
        before = len(part) / one_by_one_s(python, Path(name), values)
        after_s = asyncio.run(ranked_s(python, path, chosen))
    number = len(chosen)
    after = number / after_s
    print(f"{number} configurations on {len(os.sched_getaffinity(0))} cores")
    print(f"one by one    {before:8.0f} a second")
    print(f"tirlens tune  {after:8.0f} a second, {after_s:.1f} s")
    print(f"ratio         {after / before:8.2f}")


if __name__ == "__main__":
    main()
