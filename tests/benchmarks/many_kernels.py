"""How the server's time grows with the number of kernels in a file, and with a kernel's length.

    python tests/benchmarks/many_kernels.py [--rounds N] [--kernels N...] [--statements N...]

Two series: files of tilelang kernels, and a TVMScript file with one kernel of many statements.
``open`` is the time from the opening of a file in a new server to its hints, ``edited`` that from
the save of a change in one kernel.  The open of the smallest file of a series is a fixed cost:
start of the worker and imports of the framework.  ``a kernel`` and ``a statement`` are what each
further one adds to that, relative to the same in the row before: 1.0 is linear.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.environments import environment
from support.rpc import Client

_LIMIT_S = 600
# Between the last key and the save; a debounced reading of the text fits in.
_PAUSE_S = 0.3
_TILELANG_HEAD = """\
import tilelang
import tilelang.language as T
"""
_TILELANG_KERNEL = """

@tilelang.jit(out_idx=[-1])
def matmul_{n}(M={size}, N=2048, K=1024, block_M=128, block_N=128, block_K=32, num_stages=2):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] = C_local[i, j] * {n}.5
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main
"""
_TVMSCRIPT_HEAD = """\
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((8192, 8192), "float32"), B: T.Buffer((8192, 8192), "float32")):
    for by in T.thread_binding(256, thread="blockIdx.y"):
        for bx in T.thread_binding(256, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    tile = T.alloc_buffer((32, 32), "float32", scope="shared")
                    tile[ty, tx] = A[by * 32 + ty, bx * 32 + tx]
                    T.tvm_storage_sync("shared")
"""
_TVMSCRIPT_STATEMENT = """\
                    B[bx * 32 + ty, by * 32 + tx] = tile[tx, ty] * T.float32({n}.5)
"""


@dataclass(frozen=True)
class Row:
    """Times of the file of one size."""

    size: int
    open_s: float
    edited_s: float


def tilelang_file(kernels: int) -> str:
    """A file of `kernels` matrix products of different sizes."""
    parts = (_TILELANG_KERNEL.format(n=n, size=1024 + 128 * n) for n in range(kernels))
    return _TILELANG_HEAD + "".join(parts)


def tvmscript_file(statements: int) -> str:
    """A file with one kernel that stores `statements` values."""
    return _TVMSCRIPT_HEAD + "".join(_TVMSCRIPT_STATEMENT.format(n=n) for n in range(statements))


def measure(text: str, name: str, rounds: int, size: int) -> Row:
    """Open `text` in a new server, then edit the kernel or statement in its middle."""
    settings = {"timeout": _LIMIT_S}
    with tempfile.TemporaryDirectory() as folder, Client() as client:
        path = Path(folder) / "many.py"
        path.write_text(text)
        client.initialize(trusted=True, interpreter=str(environment(name)), settings=settings)
        began = time.perf_counter()
        uri = client.open(path)
        client.wait_ready(uri, timeout_s=_LIMIT_S)
        _require_hints(client, uri)
        open_s = time.perf_counter() - began
        word = f"{size // 2}.5"
        edits = [
            _save_s(client, uri, text.replace(word, f"{size // 2}.{number + 6}25"), number + 2)
            for number in range(rounds)
        ]
    return Row(size, open_s, statistics.median(edits))


def _save_s(client: Client, uri: str, text: str, version: int) -> float:
    ready = client.states(uri).count("ready")
    client.replace(uri, version, text)
    time.sleep(_PAUSE_S)
    began = time.perf_counter()
    client.save(uri)
    client.wait_ready(uri, ready + 1, timeout_s=_LIMIT_S)
    _require_hints(client, uri)
    return time.perf_counter() - began


def _require_hints(client: Client, uri: str) -> None:
    if not client.hints(uri):
        raise SystemExit(f"no hints for {uri}: {client.diagnostics(uri)}")


def show(title: str, unit: str, rows: Iterable[Row]) -> None:
    """Print one series, each row as soon as it is measured."""
    print(f"\n{title:<32} {'open, s':>9} {'edited, s':>10} {unit:>12}", flush=True)
    before: Row | None = None
    step_before = None
    for row in rows:
        step = (row.open_s - before.open_s) / (row.size - before.size) if before else None
        ratio = f"{step / step_before:.1f}" if step and step_before else ""
        print(f"{row.size:<32} {row.open_s:>9.2f} {row.edited_s:>10.2f} {ratio:>12}", flush=True)
        before, step_before = row, step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kernels", type=int, nargs="*", default=[10, 100, 300])
    parser.add_argument("--statements", type=int, nargs="*", default=[100, 300, 1000])
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    series = [
        ("kernels in tilelang", "a kernel", "tilelang-0.1.15", options.kernels, tilelang_file),
        ("statements in TVMScript", "a statement", "tvm-0.27.0.post1", options.statements,
         tvmscript_file),
    ]  # fmt: skip
    for title, unit, name, sizes, text in series:
        show(title, unit, (measure(text(size), name, options.rounds, size) for size in sizes))


if __name__ == "__main__":
    main()
