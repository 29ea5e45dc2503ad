# ruff: noqa: E501 (expectations are long)
# fmt: off
"""A product in TIRx: one thread loads slabs by TMA and multiplies them in tensor memory."""
from __future__ import annotations

from tvm_tirx.backend.cuda.axis import Axis
from tvm_tirx.backend.cuda.lang import SMEMPool, TCGen05Bar, TMABar
from tvm_tirx.backend.cuda.layout import tmem_mma_operand_layout
from tvm_tirx.script import tirx as T
from tvm_tirx.tirx.layout import S, TileLayout

N = 1024
LOAD = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
TMEM = tmem_mma_operand_layout("D", (128, 128), "float32", M=128, cta_group=1)
OWN = TileLayout(S[(4, 32, 128) : (1 @ Axis.wid_in_wg, 1 @ Axis.laneid, 1)])


@T.function
def gemm(A: T.Tensor((N, N), T.float16), B: T.Tensor((N, N), T.float16), D: T.Tensor((N, N), T.float32)):
# ^ kernel gemm grid 8 8 1 threads 128 1 1
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(N // 128, N // 128), block=128))
#   ^ grid bx 8
#   ^ grid by 8
#   ^ block tx 128
#   ^ let [shuffle]
    bx = T.cuda.block_idx("x")
    by = T.cuda.block_idx("y")
    warp = T.cuda.warp_id()
    lane = T.cuda.lane_id()
    pool = T.meta_var(SMEMPool())
    addr = pool.alloc((1,), "uint32")
    loaded = T.meta_var(TMABar(pool, 1))
    done = T.meta_var(TCGen05Bar(pool, 1))
    pool.move_base_to(1024)
    As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    Bs = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    pool.commit()
    loaded.init(1)
#   ^ if (tx == 0)
#   ^ unroll i 1
#   ^ sync
    done.init(1)
#   ^ if (tx == 0)
#   ^ unroll i_1 1
#   ^ sync
    if warp == 0:
#      ^ if ((tx // 32) == 0)
        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](T.address_of(addr[0]), T.uint32(512))
#       ^ annotate
    T.cuda.cta_sync()
#   ^ sync
    acc = T.cuda.decl_tmem(addr[0], ty_args=[T.Tensor((128, 128), T.float32, scope="tmem", layout=TMEM)])
    phase: T.int32 = 0
    for k in range(N // 64):
#            ^ serial k 16
        if T.cuda.thread_idx("x") == 0:
#          ^ if (tx == 0)
            T.cuda.tile.apply(
#           ^ copy A[(bx * 128), (k * 64)]+[128, 64] -> v_4[0, 0]+[128, 64]
                T.ptx[LOAD], As[:, :], A[:, :], box=(128, 64), coords=(bx * 128, k * 64), swizzle=3, mbar=loaded.ptr_to([0]),
            )
            T.cuda.tile.apply(
#           ^ copy B[(by * 128), (k * 64)]+[128, 64] -> v_5[0, 0]+[128, 64]
                T.ptx[LOAD], Bs[:, :], B[:, :], box=(128, 64), coords=(by * 128, k * 64), swizzle=3, mbar=loaded.ptr_to([0]),
            )
            loaded.arrive(0, tx_count=2 * 128 * 64 * 2)
#           ^ sync
        loaded.wait(0, phase)
#       ^ sync phase[0]
        if T.cuda.thread_idx("x") == 0:
#          ^ if (tx == 0)
            T.cuda.tile.apply(
#           ^ gemm [1048576*mma] v_10[0, 0, 0, 0]+[1, 4, 128, 16] v_13[0, 0, 0, 0]+[1, 4, 128, 16] v_7[0, 0, 0, 0]+[1, 1, 128, 128] -> v_7[0, 0, 0, 0]+[1, 1, 128, 128]
                T.ptx["tcgen05.mma.cta_group::1.kind::f16"],
                acc.rearrange("(x m) (y n) -> x y m n", x=1, y=1),
                As.rearrange("(x m) (k q) -> x k m q", x=1, q=16),
                Bs.rearrange("(x n) (k q) -> x k n q", x=1, q=16),
                instruction_shape=(128, 128, 16), accum=k != 0,
            )
            done.arrive(0)
#           ^ sync
        done.wait(0, phase)
#       ^ sync phase[0]
        phase = phase ^ 1
#       ^ store phase[0] -> phase[0]
    own = T.alloc_local((128,), "float32", layout="default")
    T.cuda.tile.apply(
#   ^ copy -> tile_dst[0]x128
        T.ptx["tcgen05.ld.sync.aligned.32x32b.x128.b32"],
        own.view(4, 32, 128, layout=OWN), acc.view(4, 32, 128), scope="warpgroup",
    )
    T.ptx["tcgen05.wait::ld.sync.aligned"]()
#   ^ sync
    for j in range(128):
#            ^ serial j 128
        D[bx * 128 + warp * 32 + lane, by * 128 + j] = own[j]
#       ^ store own[j] -> D[(((bx * 128) + ((tx // 32) * 32)) + (tx % 32)), ((by * 128) + j)]
