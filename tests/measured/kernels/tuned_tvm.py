"""A product on the scalar cores with the parameters of CLBlast's tuner, written out in TVMScript.

``C[n, m] = sum of A[k, m] * B[k, n] + C[n, m]`` over tiles of `MWG` x `NWG`, by `MDIMC` x `NDIMC`
threads that own neighbours (`STRM`, `STRN`: strided places instead), `KWG` steps at a time.  A tile
of A goes through shared memory (`SA`), loaded by rows of `MDIMA` threads, or comes from global
memory in every step; so does one of B (`SB`, `NDIMB`).  `VWM` and `VWN` are vectors, `KWI` steps
are unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.script import tirx as T


def matmul(m: int, n: int, k: int, config: Mapping[str, int]) -> Any:
    tile_m, tile_n, step, inner = (config[name] for name in ("MWG", "NWG", "KWG", "KWI"))
    across, down = config["MDIMC"], config["NDIMC"]
    vec_m, vec_n = config["VWM"], config["VWN"]
    each_m, each_n = tile_m // across, tile_n // down
    dim_a, dim_b = config["MDIMA"], config["NDIMB"]
    a_m, b_n = tile_m // dim_a, tile_n // dim_b
    a_k, b_k = step * dim_a // (across * down), step * dim_b // (across * down)
    share_a, share_b = bool(config["SA"]), bool(config["SB"])
    waits = share_a or share_b
    by_m, by_n = bool(config["STRM"]), bool(config["STRN"])

    def place(strided: bool, thread: Any, i: Any, lane: Any, vector: int, each: int, dim: int):
        """Where lane `lane` of a thread's vector `i` lies in the tile."""
        return (thread + i * dim) * vector + lane if strided else thread * each + i * vector + lane

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (k, m), "float32")
        B = T.match_buffer(b, (k, n), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        for by in T.thread_binding(n // tile_n, thread="blockIdx.y"):
            for bx in T.thread_binding(m // tile_m, thread="blockIdx.x"):
                for ty in T.thread_binding(down, thread="threadIdx.y"):
                    for tx in T.thread_binding(across, thread="threadIdx.x"):
                        acc = T.alloc_buffer((each_n, each_m), "float32", scope="local")
                        a_own = T.alloc_buffer((each_m,), "float32", scope="local")
                        b_own = T.alloc_buffer((each_n,), "float32", scope="local")
                        As = T.alloc_buffer(
                            (step if share_a else 1, tile_m if share_a else 1),
                            "float32",
                            scope="shared",
                        )
                        Bs = T.alloc_buffer(
                            (step if share_b else 1, tile_n if share_b else 1),
                            "float32",
                            scope="shared",
                        )
                        for i in T.unroll(each_n):
                            for j in T.unroll(each_m):
                                acc[i, j] = T.float32(0)
                        for ko in range(k // step):
                            if share_a:
                                for i in T.unroll(a_m // vec_m):
                                    for ki in T.unroll(a_k):
                                        for v in T.vectorized(vec_m):
                                            As[
                                                (ty * across + tx) // dim_a * a_k + ki,
                                                place(
                                                    by_m,
                                                    (ty * across + tx) % dim_a,
                                                    i,
                                                    v,
                                                    vec_m,
                                                    a_m,
                                                    dim_a,
                                                ),
                                            ] = A[
                                                ko * step + (ty * across + tx) // dim_a * a_k + ki,
                                                bx * tile_m
                                                + place(
                                                    by_m,
                                                    (ty * across + tx) % dim_a,
                                                    i,
                                                    v,
                                                    vec_m,
                                                    a_m,
                                                    dim_a,
                                                ),
                                            ]
                            if share_b:
                                for ki in T.unroll(b_k):
                                    for i in T.unroll(b_n // vec_n):
                                        for v in T.vectorized(vec_n):
                                            Bs[
                                                (ty * across + tx) // dim_b * b_k + ki,
                                                place(
                                                    by_n,
                                                    (ty * across + tx) % dim_b,
                                                    i,
                                                    v,
                                                    vec_n,
                                                    b_n,
                                                    dim_b,
                                                ),
                                            ] = B[
                                                ko * step + (ty * across + tx) // dim_b * b_k + ki,
                                                by * tile_n
                                                + place(
                                                    by_n,
                                                    (ty * across + tx) % dim_b,
                                                    i,
                                                    v,
                                                    vec_n,
                                                    b_n,
                                                    dim_b,
                                                ),
                                            ]
                            if waits:
                                T.tvm_storage_sync("shared")
                            for ki in range(step // inner):
                                for kt in T.unroll(inner):
                                    for i in T.unroll(each_m // vec_m):
                                        for v in T.vectorized(vec_m):
                                            if share_a:
                                                a_own[i * vec_m + v] = As[
                                                    ki * inner + kt,
                                                    place(by_m, tx, i, v, vec_m, each_m, across),
                                                ]
                                            else:
                                                a_own[i * vec_m + v] = A[
                                                    ko * step + ki * inner + kt,
                                                    bx * tile_m
                                                    + place(by_m, tx, i, v, vec_m, each_m, across),
                                                ]
                                    for i in T.unroll(each_n // vec_n):
                                        for v in T.vectorized(vec_n):
                                            if share_b:
                                                b_own[i * vec_n + v] = Bs[
                                                    ki * inner + kt,
                                                    place(by_n, ty, i, v, vec_n, each_n, down),
                                                ]
                                            else:
                                                b_own[i * vec_n + v] = B[
                                                    ko * step + ki * inner + kt,
                                                    by * tile_n
                                                    + place(by_n, ty, i, v, vec_n, each_n, down),
                                                ]
                                    for i in T.unroll(each_n):
                                        for j in T.unroll(each_m):
                                            acc[i, j] = acc[i, j] + a_own[j] * b_own[i]
                            if waits:
                                T.tvm_storage_sync("shared")
                        for i in T.unroll(each_n):
                            for j in T.unroll(each_m // vec_m):
                                for v in T.vectorized(vec_m):
                                    C[
                                        by * tile_n
                                        + place(
                                            by_n, ty, i // vec_n, i % vec_n, vec_n, each_n, down
                                        ),
                                        bx * tile_m + place(by_m, tx, j, v, vec_m, each_m, across),
                                    ] = (
                                        acc[i, j * vec_m + v]
                                        + C[
                                            by * tile_n
                                            + place(
                                                by_n, ty, i // vec_n, i % vec_n, vec_n, each_n, down
                                            ),
                                            bx * tile_m
                                            + place(by_m, tx, j, v, vec_m, each_m, across),
                                        ]
                                    )

    return kernel
