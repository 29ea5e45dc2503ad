# ruff: noqa: E501 (expectations are long)
# fmt: off
"""Blocks and threads of TVMScript, in each of the ways to write them."""

from tvm.script import tirx as T

# It moved from `T.ptx` in apache-tvm 0.27.
elect = getattr(T.cuda, "elect_sync", None) or T.ptx.elect_sync


@T.prim_func(s_tir=True)
def bound_loops(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32")):
# ^ kernel bound_loops grid 1 64 1 threads 128 1 1
    for by in T.thread_binding(64, thread="blockIdx.y"):
#   ^ grid by 64
        for tx in T.thread_binding(128, thread="threadIdx.x"):
#       ^ block tx 128
            B[by, tx] = A[by, tx]
#           ^^^^^^^^^^^^^^^^^^^^^ store A[by, tx] -> B[by, tx]
        for tx in T.thread_binding(32, thread="threadIdx.x"):
#       ^ block tx_1 32
            B[by, tx] = A[by, tx]
#           ^^^^^^^^^^^^^^^^^^^^^ store A[by, tx_1] -> B[by, tx_1]




@T.prim_func(s_tir=True)
def same_index(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
# ^ kernel same_index grid 1 1 1 threads 64 1 1
    for tx in T.thread_binding(64, thread="threadIdx.x"):
#   ^ block tx 64
        for again in T.thread_binding(64, thread="threadIdx.x"):
            B[again] = A[tx]
#           ^^^^^^^^^^^^^^^^ store A[tx] -> B[tx]




@T.prim_func(s_tir=True)
def launched(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32")):
# ^ kernel launched grid 64 1 1 threads 128 1 1
    bx = T.launch_thread("blockIdx.x", 64)
#        ^ grid bx 64
    tx = T.launch_thread("threadIdx.x", 128)
#        ^ block tx 128
    B[bx, tx] = A[bx, tx]
#   ^^^^^^^^^^^^^^^^^^^^^ store A[bx, tx] -> B[bx, tx]




@T.prim_func(s_tir=True)
def environment_threads(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32")):
# ^ kernel environment_threads grid 64 1 1 threads 128 1 1
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x")
    T.launch_thread(bx, 64)
#   ^ grid bx 64
    T.launch_thread(tx, 128)
#   ^ block tx 128
    B[bx, tx] = A[bx, tx]
#   ^^^^^^^^^^^^^^^^^^^^^ store A[bx, tx] -> B[bx, tx]




@T.prim_func
def scopes(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32")):
# ^ kernel scopes grid 8 8 1 threads 128 1 1
    T.device_entry()
    by, bx = T.cta_id([8, 8])
#            ^ grid by 8
#            ^ grid bx 8
    warp = T.warp_id([4])
#          ^ block warp 4
    lane = T.lane_id([32])
#          ^ block lane 32
    B[by * 8 + bx, warp * 32 + lane] = A[by * 8 + bx, warp * 32 + lane]
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store A[((by * 8) + bx), ((warp * 32) + lane)] -> B[((by * 8) + bx), ((warp * 32) + lane)]
    if elect():
#   ^ let [shuffle]
#   ^ if (lane == 0)
        B[0, warp] = A[0, warp]
#       ^^^^^^^^^^^^^^^^^^^^^^^ store A[0, warp] -> B[0, warp]




@T.prim_func
def overlapping_scopes(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64, 256), "float32")):
# ^ kernel overlapping_scopes grid 64 1 1 cluster 2 threads 256 1 1
    T.device_entry()
    bx = T.cta_id([64])
#        ^ grid bx 64
    rank = T.cta_id_in_cluster([2])
#          ^^^^^^^^^^^^^^^^^^^^^^^^ let rank = (bx % 2)
    group = T.warpgroup_id([2])
#           ^ block thread 256
#           ^^^^^^^^^^^^^^^^^^^ let group = (thread // 128)
    lane = T.lane_id([32])
#          ^^^^^^^^^^^^^^^ let lane = (thread % 32)
    thread = T.thread_id([256])
    if group == 1:
#   ^ if (group == 1)
        B[bx, thread] = A[bx, thread]
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store A[bx, thread] -> B[bx, thread]
    if rank == 0:
#   ^ if (rank == 0)
        B[bx, lane] = A[bx, lane]
#       ^^^^^^^^^^^^^^^^^^^^^^^^^ store A[bx, lane] -> B[bx, lane]




@T.prim_func
def jumps(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
# ^ kernel jumps grid 1 1 1 threads 128 1 1
    T.device_entry()
    tx = T.thread_id([128])
#        ^ block tx 128
    if tx >= 64:
#   ^ if (tx >= 64) else
        T.thread_return()
    for i in range(4):
#   ^ serial i 4
        if i == 2:
#       ^ if (i == 2) else
            continue
        B[tx] = A[tx]
#       ^^^^^^^^^^^^^ store A[tx] -> B[tx]
    for i in range(4):
#   ^ serial i_1 3
        if i == 2:
#       ^ if (i_1 == 2) else
            break
        B[tx] = A[tx]
#       ^^^^^^^^^^^^^ store A[tx] -> B[tx]




@T.prim_func
def scalars(A: T.Buffer((2048,), "float32"), B: T.Buffer((2048,), "float32")):
# ^ kernel scalars grid 64 1 1 threads 32 1 1
    T.device_entry()
    bx = T.cta_id([64])
#        ^ grid bx 64
    tx = T.thread_id([32])
#        ^ block tx 32
    i: T.int32 = bx * 32
    total: T.float32 = T.float32(0)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store -> total[0]
    n: T.int32 = 0
    while n < 3:
#   ^ serial turn 3
        total = total + A[i + tx]
#       ^^^^^^^^^^^^^^^^^^^^^^^^^ store [add] total[0] A[((bx * 32) + tx)] -> total[0]
        n = n + 1
    B[i + tx] = total
#   ^^^^^^^^^^^^^^^^^ store total[0] -> B[((bx * 32) + tx)]


@T.prim_func
def behind(A: T.Buffer((32, 8), "float32")):
# ^ kernel behind grid 1 1 1 threads 32 1 1
    T.device_entry()
    bx = T.cta_id([1])  # noqa: F841
#        ^^^^^^^^^^^^^ grid bx 1
    tx = T.thread_id([32])
#        ^^^^^^^^^^^^^^^^^ block tx 32
    T.cuda.atomic_add(T.ptr_byte_offset(T.address_of(A[tx, 0]), 8, "float32"), T.float32(1))
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ atomic [add] -> A[tx, 2]
