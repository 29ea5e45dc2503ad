# ruff: noqa: E501, E702 (two statements on a line are tested)
# fmt: off
"""Tile loops, tile operations and launches of tilelang."""

import tilelang.language as T


@T.prim_func
def pipelined(
# ^ kernel pipelined grid 4 4 1 threads 128 1 1 panel 10 row
    A: T.Tensor((256, 128), "float16"),
    B: T.Tensor((128, 256), "float16"),
    C: T.Tensor((256, 256), "float16"),
):
    with T.Kernel(T.ceildiv(256, 64), 4, threads=128) as (bx, by):
#   ^ grid bx 4
#   ^ grid by 4
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 128
        T.use_swizzle(10)
        A_s = T.alloc_shared((64, 32), "float16")
        B_s = T.alloc_shared((32, 64), "float16")
        C_f = T.alloc_fragment((64, 64), "float32")
        T.clear(C_f)
#       ^^^^^^^^^^^^ block fill -> C_f[0, 0]+[64, 64]
        for k in T.Pipelined(4, num_stages=3):
#       ^ pipelined k 4 num_stages=3
            T.copy(A[by * 64, k * 32], A_s); T.copy(B[k * 32, bx * 64], B_s)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block copy A[(by * 64), (k * 32)]+[64, 32] -> A_s[0, 0]+[64, 32]
#                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block copy B[(k * 32), (bx * 64)]+[32, 64] -> B_s[0, 0]+[32, 64]
            T.gemm(A_s, B_s, C_f)
#           ^^^^^^^^^^^^^^^^^^^^^ block gemm [131072*mma] A_s[0, 0]+[64, 32] B_s[0, 0]+[32, 64] C_f[0, 0]+[64, 64] -> C_f[0, 0]+[64, 64]
        T.copy(C_f, C[by * 64, bx * 64])
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block copy [4096*cast] C_f[0, 0]+[64, 64] -> C[(by * 64), (bx * 64)]+[64, 64]


@T.prim_func
def parallel(A: T.Tensor((64, 100), "float32"), B: T.Tensor((64, 100), "float32")):
# ^ kernel parallel grid 4 1 1 threads 32 1 1
    with T.Kernel(4, threads=32) as bx:
#   ^ grid bx 4
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 32
        for i, j in T.Parallel(16, 100):
#       ^ parallel i 16
#       ^ parallel j 100
            B[bx * 16 + i, j] = T.if_then_else(j < 50, A[bx * 16 + i, j], 0.0)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store (j < 50)?A[((bx * 16) + i), j] -> B[((bx * 16) + i), j]
        for i in T.serial(2):
#       ^ serial i_1 2
            if i == 1:
#           ^ if (i_1 == 1)
                for j in T.unroll(4):
#               ^ unroll j_1 4
                    B[i, j] = A[i, j] + 1.0
#                   ^^^^^^^^^^^^^^^^^^^^^^^ store [add] A[i_1, j_1] -> B[i_1, j_1]


@T.prim_func
def masked(A: T.Tensor((64, 64), "float32")):
# ^ kernel masked grid 1 1 1 threads 128 1 1
    with T.Kernel(1, threads=128):
#   ^ grid bx 1
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 128
        A_f = T.alloc_fragment((64, 64), "float32")
        T.copy(A, A_f)
#       ^^^^^^^^^^^^^^ block copy A[0, 0]+[64, 64] -> A_f[0, 0]+[64, 64]
        for i, j in T.Parallel(64, 64):
#       ^ parallel i 64
#       ^ parallel j 64
            A_f[i, j] = T.if_then_else(i >= j, A_f[i, j], -T.infinity("float32"))
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store [select place place compare] (i >= j)?A_f[i, j] -> A_f[i, j]
            A_f[i, j] = T.if_then_else(j < 50, 1.0, 0.0)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store [place compare] -> A_f[i, j]
            A_f[i, j] = T.if_then_else(j >= 64, -T.infinity("float32"), A_f[i, j])
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store A_f[i, j] -> A_f[i, j]


