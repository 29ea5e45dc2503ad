# ruff: noqa: E501, E702 (two statements on a line are tested)
# fmt: off
"""Macros of TVMScript, and text that is wider in bytes than in code points."""

from macros import negate
from tvm.script import tirx as T


@T.inline
def double(source, target, index):
    target[index] = source[index] * T.float32(2)


@T.inline
def both(source, target, index):
    double(source, target, index)
    negate(source, target, index)


@T.prim_func(s_tir=True)
def macros(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
# ^ kernel macros
    for i in range(64):
#   ^ serial i 64
        double(A, B, i)
#       ^^^^^^^^^^^^^^^ store [mul] A[i] -> B[i] <- target[index] = source[index] * T.float32(2)
        negate(A, B, i)
#       ^^^^^^^^^^^^^^^ store [mul] A[i] -> B[i] <- macros.py: target[index] = -source[index]
        both(A, B, i)
#       ^^^^^^^^^^^^^ store [mul] A[i] -> B[i] <- double(source, target, index) <- target[index] = source[index] * T.float32(2)
#       ^^^^^^^^^^^^^ store [mul] A[i] -> B[i] <- negate(source, target, index) <- macros.py: target[index] = -source[index]


@T.prim_func(s_tir=True)
def wide(Ä: T.Buffer((64,), "float32"), 结果: T.Buffer((64,), "float32")):
# ^ kernel wide
    for i in range(64):
#   ^ serial i 64
        结果[i] = Ä[i]; 结果[i] = Ä[i] + T.float32(1)
#       ^^^^^^^^^^^^ store Ä[i] -> 结果[i]
#                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ store [add] Ä[i] -> 结果[i]
