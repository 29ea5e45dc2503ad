"""Kernels of one operation each, for tilelang 0.1.15, and the statements they are to become.

A line of an expectation reads ``op per: arithmetic; accesses``: operations as ``count x op dtype``,
accesses as ``mode buffer[extents] route``.  Each kernel is a function of the language module.
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


@becomes(
    "copy block: ; read A[64,32] tile clipped, write A_s[64,32] tile",
    "copy block: 2048 x cast float16->float32; read A_s[64,32] tile, write A_f[64,32] tile",
    "copy block: ; read A_f[64,32] tile, write B[64,32] tile clipped",
)
def copy(T):
    @T.prim_func
    def main(A: T.Tensor((100, 100), "float16"), B: T.Tensor((100, 100), "float32")):
        with T.Kernel(2, 4, threads=128) as (bx, by):
            A_s = T.alloc_shared((64, 32), "float16")
            A_f = T.alloc_fragment((64, 32), "float32")
            T.copy(A[bx * 64, by * 32], A_s)
            T.copy(A_s, A_f)
            T.copy(A_f, B[bx * 64, by * 32])

    return main


@becomes(
    "copy block: ; read A[64,32] async clipped, write A_s[64,32] async",
    "copy thread: ; read A[1,4] tile clipped, write own[4] tile",
)
def copy_async_and_private(T):
    @T.prim_func
    def main(A: T.Tensor((128, 128), "float16")):
        with T.Kernel(2, threads=64) as bx:
            A_s = T.alloc_shared((64, 32), "float16")
            own = T.alloc_local((4,), "float16")
            T.async_copy(A[bx * 64, 0], A_s)
            T.copy(A[T.get_thread_binding(), 0:4], own)

    return main


@becomes(
    "let block: ; read table[] thread",
    "copy block: ; read pages[1,64,32] tile clipped, write A_s[64,32] tile",
    "copy block: ; read A_s[64,32] tile, write B[1,64,32] tile clipped",
)
def copy_of_a_page(T):
    """The table of pages is read too, once a block."""

    @T.prim_func
    def main(
        pages: T.Tensor((8, 64, 32), "float16"),
        table: T.Tensor((4,), "int32"),
        B: T.Tensor((4, 64, 32), "float16"),
    ):
        with T.Kernel(4, threads=128) as bx:
            A_s = T.alloc_shared((64, 32), "float16")
            T.copy(pages[table[bx], 0, 0], A_s)
            T.copy(A_s, B[bx, 0, 0])

    return main


@becomes(
    "fill block: ; write C_f[64,64] tile",
    "gemm block: 131072 x mma float16->float32; "
    "read A_s[64,32] mma, read B_s[32,64] mma, read C_f[64,64] mma, write C_f[64,64] mma"
    "; m_n_k=(64, 64, 32); transposes=(False, False)",
    "gemm block: 131072 x mma float16->float32; "
    "read A_s[64,32] mma, read Bt_s[64,32] mma, write C_f[64,64] mma"
    "; m_n_k=(64, 64, 32); transposes=(False, True)",
)
def gemm(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 32), "float16")
            B_s = T.alloc_shared((32, 64), "float16")
            Bt_s = T.alloc_shared((64, 32), "float16")
            C_f = T.alloc_fragment((64, 64), "float32")
            T.clear(C_f)
            T.gemm(A_s, B_s, C_f)
            T.gemm(A_s, Bt_s, C_f, transpose_B=True, clear_accum=True)

    return main


@becomes(
    "gemm block: 262144 x mma float16->float32 sparsity 2; read A_s[64,32] mma, "
    "read B_s[64,64] mma, read E_s[64,8] mma, read C_f[64,64] mma, write C_f[64,64] mma"
    "; m_n_k=(64, 64, 64); transposes=(False, False)",
)
def gemm_sparse(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 32), "float16")
            E_s = T.alloc_shared((64, 8), "uint8")
            B_s = T.alloc_shared((64, 64), "float16")
            C_f = T.alloc_fragment((64, 64), "float32")
            T.gemm_sp(A_s, E_s, B_s, C_f)

    return main


# Of 128 threads 2 share each of 64 rows evenly, but 4 a row of an accumulator: 64 * 4 * log2(4).
@becomes(
    "reduce block: 2048 x add float32, 512 x shuffle float32; read S[64,32] tile, write r[64] tile"
    "; dim=1",
    "reduce block: 2048 x max float32, 512 x shuffle float32; "
    "read S[64,32] tile, read r[64] tile, write r[64] tile; dim=1",
    "reduce block: 2048 x abs float32, 2048 x max float32, 512 x shuffle float32; "
    "read S[64,32] tile, write r[64] tile; dim=1",
)
def reduce(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_fragment((64, 32), "float32")
            r = T.alloc_fragment((64,), "float32")
            T.reduce_sum(S, r, dim=1)
            T.reduce_max(S, r, dim=1, clear=False)
            T.reduce_absmax(S, r, dim=1)

    return main


@becomes(
    "scan block: 2048 x add float32, 10240 x shuffle float32; "
    "read S[64,32] tile, write S[64,32] tile; dim=1",
    "transpose block: ; read S[64,32] tile, write R[32,64] tile",
)
def scan_and_transpose(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 32), "float32")
            R = T.alloc_shared((32, 64), "float32")
            T.cumsum(S, dim=1)
            T.transpose(S, R)

    return main


@becomes(
    "atomic block: 2048 x add float32; read F[64,32] tile, atomic A[64,32] tile clipped",
    "atomic thread: 1 x add float32; atomic A[] thread",
    "atomic thread: 4 x add float32; read F4[4] thread, atomic A[4] thread",
    "atomic thread: 1 x max float32; atomic A[] thread",
)
def atomic(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=32):
            F = T.alloc_fragment((64, 32), "float32")
            F4 = T.alloc_shared((4,), "float32")
            tx = T.get_thread_binding()
            T.atomic_add(A, F)
            T.atomic_add(A[tx, 0], 1.0)
            T.atomic_addx4(A[tx, 0], F4[0])
            T.atomic_max(A[tx, 0], 1.0)

    return main


# The second block's later threads stand behind the end of the array and update nothing.
@becomes("atomic thread: 1 x add float32; atomic A[] thread")
def atomic_behind_the_end(T):
    @T.prim_func
    def main(A: T.Tensor((40,), "float32")):
        with T.Kernel(2, threads=32) as bx:
            T.atomic_add(A[bx * 32 + T.get_thread_binding()], 1.0)

    return main


@becomes("call thread: 1 x fast_tanh float32; ", "call thread: 1 x fast_exp2 float32; ")
def named_after_instructions(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=32):
            T.evaluate(T.call_extern("float32", "my::tanh_approx_f32", 1.0))
            T.evaluate(T.call_extern("float32", "ptx_ex2_approx", 1.0))

    return main


@becomes("sync thread: ; ", "call thread: 1 x unknown:mystery float32; ")
def nothing_and_unknown(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=32):
            T.sync_threads()
            T.evaluate(T.call_extern("float32", "mystery", 1.0))

    return main


@becomes(
    "store thread: ; write A[4] thread",
)
def wide_store(T):
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            T.stg128(A[tx, 0], T.broadcast(T.uint32(0), 4))

    return main


@becomes(
    "call thread: 4 x fma int8->int32; "
    "read a[4] thread, read b[4] thread, read c[] thread, write c[] thread",
)
def dot_product(T):
    @T.prim_func
    def main(A: T.Tensor((64, 4), "int8")):
        with T.Kernel(1, threads=32):
            a = T.alloc_local((4,), "int8")
            b = T.alloc_local((4,), "int8")
            c = T.alloc_local((1,), "int32")
            T.dp4a(a, b, c)

    return main


@becomes(
    "shuffle thread: 1 x shuffle float32; read own[] thread",
    "shuffle thread: 5 x shuffle float32, 5 x max float32; read own[] thread",
)
def exchange(T):
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            own = T.alloc_local((1,), "float32")
            T.evaluate(T.shfl_xor(own[0], 1))
            T.evaluate(T.warp_reduce_max(own[0]))

    return main


# The second block's copies begin behind the end of the array and read nothing.
@becomes("copy thread: ; read A[8] async, write A_s[8] async")
def asynchronous_behind_the_end(T):
    @T.prim_func
    def main(A: T.Tensor((256 + 40,), "float16")):
        with T.Kernel(2, threads=32) as bx:
            A_s = T.alloc_shared((256,), "float16")
            tx = T.get_thread_binding()
            T.ptx_cp_async(
                T.access_ptr(A_s[tx * 8], "w", 8), T.access_ptr(A[bx * 256 + tx * 8], "r", 8), 8
            )

    return main


@becomes(
    "annotate thread: ; ; register_request=divide",
    "annotate thread: ; ; register_request=keep",
    "annotate thread: ; ",
    "copy block: ; read A[64,64] tile clipped, write A_s[64,64] tile; may_use_tma=False",
    "gemm block: 262144 x mma float16->float32; read A_s[64,64] mma, read A_s[64,64] mma, "
    "read C_f[64,64] mma, write C_f[64,64] mma"
    "; m_n_k=(64, 64, 64); transposes=(False, True); policy=full_row; instruction=wgmma"
    "; is_asynchronous=True",
    "sync thread: ; ; kind=wgmma",
)
def hopper(T):
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "float16")
            C_f = T.alloc_fragment((64, 64), "float32")
            T.set_max_nreg(240, 1)
            T.no_set_max_nreg()
            T.annotate_producer_reg_dealloc(24)
            T.copy(A, A_s, disable_tma=True)
            T.wgmma_gemm(A_s, A_s, C_f, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
            T.wait_wgmma(0)

    return main


# Each operand is evaluated once: the key is read for the address of the update, and for its value.
@becomes(
    "atomic thread: 1 x bitwise int32, 1 x add int32; read X[] thread, atomic S[] thread",
    "atomic thread: 1 x max int32; read X[] thread, read X[] thread, atomic G[] thread",
    "atomic thread: 1 x bitwise int32; read X[] thread, atomic G[] thread",
    "atomic thread: ; read X[] thread, read G[] thread",
    "atomic thread: ; read X[] thread, write G[] thread",
    "atomic thread: 2 x add float16; read X[] thread, read h[2] thread, atomic H[2] thread",
)
def keys_in_addresses_of_atomics(T):
    @T.prim_func
    def main(
        X: T.Tensor((64,), "int32"), G: T.Tensor((64,), "int32"), H: T.Tensor((64, 2), "float16")
    ):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            S = T.alloc_shared((64,), "int32")
            h = T.alloc_local((2,), "float16")
            T.atomic_add(S[X[t] & 15], 1)
            T.atomic_max(G[X[t]], X[t + 1])
            T.atomic_or(G[X[t]], 1)
            T.evaluate(T.atomic_load(G[X[t]]))
            T.atomic_store(G[X[t]], 1)
            T.atomic_addx2(H[X[t], 0], h[0])

    return main


@becomes(
    "load thread: ; read X[] thread, read A[4] thread",
    "store thread: ; read X[] thread, read X[] thread, read A[4] thread, write A[4] thread",
    "load thread: ; read X[] thread, read A[] thread; read_only=True",
    "copy thread: ; read X[] thread, read A[4] async, write S[4] async",
    "let block: ; read X[] thread",
    "copy block: ; read A[16] tile clipped, write S[16] tile",
)
def keys_in_addresses_of_loads(T):
    @T.prim_func
    def main(X: T.Tensor((64,), "int32"), A: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            S = T.alloc_shared((64,), "float32")
            T.evaluate(T.ldg128(A[X[t]]))
            T.stg128(A[X[t]], T.ldg128(A[X[t]]))
            T.evaluate(T.__ldg(A[X[t]]))
            T.ptx_cp_async(T.access_ptr(S[t], "w", 4), T.access_ptr(A[X[t]], "r", 4), 4)
            T.copy(A[X[0]], S[0:16])

    return main


@becomes("call thread: 1 x unknown:mystery handle; read X[] thread, read X[] thread")
def keys_in_addresses_of_arguments(T):
    @T.prim_func
    def main(X: T.Tensor((64,), "int32"), A: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            T.call_extern("handle", "mystery", T.address_of(A[X[t]]), T.access_ptr(A[X[t]], "r"))

    return main