@T.prim_func
def reduced(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
# ^ kernel reduced grid 1 1 1 threads 64 1 1
    with T.Kernel(1, threads=64):
#   ^ grid bx 1
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 64
        A_f = T.alloc_fragment((64, 64), "float32")
        B_f = T.alloc_fragment((64,), "float32")
        T.copy(A, A_f)
#       ^^^^^^^^^^^^^^ block copy A[0, 0]+[64, 64] -> A_f[0, 0]+[64, 64]
        T.reduce_max(A_f, B_f, dim=1)
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block reduce [4096*max 512*shuffle] A_f[0, 0]+[64, 64] -> B_f[0]+[64]
        T.copy(B_f, B)
#       ^^^^^^^^^^^^^^ block copy B_f[0]+[64] -> B[0]+[64]


@T.prim_func
def threads(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 128), "float32")):
# ^ kernel threads grid 64 1 1 threads 64 2 1
    with T.Kernel(64, threads=(64, 2)) as bx:
#   ^ grid bx 64
#   ^ let tz = 0
#   ^ block ty 2
#   ^ block tx 64
        tx = T.get_thread_binding(0)
        ty = T.get_thread_binding(1)
        B[bx, ty * 64 + tx] = A[bx, ty * 64 + tx]
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store A[bx, ((ty * 64) + tx)] -> B[bx, ((ty * 64) + tx)]
        if T.shuffle_elect(128):
#       ^ let [shuffle]
#       ^ if ((((ty * 64) + tx) % 128) == 0)
            B[bx, 0] = A[bx, 0]
#           ^^^^^^^^^^^^^^^^^^^ store A[bx, 0] -> B[bx, 0]


@T.prim_func
def persistent(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
# ^ kernel persistent grid 4 1 1 threads 32 1 1
    with T.Kernel(4, threads=32) as block:
#   ^ grid bx 4
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 32
        for bx in T.Persistent([32], 4, block):
#       ^ serial w 8
#       ^ if (((w * 4) + bx) < 32)
#       ^ if ((((((w * 4) + bx) truncdiv 8) * 8) + (((w * 4) + bx) truncmod 8)) < 32)
            for i in T.Parallel(32):
#           ^ parallel i 32
                B[bx * 32 + i] = A[bx * 32 + i]
#               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store A[(((((((w * 4) + bx) truncdiv 8) * 8) + (((w * 4) + bx) truncmod 8)) * 32) + i)] -> B[(((((((w * 4) + bx) truncdiv 8) * 8) + (((w * 4) + bx) truncmod 8)) * 32) + i)]


@T.prim_func
def scalar(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
# ^ kernel scalar grid 4 1 1 threads 32 1 1
    with T.Kernel(4, threads=32) as bx:
#   ^ grid bx 4
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 32
        start = T.alloc_var("int32")
        start = bx * 256
        while start < 1024:
#       ^ serial turn (1024 - (bx * 256))
            B[start] = A[start]
#           ^^^^^^^^^^^^^^^^^^^ store A[((bx * 256) + turn)] -> B[((bx * 256) + turn)]
            start = start + 1


@T.prim_func
def flagged(n: T.int32, A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
# ^ kernel flagged grid 4 1 1 threads 32 1 1 variable n
    with T.Kernel(4, threads=32) as bx:
#   ^ grid bx 4
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 32
        on = T.alloc_local((1,), "int32")
        off = T.alloc_local((1,), "int32")
        if bx * 256 < n:
#       ^ if ((bx * 256) < n)
            on[0] = 1
            off[0] = 0
        else:
            on[0] = 0
            off[0] = 1
        for k in T.serial(8):
#       ^ serial k 8
            if on[0] != 0:
#           ^ if ((bx * 256) < n)
                B[k] = A[k]
#               ^^^^^^^^^^^ store A[k] -> B[k]
            if off[0] == 0:
#           ^ if not(not(((bx * 256) < n)))
                B[k] = A[k]
#               ^^^^^^^^^^^ store A[k] -> B[k]


@T.prim_func
def overlapping(
# ^ kernel overlapping grid 4 1 1 threads 32 1 1
    A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32"), C: T.Tensor((4,), "float32")
):
    with T.Kernel(4, threads=32) as bx:
#   ^ grid bx 4
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 32
        T.annotate_restrict_buffers(A, B)
        B[bx] = A[bx] + C[bx]
#       ^^^^^^^^^^^^^^^^^^^^^ store [add] A[bx] C[bx] -> B[bx]
