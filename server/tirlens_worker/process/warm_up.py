"""Analyse a kernel of our own in the warm process, so that its children find every cache filled.

The first kernel costs the frameworks lazily imported modules, look-ups of functions and
`inspect`'s index of all modules; a forked child would pay for these at each analysis.
"""

from __future__ import annotations

import inspect
import os
import sys

from ..analysis import analyse
from ..facts import Span
from ..protocol import Analyze, KernelRequest

_TVM = """
from tvm.script import tirx as T
from tvm.script import ir as I

@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.sblock("b"):
            v, w = T.axis.remap("SR", [i, j])
            with T.init():
                B[v, w] = T.float32(0)
            B[v, w] = B[v, w] + T.exp(A[v, w]) * T.float32(2)
"""
_TILELANG = """
import tilelang
import tilelang.language as T

@T.prim_func
def kernel(A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16")):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        X = T.alloc_shared((128, 32), "float16")
        Y = T.alloc_shared((32, 128), "float16")
        C = T.alloc_fragment((128, 128), "float32")
        M = T.alloc_fragment((128,), "float32")
        T.clear(C)
        for k in T.Pipelined(8, num_stages=2):
            T.copy(A[by * 128, k * 32], X)
            T.copy(A[k * 32, bx * 128], Y)
            T.gemm(X, Y, C)
        for i, j in T.Parallel(128, 128):
            C[i, j] = T.exp2(C[i, j])
        T.reduce_max(C, M, dim=1)
        T.reduce_sum(C, M, dim=1)
        T.copy(C, B[by * 128, bx * 128])
"""


_TIRX = """
from tvm_tirx.script import tirx as T

@T.function
def kernel(A: T.Tensor((4096,), T.float32), B: T.Tensor((4096,), T.float32)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=16, block=256))
    i = T.cuda.block_idx("x") * 256 + T.cuda.thread_idx("x")
    B[i] = T.exp(A[i]) * T.float32(2)
"""


def warm_up() -> None:
    """Analyse one kernel with the framework that is imported, and forget about it."""
    texts = (("tilelang", _TILELANG), ("tvm", _TVM), ("tvm_tirx", _TIRX))
    text = next((text for name, text in texts if name in sys.modules), None)
    if text is None:
        return
    path = os.path.join(os.getcwd(), "tirlens_warm_up.py")
    kernel = KernelRequest("kernel", "prim_func", Span(1, 0, 1, 0))
    modules, search_path, arguments = set(sys.modules), list(sys.path), list(sys.argv)
    analyse(Analyze(0, path, text, (kernel,)), (0,), lambda tag, payload: None)
    inspect.stack()
    sys.path[:] = search_path
    sys.argv[:] = arguments
    for name in set(sys.modules) - modules:
        if name.startswith("tirlens_document"):
            del sys.modules[name]
