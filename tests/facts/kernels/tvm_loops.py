# ruff: noqa: E501, E702 (two statements on a line are tested)
# fmt: off
"""Loops, branches and blocks of TVMScript."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def loops(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
# ^ kernel loops
    for i, j in T.grid(64, 32):
#   ^ serial i 64
#   ^ serial j 32
        B[i, j] = A[i, j] * T.float32(2)
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store [mul] A[i, j] -> B[i, j]
    for i in T.parallel(4):
#   ^ parallel i_1 4
        for j in T.vectorized(8):
#       ^ vectorized j_1 8
            B[i, j] = A[i, j]; B[i, j + 8] = A[i, j + 8] + T.float32(1)
#           ^^^^^^^^^^^^^^^^^ store A[i_1, j_1] -> B[i_1, j_1]
#                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store [add] A[i_1, (j_1 + 8)] -> B[i_1, (j_1 + 8)]
    for i in T.unroll(1, 5):
#   ^ unroll i_2 4 from 1
        for j in range(i):
#       ^ serial j_2 i_2
            B[
#           ^ store [add] A[i_2, j_2] A[j_2, i_2] -> B[i_2, j_2]
                i,
                j,
            ] = (
                A[i, j]
                + A[j, i]
            )
    for i in T.serial(2, annotations={"pragma": 1}):
#   ^ serial i_3 2 pragma=1
        B[i, 0] = T.float32(0)
#       ^^^^^^^^^^^^^^^^^^^^^^ store -> B[i_3, 0]


@T.prim_func(s_tir=True)
def blocks(A: T.Buffer((100, 16), "float32"), B: T.Buffer((100,), "float32")):
# ^ kernel blocks
    for i0, i1, k in T.grid(13, 8, 16):
#   ^ serial i0 13
#   ^ serial i1 8
#   ^ serial k 16
        with T.sblock("sum"):
#       ^ predicate (((i0 * 8) + i1) < 100)
            T.where(i0 * 8 + i1 < 100)
            row = T.axis.spatial(100, i0 * 8 + i1)
            column = T.axis.reduce(16, k)
            with T.init():
                B[row] = T.float32(0)
#               ^ init (k == 0)
#               ^^^^^^^^^^^^^^^^^^^^^ store -> B[((i0 * 8) + i1)]
            B[row] = B[row] + A[row, column]
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store [add] B[((i0 * 8) + i1)] A[((i0 * 8) + i1), k] -> B[((i0 * 8) + i1)]


@T.prim_func(s_tir=True)
def windows(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
# ^ kernel windows
    for i, j in T.grid(4, 4):
#   ^ serial i 4
#   ^ serial j 4
        with T.sblock("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            A_tile = T.match_buffer(
                A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16],
                (16, 16),
                strides=[64, 1],
                offset_factor=1,
            )
            for y, x in T.grid(16, 16):
#           ^ serial y 16
#           ^ serial x 16
                B[vi * 16 + y, vj * 16 + x] = A_tile[y, x]
#               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store A[((i * 16) + y), ((j * 16) + x)] -> B[((i * 16) + y), ((j * 16) + x)]


@T.prim_func(s_tir=True, check_well_formed=False)
def symbolic_windows(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
# ^ kernel symbolic_windows
    pitch, start = T.int32(), T.int32()
    for i, j in T.grid(4, 4):
#   ^ serial i 4
#   ^ serial j 4
        with T.sblock("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            A_tile = T.match_buffer(A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16], (16, 16), strides=[pitch, 1], elem_offset=start)
            for y in range(16):
#           ^ serial y 16
                B[pitch - 64, start] = A_tile[y, 0]
#               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store A[((i * 16) + y), (j * 16)] -> B[0, (((i * 16) * 64) + (j * 16))]


@T.prim_func(s_tir=True)
def guards(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
# ^ kernel guards variable n
    for i in range(64):
#   ^ serial i 64
        B[i] = T.if_then_else(i < n, A[i], T.float32(0))
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store (i < n)?A[i] -> B[i]
        B[i] = T.Select(A[i] > T.float32(0), A[i], T.exp(A[i]))
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store [compare exp select] A[i] A[i] A[i] -> B[i]
        if i % 2 == 0:
#       ^ if ((i % 2) == 0) else
            B[i] = A[i]
#           ^^^^^^^^^^^ store A[i] -> B[i]
        else:
            B[i] = -A[i]
#           ^^^^^^^^^^^^ store [mul] A[i] -> B[i]
