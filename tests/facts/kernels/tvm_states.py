# ruff: noqa: B007, E501, F841
# fmt: off
"""Loops that keep their state in scalars."""

from tvm.script import tirx as T


@T.prim_func
def strided(A: T.Buffer((5000,), "float32"), B: T.Buffer((5000,), "float32")):
# ^ kernel strided grid 4 1 1 threads 256 1 1
    T.device_entry()
    bx = T.cta_id([4])
#        ^^^^^^^^^^^^^ grid bx 4
    tx = T.thread_id([256])
#        ^^^^^^^^^^^^^^^^^^ block tx 256
    i: T.int32 = bx * 256 + tx
    while i < 5000:
#   ^ serial turn (((5000 - ((bx * 256) + tx)) + 1023) // 1024)
        B[i] = A[i]
#       ^^^^^^^^^^^ store A[(((bx * 256) + tx) + (turn * 1024))] -> B[(((bx * 256) + tx) + (turn * 1024))]
        i = i + 1024


@T.prim_func
def downwards(A: T.Buffer((32, 8), "float32")):
# ^ kernel downwards grid 1 1 1 threads 32 1 1
    T.device_entry()
    bx = T.cta_id([1])
#        ^^^^^^^^^^^^^ grid bx 1
    tx = T.thread_id([32])
#        ^^^^^^^^^^^^^^^^^ block tx 32
    n: T.int32 = 7
    while n >= 0:
#   ^ serial turn 8
        A[tx, n] = T.float32(0)
#       ^^^^^^^^^^^^^^^^^^^^^^^ store -> A[tx, (7 + (turn * -1))]
        n = n - 1


@T.prim_func
def persistent(A: T.Buffer((300, 32), "float32")):
# ^ kernel persistent grid 132 1 1 threads 32 1 1
    T.device_entry()
    bx = T.cta_id([132])
#        ^^^^^^^^^^^^^^^ grid bx 132
    tx = T.thread_id([32])
#        ^^^^^^^^^^^^^^^^^ block tx 32
    running: T.int32 = 1
    turn: T.int32 = 0
    while running == 1:
#   ^ serial turn_1 (((300 - bx) + 131) // 132)
        tile: T.int32 = turn * 132 + bx
        if tile >= 300:
            running = 0
        if running == 1:
            A[tile, tx] = T.float32(0)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^ store -> A[((turn_1 * 132) + bx), tx]
        turn = turn + 1


@T.prim_func
def stages(A: T.Buffer((64, 32), "float32")):
# ^ kernel stages grid 1 1 1 threads 32 1 1
    T.device_entry()
    bx = T.cta_id([1])
#        ^^^^^^^^^^^^^ grid bx 1
    tx = T.thread_id([32])
#        ^^^^^^^^^^^^^^^^^ block tx 32
    n: T.int32 = 0
    for i in range(4):
#   ^ serial i 4
        for j in range(8):
#       ^ serial j 8
            A[n, tx] = T.float32(0)
#           ^^^^^^^^^^^^^^^^^^^^^^^ store -> A[((i * 16) + (j * 2)), tx]
            n = n + 2
    A[n - 1, tx] = T.float32(1)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^ store -> A[63, tx]


@T.prim_func
def of_data(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "float32")):
# ^ kernel of_data grid 1 1 1 threads 32 1 1
    T.device_entry()
    bx = T.cta_id([1])
#        ^^^^^^^^^^^^^ grid bx 1
    tx = T.thread_id([32])
#        ^^^^^^^^^^^^^^^^^ block tx 32
    n: T.int32 = A[tx]
#   ^^^^^^^^^^^^^^^^^^ store A[tx] -> n[0]
    while n > 0:
#   ^ while (n[0] > 0)
#   ^ let [compare] n[0]
        B[tx] = T.float32(0)
#       ^^^^^^^^^^^^^^^^^^^^ store -> B[tx]
        n = n // 2
#       ^^^^^^^^^^ store [div] n[0] -> n[0]


@T.prim_func
def roles(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
# ^ kernel roles grid 8 1 1 threads 96 1 1
    T.device_entry()
    bx = T.cta_id([8])
#        ^^^^^^^^^^^^^ grid bx 8
    warp = T.warp_id([3])
#          ^^^^^^^^^^^^^^ block warp 3
    lane = T.lane_id([32])
#          ^^^^^^^^^^^^^^^ block lane 32
    tile: T.int32 = bx
    if warp == 0:
#   ^ if (warp == 0)
        while tile < 64:
#       ^ serial turn (((64 - bx) + 7) // 8)
            A[tile, lane] = T.float32(0)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store -> A[(bx + (turn * 8)), lane]
            tile = tile + 8
    if warp >= 1 and warp <= 2:
#   ^ if ((warp >= 1) and (warp <= 2))
        while tile < 64:
#       ^ serial turn_1 (((64 - bx) + 15) // 16)
            B[tile, lane] = T.float32(0)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store -> B[(bx + (turn_1 * 16)), lane]
            tile = tile + 16
    A[tile % 64, lane] = T.float32(0)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store tile[0] -> A[(tile[0] % 64), lane]


@T.prim_func
def searching(A: T.Buffer((300, 8), "float32"), B: T.Buffer((300,), "float32")):
# ^ kernel searching grid 132 1 1 threads 1 1 1
    T.device_entry()
    bx = T.cta_id([132])
#        ^^^^^^^^^^^^^^^ grid bx 132
    i: T.int32 = bx
    while i < 300:
#   ^ serial turn (((300 - bx) + 131) // 132)
        for k in range(8):
#       ^ serial k 8
            if A[i, k] < T.float32(0):
#           ^ let [compare] A[(bx + (turn * 132)), k]
#           ^ if (A[(bx + (turn * 132)), k] < 0.0)
                break
        B[i] = T.float32(0)
#       ^^^^^^^^^^^^^^^^^^^ store -> B[(bx + (turn * 132))]
        i = i + 132


@T.prim_func
def derived(A: T.Buffer((100, 32), "float32")):
# ^ kernel derived grid 8 1 1 threads 64 1 1
    T.device_entry()
    bx = T.cta_id([8])
#        ^^^^^^^^^^^^^ grid bx 8
    tx = T.thread_id([64])
#        ^^^^^^^^^^^^^^^^^ block tx 64
    pair: T.int32 = bx
    row: T.int32 = pair * 2 + tx // 32
    while pair < 50:
#   ^ serial turn (((50 - bx) + 7) // 8)
        A[row, tx % 32] = T.float32(0)
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store -> A[(((bx + (turn * 8)) * 2) + (tx // 32)), (tx % 32)]
        pair = pair + 8
        row = pair * 2 + tx // 32


@T.prim_func
def chosen(table: T.Buffer((64,), "int32"), A: T.Buffer((4096,), "float32")):
# ^ kernel chosen grid 4 1 1 threads 32 1 1
    T.device_entry()
    bx = T.cta_id([4])
#        ^^^^^^^^^^^^^ grid bx 4
    tx = T.thread_id([32])
#        ^^^^^^^^^^^^^^^^^ block tx 32
    row: T.int32 = table[bx] * 32
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store [mul] table[bx] -> row[0]
    A[row + tx] = T.float32(0)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^ store [add] row[0] -> A[((table[bx] * 32) + tx)]
    if tx == 0:
#   ^ if (tx == 0)
        row = table[bx + 1]
#       ^^^^^^^^^^^^^^^^^^^ store table[(bx + 1)] -> row[0]
    A[row] = T.float32(1)
#   ^^^^^^^^^^^^^^^^^^^^^ store row[0] -> A[row[0]]
