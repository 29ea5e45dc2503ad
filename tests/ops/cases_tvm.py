# ruff: noqa: F821 (names and declarations are the kernel language's)
"""Kernels of one operation each, for apache-tvm 0.27, and the statements they are to become.

The lines of an expectation are those of `cases_tilelang`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = tuple[Callable[[Any], Any], list[str]]
CASES: dict[str, Case] = {}


def becomes(*lines: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def register(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CASES[build.__name__] = (build, list(lines))
        return build

    return register


# A warp's 16 x 16 x 16 product is 4096 multiply-accumulates: 128 by each of 32 lanes.
@becomes(
    "fill thread: ; ",
    "load thread: ; read A[8] thread",
    "load thread: ; read B[8] thread",
    "mma thread: 128 x mma float16->float32; ; instruction=wmma",
    "store thread: ; write C[8] thread",
)
def wmma(T):
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((16, 16), "float16"),
        B: T.Buffer((16, 16), "float16"),
        C: T.Buffer((16, 16), "float32"),
    ):
        for _bx in T.thread_binding(1, thread="blockIdx.x"):
            for _tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("root"):
                    a = T.sblock_alloc_buffer((16, 16), "float16", scope="wmma.matrix_a")
                    b = T.sblock_alloc_buffer((16, 16), "float16", scope="wmma.matrix_b")
                    c = T.sblock_alloc_buffer((16, 16), "float32", scope="wmma.accumulator")
                    T.evaluate(T.tvm_fill_fragment(c.data, 16, 16, 16, 0, T.float32(0)))
                    T.evaluate(
                        T.tvm_load_matrix_sync(
                            a.data, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major"
                        )
                    )
                    T.evaluate(
                        T.tvm_load_matrix_sync(
                            b.data, 16, 16, 16, 0, B.access_ptr("r"), 16, "row_major"
                        )
                    )
                    T.evaluate(T.tvm_mma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0))
                    T.evaluate(
                        T.tvm_store_matrix_sync(
                            c.data, 16, 16, 16, 0, C.access_ptr("w"), 16, "row_major"
                        )
                    )

    return main


# m16n8k16 is 2048 multiply-accumulates: 64 by each lane; ldmatrix.x4 gives a lane 16 bytes.
@becomes(
    "copy thread: ; read S[8] thread, write a[8] thread",
    "mma thread: 64 x mma float16->float32; ",
)
def legacy_mma(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 16), "float16")):
        for _bx in T.thread_binding(1, thread="blockIdx.x"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("root"):
                    S = T.sblock_alloc_buffer((16, 16), "float16", scope="shared")
                    a = T.sblock_alloc_buffer((8,), "float16", scope="local")
                    b = T.sblock_alloc_buffer((4,), "float16", scope="local")
                    c = T.sblock_alloc_buffer((4,), "float32", scope="local")
                    T.evaluate(
                        T.ptx_legacy.ldmatrix(
                            "float16", False, 4, ".b16", a.data, 0, S.access_ptr("r"), tx * 8
                        )
                    )
                    T.evaluate(
                        T.ptx_legacy.mma(
                            "float32",
                            "m16n8k16",
                            "row",
                            "col",
                            "fp16",
                            "fp16",
                            "fp32",
                            a.data,
                            0,
                            b.data,
                            0,
                            c.data,
                            0,
                            False,
                        )
                    )

    return main


# 2:4: the logical product m16n8k32 has 4096 multiply-accumulates, 128 by each lane.
@becomes("mma thread: 128 x mma float16->float32 sparsity 2; ")
def sparse_mma(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 16), "float16")):
        for _bx in T.thread_binding(1, thread="blockIdx.x"):
            for _tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("root"):
                    a = T.sblock_alloc_buffer((4,), "uint32", scope="local")
                    c = T.sblock_alloc_buffer((4,), "float32", scope="local")
                    e = T.sblock_alloc_buffer((1,), "uint32", scope="local")
                    T.ptx.mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32(
                        c[0],
                        c[1],
                        c[2],
                        c[3],
                        a[0],
                        a[1],
                        a[2],
                        a[3],
                        a[0],
                        a[1],
                        a[2],
                        a[3],
                        c[0],
                        c[1],
                        c[2],
                        c[3],
                        e[0],
                        0,
                    )

    return main


# The name of this one is `ptx.mma_sp`, which has another order of types in apache-tvm 0.26.
@becomes("mma thread: 64 x mma float16->float32 sparsity 2; ")
def short_sparse_mma(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 16), "float16")):
        for _bx in T.thread_binding(1, thread="blockIdx.x"):
            for _tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("root"):
                    a = T.sblock_alloc_buffer((4,), "uint32", scope="local")
                    c = T.sblock_alloc_buffer((4,), "float32", scope="local")
                    e = T.sblock_alloc_buffer((1,), "uint32", scope="local")
                    T.ptx.mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32(
                        c[0],
                        c[1],
                        c[2],
                        c[3],
                        a[0],
                        a[1],
                        a[2],
                        a[3],
                        c[0],
                        c[1],
                        c[2],
                        c[3],
                        e[0],
                        0,
                    )

    return main


@becomes(
    "call thread: 2 x fma float32; "
    "read r[] thread, read r[] thread, read r[] thread, write r[] thread",
    "call thread: 1 x exp2 float32; read x[] thread, write x[] thread",
)
def ptx_arithmetic(T):
    @T.prim_func
    def main(A: T.Buffer((16,), "float32")):
        T.device_entry()
        _bx = T.cta_id([1])
        _tx = T.thread_id([32])
        r: T.uint64
        x: T.float32
        T.ptx.fma.rn.f32x2(r, r, r, r)
        T.ptx.ex2.approx.ftz.f32(x, x)

    return main


@becomes(
    "call thread: 1 x mul float32; read f[] thread, read f[] thread, write f[] thread",
    "call thread: 1 x add float32, 1 x mul float32; "
    "read f[] thread, read f[] thread, read f[] thread, write f[] thread",
    "call thread: 1 x cast float32->float16; read f[] thread, read f[] thread, write w[] thread",
    "call thread: ; read w[] thread, write h[] thread, write h[] thread",
    "call thread: 1 x cast bfloat16->float32; read h[] thread, write f[] thread",
)
def ptx_operands(T):
    """What an operand computes counts, whatever its instruction is; a pair is converted at once."""

    @T.prim_func
    def main(A: T.Buffer((16,), "float32")):
        T.device_entry()
        _bx = T.cta_id([1])
        _tx = T.thread_id([32])
        f = T.alloc_local((4,), "float32")
        w = T.alloc_local((1,), "uint32")
        h = T.alloc_local((2,), "uint16")
        T.ptx.mov.b32(f[0], f[1] * f[2])
        T.ptx.add.f32(f[0], f[1] * f[2], f[3])
        T.ptx.cvt.rn.f16x2.f32(w[0], f[0], f[1])
        T.ptx.mov.b32(h[0], h[1], w[0])
        T.ptx.cvt.f32.bf16(f[0], h[1])

    return main


@becomes(
    "copy block: ; read A[64,32] tile clipped, write S[64,32] tile",
    "map block: 2048 x add float16; read S[64,32] tile, read S[64,32] tile, write S[64,32] tile",
    "copy thread: ; read S[1,4] tile, write own[4] tile",
)
def tile_primitives(T):
    from tvm.tirx.script import tile as Tx

    @T.prim_func
    def main(A: T.Buffer((128, 32), "float16")):
        T.device_entry()
        bx = T.cta_id([2])
        tx = T.thread_id([64])
        S = T.alloc_shared((64, 32), "float16")
        own = T.alloc_local((4,), "float16")
        Tx.cta.copy(S[:, :], A[bx * 64 : bx * 64 + 64, :])
        Tx.cta.add(S[:, :], S[:, :], S[:, :])
        Tx.copy(own[:], S[tx, 0:4])

    return main


@becomes(
    "call thread: 64 x fma int8->int32; ",
    "call thread: 1 x unknown:mystery float32; ",
)
def named_functions(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32")):
        T.evaluate(
            T.call_llvm_pure_intrin(
                "int32x16",
                "llvm.x86.avx512.vpdpbusd.512",
                T.Broadcast(0, 16),
                T.Broadcast(0, 16),
                T.Broadcast(0, 16),
            )
        )
        T.evaluate(T.call_extern("float32", "mystery", T.float32(1)))

    return main


# A pointer with an offset in bytes: 32 of them are 8 elements, and v2.b32 is two.
@becomes(
    "load thread: ; read A[2] thread, write r[2] thread",
    "store thread: ; write A[] thread, read r[] thread",
    "atomic thread: 1 x add uint32; atomic A[] thread",
)
def ptx_memory(T):
    @T.prim_func
    def main(A: T.Buffer((64,), "uint32")):
        T.device_entry()
        _bx = T.cta_id([1])
        _tx = T.thread_id([32])
        r = T.alloc_local((2,), "uint32")
        T.ptx.ld.global_.v2.b32(r[0], r[1], T.ptx.addr(A.data, 32))
        T.ptx.st.global_.b32(A.data, r[0])
        T.ptx.red.relaxed.gpu.global_.add.u32(A.data, r[0])

    return main


# Of 16-byte elements, v4.b32 is one; what a thread loads for an index is known by its place.
@becomes(
    "load thread: ; read W[] thread, write r[4] thread",
    "load thread: ; read A[] thread, write at[] thread",
    "call thread: 1 x max int32; read at[] thread, write from_zero[] thread",
    "store thread: ; read from_zero[] thread, write W[] thread, read r[4] thread",
)
def ptx_wide(T):
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), W: T.Buffer((16,), "uint32x4")):
        T.device_entry()
        _bx = T.cta_id([1])
        tx = T.thread_id([32])
        r = T.alloc_local((4,), "uint32")
        at = T.alloc_local((1,), "int32")
        from_zero = T.alloc_local((1,), "int32")
        T.ptx.ld.global_.v4.b32(r[0], r[1], r[2], r[3], W.ptr_to([tx]))
        T.ptx.ld.global_.s32(at[0], A.ptr_to([tx]))
        T.ptx.max.s32(from_zero[0], at[0], 0)
        T.ptx.st.global_.v4.b32(W.ptr_to([from_zero[0]]), r[0], r[1], r[2], r[3])

    return main


# A barrier goes by its own name wherever its address comes from, and whoever asks it again and
# again waits for it.
@becomes(
    "call thread: ; ",
    "sync thread: ; ; arrive barrier[1]; kind=arrive",
    "sync thread: ; ; wait barrier[1] parity 0",
    "sync thread: ; ; commit barrier[0] if bx == 1; kind=arrive",
    "store thread: ; write A[] thread",
)
def cluster(T):
    commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"

    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        T.device_entry()
        bx = T.cta_id([4])
        _tx = T.thread_id([32])
        barrier = T.alloc_shared((2,), "uint64")
        remote: T.uint32
        done: T.uint32 = T.uint32(0)
        T.ptx.mapa.shared__cluster.u32(
            remote, T.cuda.cvta_generic_to_shared(T.address_of(barrier[1])), T.uint32(0)
        )
        T.ptx.mbarrier.arrive.shared__cluster.b64(remote)
        while done == T.uint32(0):
            T.ptx.mbarrier.try_wait.parity.shared__cta.b64(
                done, T.address_of(barrier[1]), T.uint32(0)
            )
        T.ptx[commit](T.address_of(barrier[0]), pred=bx == 1)
        A[0] = T.float32(0)

    return main


# The descriptor has N/8 at bit 17 and M/16 at bit 24: 0x10 and 0x08 are M = 128 and N = 128; what
# is put into its lowest bits at run time changes neither.  The box of the map is the tile's.
@becomes(
    "shuffle thread: 1 x shuffle ; ",
    "copy thread: ; read tensor[64,32] tma, write S[1,64,32] tma; bring barrier[0]",
    "mma thread: 262144 x mma float16->float32; "
    "; instruction=tcgen05; is_asynchronous=True; operand_bytes=8192",
    "copy thread: ; read S[1,64,32] tma, write tensor[64,32] tma",
)
def blackwell(T):
    chain = "cp.async.bulk.tensor.2d"
    load = f"{chain}.shared::cluster.global.mbarrier::complete_tx::bytes"
    store = f"{chain}.global.shared::cta.tile.bulk_group"
    multiply = "tcgen05.mma.cta_group::1.kind::f16"

    @T.prim_func
    def main(tensor: T.TensorMap()):
        T.device_entry()
        bx = T.cta_id([4])
        _tx = T.thread_id([32])
        S = T.alloc_shared((2, 64, 32), "float16")
        barrier = T.alloc_shared((2,), "uint64")
        one: T.uint32
        other: T.uint32
        descriptor: T.uint32 = T.uint32(0x08200010) | T.Cast("uint32", bx % 4) << T.uint32(4)
        T.ptx.elect_sync(other, one, T.uint32(0xFFFFFFFF))
        if one == T.uint32(1):
            T.ptx[load](
                T.cuda.cvta_generic_to_shared(T.address_of(S[bx % 2, 0, 0])),
                T.address_of(tensor),
                0,
                bx * 64,
                T.cuda.cvta_generic_to_shared(T.address_of(barrier[0])),
            )
            T.ptx[multiply](
                T.uint32(0), T.uint64(0), T.uint64(0), descriptor, 0, 0, 0, 0, T.ptx.pred(1)
            )
            T.ptx[store](
                T.address_of(tensor),
                0,
                bx * 64,
                T.cuda.cvta_generic_to_shared(T.address_of(S[bx % 2, 0, 0])),
            )

    return main


@becomes(
    "sync thread: ; ",
    "shuffle thread: 1 x shuffle float32; read own[] thread",
    "reduce thread: 6 x shuffle float32, 6 x add float32; read own[] thread, write total[] thread",
    "atomic thread: 1 x add float32; read own[] thread, atomic A[] thread",
)
def exchange(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32")):
        for _bx in T.thread_binding(1, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("root"):
                    T.reads()
                    T.writes()
                    own = T.sblock_alloc_buffer((1,), "float32", scope="local")
                    total = T.sblock_alloc_buffer((1,), "float32", scope="local")
                    T.evaluate(T.tvm_storage_sync("shared"))
                    T.evaluate(T.tvm_warp_shuffle(T.uint32(0xFFFFFFFF), own[0], 0, 32, 32))
                    with T.attr(
                        T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
                        "reduce_scope",
                        T.int32(0),
                    ):
                        T.evaluate(
                            T.tvm_thread_allreduce(T.uint32(1), own[0], T.bool(True), total[0], tx)
                        )
                    T.evaluate(T.cuda.atomic_add(A.access_ptr("rw"), own[0]))

    return main


@becomes(
    "gemm block: 131072 x mma float16->float32; read A_s[64,32] mma, read B_s[32,64] mma, "
    "read C_l[64,64] mma, write C_l[64,64] mma; m_n_k=(64, 64, 32)",
)
def tile_product(T):
    from tvm.script.tirx import tile as Tx

    @T.prim_func
    def main():
        T.device_entry()
        T.cta_id([2])
        T.thread_id([128])
        A_s = T.alloc_buffer([64, 32], dtype="float16", scope="shared")
        B_s = T.alloc_buffer([32, 64], dtype="float16", scope="shared")
        C_l = T.alloc_buffer([64, 64], dtype="float32", scope="local")
        for _ in range(4):
            Tx.cta.gemm(C_l, A_s, B_s, C_l)

    return main


@becomes("copy warp: ; read A[1,64] tile clipped, write B[1,64] tile clipped")
def warps_in_a_loop(T):
    from tvm.script.tirx import tile as Tx

    @T.prim_func
    def main(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3, 64), "float32")):
        T.device_entry()
        T.cta_id([1])
        T.thread_id([64])
        for i in range(3):
            Tx.warp.copy(B[i, 0:64], A[i, 0:64])

    return main


@becomes(
    "annotate thread: ; ; register_request=divide",
    "load thread: ; read A[] thread, write one[] thread; read_only=True",
    "load thread: ; read A[] thread, write one[] thread",
)
def read_only_loads(T):
    @T.prim_func
    def main(A: T.Buffer((32,), "float32")):
        T.device_entry()
        T.cta_id([1])
        tx = T.thread_id([32])
        one: T.float32
        T.ptx.setmaxnreg.inc.sync.aligned.u32(240)
        T.ptx.ld.global_.nc.f32(one, T.address_of(A[tx]))
        T.ptx.ld.global_.f32(one, T.address_of(A[tx]))

    return main
