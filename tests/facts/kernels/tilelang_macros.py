# ruff: noqa: E501 (expectations are long)
# fmt: off
"""Macros of tilelang, and loops that Python unrolls."""

import tilelang.language as T
from tile_macros import scale


@T.macro
def add_one(tile):
    for i in T.Parallel(64):
        tile[i] = tile[i] + 1.0


@T.macro
def both(tile):
    add_one(tile)
    scale(tile, 64)


@T.prim_func
def macros(A: T.Tensor((64,), "float32")):
# ^ kernel macros grid 1 1 1 threads 64 1 1
    with T.Kernel(1, threads=64):
#   ^ grid bx 1
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 64
        tile = T.alloc_fragment((64,), "float32")
        T.copy(A, tile)
#       ^^^^^^^^^^^^^^^ block copy A[0]+[64] -> tile[0]+[64]
        add_one(tile)
#       ^ parallel i 64 <- for i in T.Parallel(64):
#       ^^^^^^^^^^^^^ block store [add] tile[i] -> tile[i] <- tile[i] = tile[i] + 1.0
        scale(tile, 64)
#       ^ parallel i_1 64 <- tile_macros.py: for i in T.Parallel(rows):
#       ^^^^^^^^^^^^^^^ block store [mul] tile[i_1] -> tile[i_1] <- tile_macros.py: tile[i] = tile[i] * 2.0
        both(tile)
#       ^ parallel i_2 64 <- add_one(tile) <- for i in T.Parallel(64):
#       ^^^^^^^^^^ block store [add] tile[i_2] -> tile[i_2] <- add_one(tile) <- tile[i] = tile[i] + 1.0
#       ^ parallel i_3 64 <- scale(tile, 64) <- tile_macros.py: for i in T.Parallel(rows):
#       ^^^^^^^^^^ block store [mul] tile[i_3] -> tile[i_3] <- scale(tile, 64) <- tile_macros.py: tile[i] = tile[i] * 2.0




@T.prim_func
def unrolled(Ä: T.Tensor((64,), "float32")):
# ^ kernel unrolled grid 1 1 1 threads 64 1 1
    with T.Kernel(1, threads=64):
#   ^ grid bx 1
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 64
        tile = T.alloc_fragment((64,), "float32")
        for rows in (16, 32):
            T.copy(Ä[0:rows], tile[0:rows])
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block copy Ä[0]+[16] -> tile[0]+[16]
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block copy Ä[0]+[32] -> tile[0]+[32]
            scale(tile, rows)
#           ^ parallel i 16 <- tile_macros.py: for i in T.Parallel(rows):
#           ^^^^^^^^^^^^^^^^^ block store [mul] tile[i] -> tile[i] <- tile_macros.py: tile[i] = tile[i] * 2.0
#           ^ parallel i_1 32 <- tile_macros.py: for i in T.Parallel(rows):
#           ^^^^^^^^^^^^^^^^^ block store [mul] tile[i_1] -> tile[i_1] <- tile_macros.py: tile[i] = tile[i] * 2.0
