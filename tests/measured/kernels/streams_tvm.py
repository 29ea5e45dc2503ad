"""The kernels of te42kyfo/gpu-benches' ``gpu-stream``, written out in TVMScript.

Each thread takes one double.  An array in shared memory limits how many blocks an SM runs; what
uses it runs only if an argument tells so, which none does.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T

Kernel = Any
# How far to each side the stencils read.
REACH = {"3pt": 1, "5pt": 2}


def stream(what: str, threads: int, shared_bytes: int) -> Kernel:
    """`what` of ``gpu-stream``: init, read, scale, triad, 3pt or 5pt; `n` is a run-time size."""
    kept = shared_bytes // 8
    near = REACH.get(what, 0)

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        n = T.int64()
        secret = T.int64()  # the size of an array; 0
        A = T.match_buffer(a, (n,), "float64")
        B = T.match_buffer(b, (n,), "float64")
        C = T.match_buffer(c, (n,), "float64")
        T.match_buffer(d, (secret,), "float64")
        for block in T.thread_binding(n // threads + 1, thread="blockIdx.x"):
            for thread in T.thread_binding(threads, thread="threadIdx.x"):
                spoiler = T.alloc_buffer((kept,), "float64", scope="shared")
                i: T.let[T.int64] = T.Cast("int64", block * threads + thread)
                if i >= near and i < n - near:
                    if what == "init":
                        A[i] = T.float64(0.23)
                    elif what == "read":
                        temp: T.float64 = B[i]
                        if secret != 0:
                            A[i] = temp
                    elif what == "scale":
                        A[i] = B[i] * T.float64(1.2)
                    elif what == "triad":
                        A[i] = B[i] * T.float64(1.2) + C[i]
                    elif what == "3pt":
                        A[i] = (
                            T.float64(0.5) * B[i - 1]
                            - T.float64(1.0) * B[i]
                            + T.float64(0.5) * B[i + 1]
                        )
                    else:
                        A[i] = (
                            T.float64(0.25) * B[i - 2]
                            + T.float64(0.25) * B[i - 1]
                            - T.float64(1.0) * B[i]
                            + T.float64(0.5) * B[i + 1]
                            + T.float64(0.5) * B[i + 2]
                        )
                    if secret != 0:
                        spoiler[thread] = B[i]
                        A[i] = spoiler[threads - 1 - thread]

    return kernel
