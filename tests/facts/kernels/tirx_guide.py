# ruff: noqa: E501, F821, SIM102 (expectations are long; sizes of T.jit are its parameters)
# fmt: off
"""Kernels of TIRx as its guide writes them: launches, control flow, memory, warps, tiles."""

from __future__ import annotations

from tvm_tirx.backend.cuda.axis import Axis
from tvm_tirx.script import tirx as T
from tvm_tirx.tirx.layout import S, TileLayout

n = T.dynamic("n")


@T.function
def add_one(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)):
# ^ kernel add_one grid (((n + 256) - 1) // 256) 1 1 threads 256 1 1 variable n
    T.device_entry(launch=T.cuda.LaunchConfig(grid=T.ceildiv(n, 256), block=256))
#   ^ grid bx (((n + 256) - 1) // 256)
#   ^ block tx 256
    i = T.cuda.block_idx("x") * 256 + T.cuda.thread_idx("x")
    if i < n:
#      ^ if (((bx * 256) + tx) < n)
        B[i] = A[i] + 1
#       ^ store [add] A[((bx * 256) + tx)] -> B[((bx * 256) + tx)]


@T.function
def add_one_on_a_cpu(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)):
# ^ kernel add_one_on_a_cpu variable n
    for i in T.serial(n):
#            ^ serial i n
        B[i] = A[i] + 1
#       ^ store [add] A[i] -> B[i]


@T.function
def row_sums(A: T.Tensor((1024, 512), T.float32), B: T.Tensor((1024,), T.float32)):
# ^ kernel row_sums grid 8 1 1 threads 128 1 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=8, block=128))
#   ^ grid bx 8
#   ^ block tx 128
    row = T.cuda.block_idx("x") * T.cuda.block_dim("x") + T.cuda.thread_idx("x")
    total: T.float32 = 0.0
#   ^ store -> total[0]
    for k in range(512):
#            ^ serial k 512
        total += A[row, k]
#       ^ store [add] total[0] A[((bx * 128) + tx), k] -> total[0]
    B[row] = total
#   ^ store total[0] -> B[((bx * 128) + tx)]


@T.function
def warp_sum(A: T.Tensor((32,), "float32", align=16)):
# ^ kernel warp_sum grid 1 1 1 threads 32 1 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
#   ^ grid bx 1
#   ^ block tx 32
    lane_id = T.cuda.lane_id()
    v = T.alloc_local((1,), "float32")
    i = T.alloc_local((1,), "int32")
    v[0] = A[lane_id]
#   ^ store A[(tx % 32)] -> v[0]
    i[0] = 16
    while i[0] >= 1:
#         ^ serial turn 5
#         ^ let i[0]
        v[0] += T.cuda.__shfl_xor_sync(0xFFFFFFFF, v[0], i[0], 32)
#       ^ store [add shuffle] v[0] v[0] i[0] -> v[0]
        i[0] = i[0] // 2
#       ^ store i[0] -> i[0]
    A[lane_id] = v[0]
#   ^ store v[0] -> A[(tx % 32)]


@T.function
def reverse_rows(A: T.Tensor((64, 256), T.float16), B: T.Tensor((64, 256), T.float16)):
# ^ kernel reverse_rows grid 64 1 1 threads 256 1 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=64, block=256))
#   ^ grid bx 64
#   ^ block tx 256
    tile = T.alloc_shared((256,), "float16")
    t = T.cuda.thread_idx("x")
    tile[t] = A[T.cuda.block_idx("x"), t]
#   ^ store A[bx, tx] -> tile[tx]
    T.cuda.cta_sync()
#   ^ sync
    B[T.cuda.block_idx("x"), t] = tile[255 - t]
#   ^ store tile[(255 - tx)] -> B[bx, tx]


@T.function
def product(A: T.Tensor((256, 64), T.float32), B: T.Tensor((64, 256), T.float32), C: T.Tensor((256, 256), T.float32)):
# ^ kernel product grid 16 16 1 threads 16 16 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(16, 16), block=(16, 16)))
#   ^ grid bx 16
#   ^ grid by 16
#   ^ block tx 16
#   ^ block ty 16
    i = T.cuda.block_idx("y") * 16 + T.cuda.thread_idx("y")
    j = T.cuda.block_idx("x") * 16 + T.cuda.thread_idx("x")
    total: T.float32 = 0.0
#   ^ store -> total[0]
    for k in T.unroll(64):
#            ^ unroll k 64
        total += A[i, k] * B[k, j]
#       ^ store [mul add] total[0] A[((by * 16) + ty), k] B[k, ((bx * 16) + tx)] -> total[0]
    C[i, j] = total
#   ^ store total[0] -> C[((by * 16) + ty), ((bx * 16) + tx)]


@T.function
def elected_lanes(A: T.Tensor((128,), T.float32)):
# ^ kernel elected_lanes grid 4 1 1 cluster 2 1 1 threads 128 1 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=128, cluster=2))
#   ^ grid bx 4
#   ^ block tx 128
    if T.cuda.warp_id() == 0:
#      ^ if ((tx // 32) == 0)
        if T.cuda.elect_sync():
#          ^ let [shuffle]
#          ^ if ((tx % 32) == 0)
            A[T.cuda.cluster_id("x") * 2 + T.cuda.cluster_cta_id("x")] = T.float32(1)
#           ^ store -> A[(((bx // 2) * 2) + (bx % 2))]


@T.function(private=True)
def increment(x: T.float32) -> T.float32:
    return x + T.float32(1)


REGISTERS = TileLayout(S[(2, 32, 3, 4) : (1 @ Axis.warpid, 1 @ Axis.laneid, 4, 1)])


@T.function
def add_one_to_tiles(A: T.Tensor((2, 32, 3, 4), T.float32), B: T.Tensor((2, 32, 3, 4), T.float32)):
# ^ kernel add_one_to_tiles grid 1 1 1 threads 64 1 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
#   ^ grid bx 1
#   ^ block tx 64
#   ^ let [shuffle]
    values = T.alloc_local((2, 32, 3, 4), "float32", layout=REGISTERS)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], values, A, scope="cta")
#   ^ unroll repeat_0 3
#   ^ load A[(tx // 32), (tx % 32), repeat_0, 0]x4 -> tile_dst[(repeat_0 * 4)]x4
    T.cuda.tile.ewise(increment, values, values, scope="cta")
#   ^ unroll repeat_0_1 3
#   ^ unroll repeat_1 4
#   ^ store [add] tile_src0[((repeat_0_1 * 4) + repeat_1)] -> tile_dst_1[((repeat_0_1 * 4) + repeat_1)]
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B, values, scope="cta")
#   ^ unroll repeat_0_2 3
#   ^ store tile_src[(repeat_0_2 * 4)]x4 -> B[(tx // 32), (tx % 32), repeat_0_2, 0]x4


@T.jit
def scale(A: T.Tensor((N,), T.float32), B: T.Tensor((N,), T.float32), *, N: T.constexpr, BLOCK: T.constexpr = 128):
# ^ kernel scale grid 32 1 1 threads 128 1 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=N // BLOCK, block=BLOCK))
#   ^ grid bx 32
#   ^ block tx 128
    i = T.cuda.block_idx("x") * BLOCK + T.cuda.thread_idx("x")
    B[i] = A[i] * T.float32(2)
#   ^ store [mul] A[((bx * 128) + tx)] -> B[((bx * 128) + tx)]


scale_4096 = scale.specialize(N=4096)
