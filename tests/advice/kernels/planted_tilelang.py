"""Kernels with a planted defect, and the same kernels without: `NAME(False)` and `NAME(True)`."""

import tilelang.language as T


def transpose_by_parallel(mended, size=8192):
    """A transpose whose stores go down the columns; the lanes could take tiles along rows."""

    @T.prim_func
    def main(A: T.Tensor((size, size), "float32"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(size // 32, size // 32, threads=256) as (bx, by):
            if mended:
                tile = T.alloc_shared((32, 33), "float32")
                for i, j in T.Parallel(32, 32):
                    tile[i, j] = A[by * 32 + i, bx * 32 + j]
                for i, j in T.Parallel(32, 32):
                    B[bx * 32 + i, by * 32 + j] = tile[j, i]
            else:
                for i, j in T.Parallel(32, 32):
                    B[bx * 32 + j, by * 32 + i] = A[by * 32 + i, bx * 32 + j]

    return main


def transpose_by_thread(mended, size=8192):
    """The same by threads, which go along the rows of the result."""

    @T.prim_func
    def main(A: T.Tensor((size, size), "float32"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(size // 32, size // 32, threads=256) as (bx, by):
            t = T.get_thread_binding()
            if mended:
                tile = T.alloc_shared((32, 33), "float32")
                for r in T.serial(4):
                    tile[t // 32 + r * 8, t % 32] = A[bx * 32 + t // 32 + r * 8, by * 32 + t % 32]
                T.sync_threads()
                for r in T.serial(4):
                    B[by * 32 + t // 32 + r * 8, bx * 32 + t % 32] = tile[t % 32, t // 32 + r * 8]
            else:
                for r in T.serial(4):
                    B[by * 32 + t // 32 + r * 8, bx * 32 + t % 32] = A[
                        bx * 32 + t % 32, by * 32 + t // 32 + r * 8
                    ]

    return main


def rows_of_lanes(mended, rows=65536, columns=1024):
    """Each thread scales one row; neighbouring threads could go along a row."""

    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows // 256, threads=256) as bx:
            t = T.get_thread_binding()
            if mended:
                for r, k in T.grid(256, columns // 256):
                    Y[bx * 256 + r, k * 256 + t] = X[bx * 256 + r, k * 256 + t] * 2.0
            else:
                for k in T.serial(columns):
                    Y[bx * 256 + t, k] = X[bx * 256 + t, k] * 2.0

    return main


def chunks_of_lanes(mended, size=1 << 26):
    """Each thread copies 64 neighbouring elements one by one."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(size // 16384, threads=256) as bx:
            t = T.get_thread_binding()
            for k in T.serial(64):
                if mended:
                    Y[bx * 16384 + k * 256 + t] = X[bx * 16384 + k * 256 + t]
                else:
                    Y[bx * 16384 + t * 64 + k] = X[bx * 16384 + t * 64 + k]

    return main


def scalar_sum(mended, size=1 << 26):
    """Each thread adds one element of two arrays, or eight."""
    width = 8 if mended else 1

    @T.prim_func
    def main(
        X: T.Tensor((size,), "float16"),
        Y: T.Tensor((size,), "float16"),
        Z: T.Tensor((size,), "float16"),
    ):
        with T.Kernel(size // 256 // width, threads=256) as bx:
            i = (bx * 256 + T.get_thread_binding()) * width
            for v in T.vectorized(width):
                Z[i + v] = X[i + v] + Y[i + v]

    return main


def scalar_elements(mended, size=1 << 26):
    """Each thread copies eight neighbouring elements in a serial loop."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float16"), Y: T.Tensor((size,), "float16")):
        with T.Kernel(size // 2048, threads=256) as bx:
            t = T.get_thread_binding()
            if mended:
                for v in T.vectorized(8):
                    Y[bx * 2048 + t * 8 + v] = X[bx * 2048 + t * 8 + v] * T.float16(2)
            else:
                for v in T.serial(8):
                    Y[bx * 2048 + t * 8 + v] = X[bx * 2048 + t * 8 + v] * T.float16(2)

    return main


def small_tiles(mended, size=4096):
    """A product with tiles of 32 x 32, or 128 x 128."""
    tile = 128 if mended else 32

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(size // tile, size // tile, threads=128) as (bx, by):
            A_shared = T.alloc_shared((tile, 32), "float16")
            B_shared = T.alloc_shared((32, tile), "float16")
            C_local = T.alloc_fragment((tile, tile), "float32")
            T.clear(C_local)
            for k in T.Pipelined(size // 32, num_stages=3):
                T.copy(A[by * tile, k * 32], A_shared)
                T.copy(B[k * 32, bx * tile], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * tile, bx * tile])

    return main


def shallow_tiles(mended, size=4096):
    """A product with tiles that are 16 deep, or 64 with as many threads as that takes."""
    deep, threads = (64, 256) if mended else (16, 128)

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(size // 128, size // 128, threads=threads) as (bx, by):
            A_shared = T.alloc_shared((128, deep), "float16")
            B_shared = T.alloc_shared((128, deep), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(size // deep, num_stages=3):
                T.copy(A[by * 128, k * deep], A_shared)
                T.copy(B[bx * 128, k * deep], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * 128, bx * 128])

    return main


def one_address(mended, size=1 << 24):
    """A sum by atomic additions of all threads to one element, or of one thread of a block."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), S: T.Tensor((1,), "float32")):
        with T.Kernel(size // 4096, threads=256) as bx:
            if mended:
                part = T.alloc_fragment((4096,), "float32")
                total = T.alloc_fragment((1,), "float32")
                T.copy(X[bx * 4096], part)
                T.reduce_sum(part, total, dim=0)
                if T.get_thread_binding() == 0:
                    T.atomic_add(S[0], total[0])
            else:
                for i in T.Parallel(4096):
                    T.atomic_add(S[0], X[bx * 4096 + i])

    return main


def one_counter(mended, size=1 << 24):
    """The same by threads: each adds what it has seen."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), S: T.Tensor((1,), "float32")):
        with T.Kernel(size // 4096, threads=256) as bx:
            t = T.get_thread_binding()
            total = T.alloc_local((1,), "float32")
            total[0] = 0.0
            for k in T.serial(16):
                if mended:
                    total[0] += X[bx * 4096 + k * 256 + t]
                else:
                    T.atomic_add(S[0], X[bx * 4096 + k * 256 + t])
            if mended:
                total[0] = T.warp_reduce_sum(total[0])
                if t % 32 == 0:
                    T.atomic_add(S[0], total[0])

    return main


def counter_of_hits(mended, size=1 << 24):
    """A number of elements by an atomic addition for each, or for each warp."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), S: T.Tensor((1,), "int32")):
        with T.Kernel(size // 1024, threads=256) as bx:
            t = T.get_thread_binding()
            hits = T.alloc_local((1,), "int32")
            hits[0] = 0
            for k in T.serial(4):
                if X[bx * 1024 + k * 256 + t] > 0.5:
                    if mended:
                        hits[0] += 1
                    else:
                        T.atomic_add(S[0], 1)
            if mended:
                hits[0] = T.warp_reduce_sum(hits[0])
                if t % 32 == 0:
                    T.atomic_add(S[0], hits[0])

    return main


def halves_of_warps(mended, size=1 << 22):
    """Odd and even lanes do different work, or odd and even warps."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(size // 256, threads=256) as bx:
            t = T.get_thread_binding()
            x = T.alloc_local((1,), "float32")
            x[0] = X[bx * 256 + t]
            if (t // 32 if mended else t) % 2 == 0:
                for _ in T.serial(256):
                    x[0] = T.sin(x[0])
            else:
                for _ in T.serial(256):
                    x[0] = T.exp(x[0])
            Y[bx * 256 + t] = x[0]

    return main


def one_lane(mended, size=1 << 22):
    """One lane of each warp has a loop whose iterations all lanes could share."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), Y: T.Tensor((size // 32,), "float32")):
        with T.Kernel(size // 256 // 32, threads=256) as bx:
            t = T.get_thread_binding()
            x = T.alloc_local((1,), "float32")
            x[0] = 0.0
            if mended:
                for k in T.serial(32):
                    x[0] += X[bx * 8192 + t // 32 * 1024 + k * 32 + t % 32]
                x[0] = T.warp_reduce_sum(x[0])
            if t % 32 == 0:
                if not mended:
                    for k in T.serial(1024):
                        x[0] += X[bx * 8192 + t // 32 * 1024 + k]
                Y[bx * 8 + t // 32] = x[0]

    return main


def two_threads(mended, size=1 << 24):
    """Two of 256 threads copy the tile of their block, or all."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(size // 4096, threads=256) as bx:
            t = T.get_thread_binding()
            if mended:
                for k in T.serial(16):
                    Y[bx * 4096 + k * 256 + t] = X[bx * 4096 + k * 256 + t]
            elif t < 2:
                for k in T.serial(2048):
                    Y[bx * 4096 + k * 2 + t] = X[bx * 4096 + k * 2 + t]

    return main


def every_thread(mended, size=1 << 24):
    """All threads of a block copy the same elements, or each its own."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(size // 4096, threads=256) as bx:
            t = T.get_thread_binding()
            if mended:
                for k in T.serial(16):
                    Y[bx * 4096 + k * 256 + t] = X[bx * 4096 + k * 256 + t]
            else:
                for k in T.serial(4096):
                    Y[bx * 4096 + k] = X[bx * 4096 + k]

    return main


def einsum(mended, size=2048):
    """A product by loops over arrays of global memory, or tiles and their product."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // 64, size // 64, threads=128) as (bx, by):
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            if mended:
                As = T.alloc_shared((64, 32), "float16")
                Bs = T.alloc_shared((32, 64), "float16")
                for k in T.Pipelined(size // 32, num_stages=2):
                    T.copy(A[by * 64, k * 32], As)
                    T.copy(B[k * 32, bx * 64], Bs)
                    T.gemm(As, Bs, Cl)
            else:
                for k in T.serial(size):
                    for i, j in T.Parallel(64, 64):
                        Cl[i, j] += T.cast(A[by * 64 + i, k], "float32") * T.cast(
                            B[k, bx * 64 + j], "float32"
                        )
            T.copy(Cl, C[by * 64, bx * 64])

    return main


def batched_einsum(mended, batch=16, size=1024):
    """``bik,bkj->bij`` by one thread an element, or tiles and their product."""

    @T.prim_func
    def main(
        A: T.Tensor((batch, size, size), "float16"),
        B: T.Tensor((batch, size, size), "float16"),
        C: T.Tensor((batch, size, size), "float32"),
    ):
        with T.Kernel(size // 64, size // 64, batch, threads=128) as (bx, by, b):
            if mended:
                Cl = T.alloc_fragment((64, 64), "float32")
                As = T.alloc_shared((64, 32), "float16")
                Bs = T.alloc_shared((32, 64), "float16")
                T.clear(Cl)
                for k in T.Pipelined(size // 32, num_stages=2):
                    T.copy(A[b, by * 64, k * 32], As)
                    T.copy(B[b, k * 32, bx * 64], Bs)
                    T.gemm(As, Bs, Cl)
                T.copy(Cl, C[b, by * 64, bx * 64])
            else:
                for i, j in T.Parallel(64, 64):
                    C[b, by * 64 + i, bx * 64 + j] = 0.0
                    for k in T.serial(size):
                        C[b, by * 64 + i, bx * 64 + j] += T.cast(
                            A[b, by * 64 + i, k], "float32"
                        ) * T.cast(B[b, k, bx * 64 + j], "float32")

    return main


def conflicts(mended, size=8192):
    """A tile of shared memory that is read along its columns, with rows of 64 or 65 elements."""

    @T.prim_func
    def main(A: T.Tensor((size, size), "float32"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(size // 64, size // 64, threads=256) as (bx, by):
            tile = T.alloc_shared((64, 65 if mended else 64), "float32")
            for i, j in T.Parallel(64, 64):
                tile[i, j] = A[by * 64 + i, bx * 64 + j]
            for i, j in T.Parallel(64, 64):
                B[bx * 64 + i, by * 64 + j] = tile[j, i]

    return main


def serial_loads(mended, size=4096):
    """A product that waits for its tiles, or loads those of later iterations."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(size // 128, size // 128, threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 64), "float16")
            B_shared = T.alloc_shared((64, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(size // 64, num_stages=4 if mended else 0):
                T.copy(A[by * 128, k * 64], A_shared)
                T.copy(B[k * 64, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 128])

    return main


def few_blocks(mended, rows=256, depth=131072):
    """A product of few rows and columns, whose depth one block each adds up, or eight."""
    parts = 8 if mended else 1
    share = depth // parts

    @T.prim_func
    def main(
        A: T.Tensor((rows, depth), "float16"),
        B: T.Tensor((rows, depth), "float16"),
        C: T.Tensor((rows, rows), "float32"),
    ):
        with T.Kernel(rows // 64, rows // 64, parts, threads=128) as (bx, by, bz):
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for k in T.Pipelined(share // 64, num_stages=3):
                T.copy(A[by * 64, bz * share + k * 64], As)
                T.copy(B[bx * 64, bz * share + k * 64], Bs)
                T.gemm(As, Bs, Cl, transpose_B=True)
            if mended:
                T.atomic_add(C[by * 64, bx * 64], Cl)
            else:
                T.copy(Cl, C[by * 64, bx * 64])

    return main


def few_elements(mended, size=1 << 26):
    """Blocks of one warp with one element a thread, or of 256 threads with 2048 elements."""
    tile, threads = (2048, 256) if mended else (32, 32)

    @T.prim_func
    def main(X: T.Tensor((size,), "float16"), Y: T.Tensor((size,), "float16")):
        with T.Kernel(size // tile, threads=threads) as bx:
            for i in T.Parallel(tile):
                Y[bx * tile + i] = X[bx * tile + i] * T.float16(2)

    return main


def rows_of_every_thread(mended, rows=8192, columns=4096):
    """All threads of a block sum the same row, or a part of it each."""

    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=256) as bx:
            t = T.get_thread_binding()
            total = T.alloc_local((1,), "float32")
            parts = T.alloc_shared((8,), "float32")
            total[0] = 0.0
            if mended:
                for k in T.serial(columns // 256):
                    total[0] += X[bx, k * 256 + t]
                total[0] = T.warp_reduce_sum(total[0])
                if t % 32 == 0:
                    parts[t // 32] = total[0]
                T.sync_threads()
                if t == 0:
                    for w in T.serial(8):
                        total[0] += parts[w]
                    Y[bx] = total[0]
            else:
                for k in T.serial(columns):
                    total[0] += X[bx, k]
                Y[bx] = total[0]

    return main


def einsum_of_rows(mended, size=2048):
    """``ik,jk->ij`` with a sum in a register for each element, or tiles and their product."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "bfloat16"),
        B: T.Tensor((size, size), "bfloat16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // 64, size // 64, threads=128) as (bx, by):
            if mended:
                Cl = T.alloc_fragment((64, 64), "float32")
                As = T.alloc_shared((64, 32), "bfloat16")
                Bs = T.alloc_shared((64, 32), "bfloat16")
                T.clear(Cl)
                for k in T.Pipelined(size // 32, num_stages=2):
                    T.copy(A[by * 64, k * 32], As)
                    T.copy(B[bx * 64, k * 32], Bs)
                    T.gemm(As, Bs, Cl, transpose_B=True)
                T.copy(Cl, C[by * 64, bx * 64])
            else:
                for i, j in T.Parallel(64, 64):
                    total = T.alloc_local((1,), "float32")
                    total[0] = 0.0
                    for k in T.serial(size):
                        total[0] += T.cast(A[by * 64 + i, k], "float32") * T.cast(
                            B[bx * 64 + j, k], "float32"
                        )
                    C[by * 64 + i, bx * 64 + j] = total[0]

    return main


def einsum_of_threads(mended, size=2048):
    """A product with a thread for each element, or tiles and their product."""
    tile, threads = (64, (128, 1)) if mended else (16, (16, 16))

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // tile, size // tile, threads=threads) as (bx, by):
            if mended:
                Cl = T.alloc_fragment((64, 64), "float32")
                As = T.alloc_shared((64, 32), "float16")
                Bs = T.alloc_shared((32, 64), "float16")
                T.clear(Cl)
                for k in T.Pipelined(size // 32, num_stages=2):
                    T.copy(A[by * 64, k * 32], As)
                    T.copy(B[k * 32, bx * 64], Bs)
                    T.gemm(As, Bs, Cl)
                T.copy(Cl, C[by * 64, bx * 64])
            else:
                tx = T.get_thread_binding(0)
                ty = T.get_thread_binding(1)
                total = T.alloc_local((1,), "float32")
                total[0] = 0.0
                for k in T.serial(size):
                    total[0] += T.cast(A[by * 16 + ty, k], "float32") * T.cast(
                        B[k, bx * 16 + tx], "float32"
                    )
                C[by * 16 + ty, bx * 16 + tx] = total[0]

    return main


def small_squares(mended, size=8192):
    """Blocks of 8 x 8 elements, or of 32 x 32."""
    tile, threads = (32, 128) if mended else (8, 32)

    @T.prim_func
    def main(X: T.Tensor((size, size), "float16"), Y: T.Tensor((size, size), "float16")):
        with T.Kernel(size // tile, size // tile, threads=threads) as (bx, by):
            for i, j in T.Parallel(tile, tile):
                Y[by * tile + i, bx * tile + j] = X[by * tile + i, bx * tile + j] + T.float16(1)

    return main


def small_blocks_of_attention(mended, batch=32, length=4096, dim=128):
    """Attention with tiles of 16 rows and 16 keys, or of 128."""
    rows, keys = (128, 128) if mended else (16, 16)

    @T.prim_func
    def main(
        Q: T.Tensor((batch, length, dim), "float16"),
        K: T.Tensor((batch, length, dim), "float16"),
        V: T.Tensor((batch, length, dim), "float16"),
        Out: T.Tensor((batch, length, dim), "float16"),
    ):
        with T.Kernel(length // rows, batch, threads=256 if mended else 32) as (bx, by):
            Qs = T.alloc_shared((rows, dim), "float16")
            Ks = T.alloc_shared((keys, dim), "float16")
            Vs = T.alloc_shared((keys, dim), "float16")
            scores = T.alloc_fragment((rows, keys), "float32")
            weights = T.alloc_fragment((rows, keys), "float16")
            acc = T.alloc_fragment((rows, dim), "float32")
            most = T.alloc_fragment((rows,), "float32")
            most_before = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            added = T.alloc_fragment((rows,), "float32")
            T.copy(Q[by, bx * rows, 0], Qs)
            T.clear(acc)
            T.clear(total)
            T.fill(most, -T.infinity("float32"))
            for k in T.Pipelined(length // keys, num_stages=2):
                T.copy(K[by, k * keys, 0], Ks)
                T.clear(scores)
                T.gemm(Qs, Ks, scores, transpose_B=True)
                T.copy(most, most_before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i, j in T.Parallel(rows, keys):
                    scores[i, j] = T.exp2(scores[i, j] - most[i])
                T.reduce_sum(scores, added, dim=1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * T.exp2(most_before[i] - most[i]) + added[i]
                for i, j in T.Parallel(rows, dim):
                    acc[i, j] *= T.exp2(most_before[i] - most[i])
                T.copy(scores, weights)
                T.copy(V[by, k * keys, 0], Vs)
                T.gemm(weights, Vs, acc)
            for i, j in T.Parallel(rows, dim):
                acc[i, j] /= total[i]
            T.copy(acc, Out[by, bx * rows, 0])

    return main
