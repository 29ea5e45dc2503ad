"""Kernels whose arguments are what an advice would change."""

import tilelang.language as T


def product(threads, stages, panel=0, size=8192, columns=128):
    @T.prim_func
    def matmul(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(size // columns, size // 128, threads=threads) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, columns), "float16")
            C_local = T.alloc_fragment((128, columns), "float32")
            if panel:
                T.use_swizzle(panel)
            T.clear(C_local)
            for k in T.Pipelined(size // 32, num_stages=stages):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[k * 32, bx * columns], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * columns])

    return matmul


def scores(bounded, batch=16, length=4096, dim=128):
    @T.prim_func
    def attention(
        Q: T.Tensor((batch, length, dim), "float16"),
        K: T.Tensor((batch, length, dim), "float16"),
        Out: T.Tensor((batch, length, dim), "float32"),
    ):
        with T.Kernel(length // 128, batch, threads=256) as (bx, by):
            Q_shared = T.alloc_shared((128, dim), "float16")
            K_shared = T.alloc_shared((128, dim), "float16")
            P_shared = T.alloc_shared((128, 128), "float16")
            P = T.alloc_fragment((128, 128), "float32")
            acc = T.alloc_fragment((128, dim), "float32")
            T.clear(acc)
            T.copy(Q[by, bx * 128, 0], Q_shared)
            for k in T.Pipelined(bx + 1 if bounded else length // 128, num_stages=2):
                T.copy(K[by, k * 128, 0], K_shared)
                for i, j in T.Parallel(128, 128):
                    P[i, j] = T.if_then_else(bx * 128 + i >= k * 128 + j, 0, -T.infinity("float32"))
                T.gemm(Q_shared, K_shared, P, transpose_B=True)
                T.copy(P, P_shared)
                T.gemm(P_shared, K_shared, acc)
            T.copy(acc, Out[by, bx * 128, 0])

    return attention


def gemv(rows_first, rows=7168, depth=16384, tile=32, parts=8):
    """A product with a vector, neighbouring lanes along rows of the matrix or along its columns."""

    @T.prim_func
    def main(
        a: T.Tensor((depth,), "float16"),
        B: T.Tensor((rows, depth), "float16"),
        c: T.Tensor((rows,), "float16"),
    ):
        with T.Kernel(
            rows // tile, threads=(tile, parts) if rows_first else (parts, tile)
        ) as block:
            row = T.get_thread_binding(0 if rows_first else 1)
            part = T.get_thread_binding(1 if rows_first else 0)
            a_local = T.alloc_local((8,), "float16")
            b_local = T.alloc_local((8,), "float16")
            total = T.alloc_local((1,), "float32")
            sums = T.alloc_shared((tile, parts), "float32")
            T.clear(total)
            for k in T.serial(depth // (parts * 8)):
                for v in T.vectorized(8):
                    a_local[v] = a[(k * parts + part) * 8 + v]
                    b_local[v] = B[block * tile + row, (k * parts + part) * 8 + v]
                for v in T.serial(8):
                    total[0] += T.cast(a_local[v], "float32") * T.cast(b_local[v], "float32")
            sums[row, part] = total[0]
            T.sync_threads()
            if part == 0:
                total[0] = 0.0
                for r in T.serial(parts):
                    total[0] += sums[row, r]
                c[block * tile + row] = T.cast(total[0], "float16")

    return main


def doubled(lanes_down):
    """Each element times two, by threads that are divided into lanes of 32 and of 8."""

    @T.prim_func
    def main(A: T.Tensor((4096, 4096), "float32"), B: T.Tensor((4096, 4096), "float32")):
        with T.Kernel(128, 128, threads=256) as (bx, by):
            t = T.get_thread_binding()
            down = t % 32 if lanes_down else t // 8
            right = t // 32 if lanes_down else t % 8
            for r in T.serial(4):
                B[by * 32 + down, bx * 32 + right + r * 8] = (
                    A[by * 32 + down, bx * 32 + right + r * 8] * 2.0
                )

    return main


def records(fields_last, count=1 << 24):
    """Two of the eight fields of each record."""

    @T.prim_func
    def main(
        A: T.Tensor((count, 8) if fields_last else (8, count), "float32"),
        B: T.Tensor((count,), "float32"),
    ):
        with T.Kernel(count // 256, threads=256) as block:
            i = block * 256 + T.get_thread_binding()
            if fields_last:
                B[i] = A[i, 0] + A[i, 5]
            else:
                B[i] = A[0, i] + A[5, i]

    return main


def pooled(channels_last, batch=2, channels=64, side=112, tile=64, tile_c=32):
    """Sums of 3 x 3 elements with stride 2, the lanes along channels or along positions."""
    out = side // 2
    positions = batch * out * out
    extents = (tile, tile_c) if channels_last else (tile_c, tile)

    @T.prim_func
    def main(
        X: T.Tensor((batch, channels, side, side), "float16"),
        Y: T.Tensor((batch, channels, out, out), "float16"),
    ):
        with T.Kernel(T.ceildiv(positions, tile), T.ceildiv(channels, tile_c), threads=256) as (
            bx,
            by,
        ):
            acc = T.alloc_fragment(extents, "float32")
            T.clear(acc)
            for kh, kw in T.grid(3, 3):
                for i, j in T.Parallel(*extents):
                    m = bx * tile + (i if channels_last else j)
                    c = by * tile_c + (j if channels_last else i)
                    h = (m % (out * out)) // out * 2 + kh - 1
                    w = m % out * 2 + kw - 1
                    if h >= 0 and h < side and w >= 0 and w < side:
                        acc[i, j] += T.cast(X[m // (out * out), c, h, w], "float32")
            for i, j in T.Parallel(*extents):
                m = bx * tile + (i if channels_last else j)
                c = by * tile_c + (j if channels_last else i)
                Y[m // (out * out), c, m % (out * out) // out, m % out] = T.cast(
                    acc[i, j] / 9.0, "float16"
                )

    return main


def columns(down, size=8192):
    """Each element times two, the last parallel loop along a column or along a row."""

    @T.prim_func
    def main(A: T.Tensor((size, size), "float32"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(size // 64, size // 64, threads=256) as (bx, by):
            if down:
                for i, j in T.Parallel(64, 64):
                    B[by * 64 + j, bx * 64 + i] = A[by * 64 + j, bx * 64 + i] * 2.0
            else:
                for j, i in T.Parallel(64, 64):
                    B[by * 64 + j, bx * 64 + i] = A[by * 64 + j, bx * 64 + i] * 2.0

    return main


def split_product(parts, rows=1024, depth=159744, atomic=None):
    """A product split along its depth; the blocks of one part store, or update by atomics too."""
    tile_m, tile_n, tile_k = 256, 128, 64
    share = depth // parts

    @T.prim_func
    def main(
        A: T.Tensor((rows, depth), "bfloat16"),
        B: T.Tensor((rows, depth), "bfloat16"),
        C: T.Tensor((rows, rows), "float32"),
    ):
        with T.Kernel(rows // tile_n, rows // tile_m, parts, threads=256) as (bx, by, bz):
            A_shared = T.alloc_shared((tile_m, tile_k), "bfloat16")
            B_shared = T.alloc_shared((tile_n, tile_k), "bfloat16")
            C_local = T.alloc_fragment((tile_m, tile_n), "float32")
            T.clear(C_local)
            for k in T.Pipelined(share // tile_k, num_stages=2):
                T.copy(A[by * tile_m, bz * share + k * tile_k], A_shared)
                T.copy(B[bx * tile_n, bz * share + k * tile_k], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            if parts > 1 or atomic:
                for i, j in T.Parallel(tile_m, tile_n):
                    T.atomic_add(C[by * tile_m + i, bx * tile_n + j], C_local[i, j])
            else:
                T.copy(C_local, C[by * tile_m, bx * tile_n])

    return main


def update(index, size=1 << 24):
    """An element a thread, stored or added to the element at an index of the thread."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(size // 256, threads=256) as bx:
            i = bx * 256 + T.get_thread_binding()
            if index == "store":
                Y[i] = X[i]
            elif index == "own":
                T.atomic_add(Y[i], X[i])
            elif index == "pairs":
                T.atomic_add(Y[i // 2], X[i])
            elif index == "maximum":
                T.atomic_max(Y[i], X[i])
            else:
                T.atomic_add(Y[i], X[i])
                T.atomic_add(Y[(i + 1) % size], X[i])

    return main


def tiles(spelling, threads=256, size=2048):
    """A product of tiles in shared memory, as one operation or as loops in several spellings."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // 64, size // 64, threads=threads) as (bx, by):
            As = T.alloc_shared((64, 32), "float16")
            Bs = T.alloc_shared((32, 64), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for k in T.Pipelined(size // 32, num_stages=2):
                T.copy(A[by * 64, k * 32], As)
                T.copy(B[k * 32, bx * 64], Bs)
                if spelling == "gemm":
                    T.gemm(As, Bs, Cl)
                elif spelling == "depth inside":
                    for i, j in T.Parallel(64, 64):
                        for kk in T.serial(32):
                            Cl[i, j] += As[i, kk] * Bs[kk, j]
                elif spelling == "depth outside":
                    for kk in T.serial(32):
                        for i, j in T.Parallel(64, 64):
                            Cl[i, j] += T.cast(As[i, kk], "float32") * T.cast(Bs[kk, j], "float32")
                else:
                    for kk in T.unroll(32):
                        for i, j in T.Parallel(64, 64):
                            Cl[i, j] = Bs[kk, j] * As[i, kk] + Cl[i, j]
            T.copy(Cl, C[by * 64, bx * 64])

    return main


def tiles_of_threads(in_registers, size=2048):
    """A product of tiles in shared memory, each thread with elements of the result of its own."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // 64, size // 64, threads=256) as (bx, by):
            As = T.alloc_shared((64, 32), "float16")
            Bs = T.alloc_shared((32, 64), "float16")
            t = T.get_thread_binding()
            a = T.alloc_local((4,), "float16")
            b = T.alloc_local((4,), "float16")
            sums = T.alloc_local((4, 4), "float32")
            T.clear(sums)
            for k in T.serial(size // 32):
                T.copy(A[by * 64, k * 32], As)
                T.copy(B[k * 32, bx * 64], Bs)
                for kk in T.serial(32):
                    if in_registers:
                        for i in T.serial(4):
                            a[i] = As[t // 16 * 4 + i, kk]
                        for j in T.serial(4):
                            b[j] = Bs[kk, t % 16 * 4 + j]
                        for i, j in T.grid(4, 4):
                            sums[i, j] += T.cast(a[i], "float32") * T.cast(b[j], "float32")
                    else:
                        for i, j in T.grid(4, 4):
                            sums[i, j] += As[t // 16 * 4 + i, kk] * Bs[kk, t % 16 * 4 + j]
            for i, j in T.grid(4, 4):
                C[by * 64 + t // 16 * 4 + i, bx * 64 + t % 16 * 4 + j] = sums[i, j]

    return main


def elementwise_products(size=2048):
    """Two tiles of the same shape, element by element: no product of matrices."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // 64, size // 64, threads=128) as (bx, by):
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for k in T.serial(size // 64):
                T.copy(A[by * 64, k * 64], As)
                T.copy(B[bx * 64, k * 64], Bs)
                for i, j in T.Parallel(64, 64):
                    Cl[i, j] += As[i, j] * Bs[i, j]
            T.copy(Cl, C[by * 64, bx * 64])

    return main


def copied_elements(width, size=1 << 26):
    """Each thread copies `width` neighbouring elements."""

    @T.prim_func
    def main(X: T.Tensor((size,), "float16"), Y: T.Tensor((size,), "float16")):
        with T.Kernel(size // 256 // width, threads=256) as bx:
            t = T.get_thread_binding()
            for v in T.vectorized(width):
                Y[(bx * 256 + t) * width + v] = X[(bx * 256 + t) * width + v]

    return main
