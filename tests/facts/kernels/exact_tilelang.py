"""Kernels of tilelang whose work is known by formula."""

import tilelang.language as T


@T.prim_func
def split_k(
    A: T.Tensor((256, 1024), "float16"),
    B: T.Tensor((1024, 128), "float16"),
    C: T.Tensor((256, 128), "float32"),
):
    with T.Kernel(2, 2, 4, threads=128) as (bx, by, bz):
        A_s = T.alloc_shared((128, 32), "float16")
        B_s = T.alloc_shared((32, 64), "float16")
        C_f = T.alloc_fragment((128, 64), "float32")
        T.clear(C_f)
        for k in T.Pipelined(8, num_stages=2):
            T.copy(A[by * 128, bz * 256 + k * 32], A_s)
            T.copy(B[bz * 256 + k * 32, bx * 64], B_s)
            T.gemm(A_s, B_s, C_f)
        for i, j in T.Parallel(128, 64):
            T.atomic_add(C[by * 128 + i, bx * 64 + j], C_f[i, j])


@T.prim_func
def causal(
    Q: T.Tensor((512, 64), "float16"),
    K: T.Tensor((512, 64), "float16"),
    S: T.Tensor((512, 512), "float32"),
):
    with T.Kernel(4, threads=128) as bx:
        Q_s = T.alloc_shared((128, 64), "float16")
        K_s = T.alloc_shared((64, 64), "float16")
        S_f = T.alloc_fragment((128, 64), "float32")
        T.copy(Q[bx * 128, 0], Q_s)
        for k in T.Pipelined((bx + 1) * 2, num_stages=2):
            T.copy(K[k * 64, 0], K_s)
            T.clear(S_f)
            T.gemm(Q_s, K_s, S_f, transpose_B=True)
            T.copy(S_f, S[bx * 128, k * 64])


@T.prim_func
def tail(A: T.Tensor((1000, 100), "float32"), B: T.Tensor((1000, 100), "float32")):
    with T.Kernel(2, 16, threads=128) as (bx, by):
        tile = T.alloc_shared((64, 64), "float32")
        T.copy(A[by * 64, bx * 64], tile)
        T.copy(tile, B[by * 64, bx * 64])


@T.prim_func
def softmax(A: T.Tensor((40, 100), "float32"), B: T.Tensor((40, 100), "float32")):
    """Rows of 100 in tiles of 128, whose last 28 elements are minus infinity."""
    with T.Kernel(T.ceildiv(40, 16), threads=128) as b:
        F = T.alloc_fragment((16, 128), "float32")
        m = T.alloc_fragment((16,), "float32")
        s = T.alloc_fragment((16,), "float32")
        for i, j in T.Parallel(16, 128):
            F[i, j] = T.if_then_else(j < 100, A[b * 16 + i, j], -T.infinity("float32"))
        T.reduce_max(F, m, dim=1, clear=True)
        for i, j in T.Parallel(16, 128):
            F[i, j] = T.exp(F[i, j] - m[i])
        T.reduce_sum(F, s, dim=1)
        for i, j in T.Parallel(16, 128):
            if j < 100:
                B[b * 16 + i, j] = F[i, j] / s[i]


@T.prim_func
def own_counter(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
    """A loop over what each thread counts for itself."""
    with T.Kernel(4, threads=32) as b:
        i = T.alloc_var("int32")
        i = T.get_thread_binding()
        while i < 256:
            B[b * 256 + i] = A[b * 256 + i] * 3.0
            i = i + 32


@T.prim_func
def split_k_atomic(
    A: T.Tensor((100, 512), "float16"),
    B: T.Tensor((70, 512), "float16"),
    C: T.Tensor((100, 70), "float32"),
):
    """Tiles of 32 over 100 x 70, whose sums are added element by element."""
    with T.Kernel(T.ceildiv(70, 32), T.ceildiv(100, 32), 4, threads=64) as (bx, by, bz):
        As = T.alloc_shared((32, 64), "float16")
        Bs = T.alloc_shared((32, 64), "float16")
        Cl = T.alloc_fragment((32, 32), "float32")
        T.clear(Cl)
        for k in T.Pipelined(2, num_stages=1):
            T.copy(A[by * 32, bz * 128 + k * 64], As)
            T.copy(B[bx * 32, bz * 128 + k * 64], Bs)
            T.gemm(As, Bs, Cl, transpose_B=True)
        for i, j in T.Parallel(32, 32):
            if by * 32 + i < 100 and bx * 32 + j < 70:
                T.atomic_add(C[by * 32 + i, bx * 32 + j], Cl[i, j])


@T.prim_func
def triangle(A: T.Tensor((96, 96), "float16"), L: T.Tensor((96, 96), "float32")):
    """Tiles on and below the diagonal, found from one number."""
    with T.Kernel(3, 3, threads=128) as (bx, by):
        As = T.alloc_shared((32, 32), "float16")
        Bs = T.alloc_shared((32, 32), "float16")
        Cl = T.alloc_fragment((32, 32), "float32")
        if bx <= by:
            T.clear(Cl)
            for k in T.Pipelined(by + 1, num_stages=2):
                T.copy(A[by * 32, k * 32], As)
                T.copy(A[bx * 32, k * 32], Bs)
                T.gemm(As, Bs, Cl, transpose_B=True)
            for i, j in T.Parallel(32, 32):
                if bx * 32 + j <= by * 32 + i:
                    L[by * 32 + i, bx * 32 + j] = Cl[i, j]


@T.prim_func
def persistent(
    A: T.Tensor((300, 128), "float16"),
    B: T.Tensor((128, 200), "float16"),
    C: T.Tensor((300, 200), "float32"),
):
    """5 x 4 tiles of 64, to 7 blocks in turn."""
    with T.Kernel(7, threads=128) as b:
        As = T.alloc_shared((64, 32), "float16")
        Bs = T.alloc_shared((32, 64), "float16")
        Cl = T.alloc_fragment((64, 64), "float32")
        for w in T.serial(T.ceildiv(20, 7)):
            tile = w * 7 + b
            if tile < 20:
                by = tile // 4
                bx = tile % 4
                T.clear(Cl)
                for k in T.Pipelined(4, num_stages=2):
                    T.copy(A[by * 64, k * 32], As)
                    T.copy(B[k * 32, bx * 64], Bs)
                    T.gemm(As, Bs, Cl)
                T.copy(Cl, C[by * 64, bx * 64])


@T.prim_func
def halo(A: T.Tensor((40, 40), "float32"), B: T.Tensor((40, 40), "float32")):
    """Tiles of 18 x 18 around 16 x 16, partly outside."""
    with T.Kernel(3, 3, threads=128) as (bx, by):
        S = T.alloc_shared((18, 18), "float32")
        for i, j in T.Parallel(18, 18):
            y = by * 16 + i - 1
            x = bx * 16 + j - 1
            S[i, j] = T.if_then_else(y >= 0 and y < 40 and x >= 0 and x < 40, A[y, x], 0.0)
        for i, j in T.Parallel(16, 16):
            if by * 16 + i < 40 and bx * 16 + j < 40:
                B[by * 16 + i, bx * 16 + j] = (
                    S[i, j] + S[i + 2, j] + S[i, j + 2] + S[i + 2, j + 2] - 4.0 * S[i + 1, j + 1]
                )


@T.prim_func
def tree(A: T.Tensor((512,), "float32"), B: T.Tensor((4,), "float32")):
    """A sum in shared memory, by halves."""
    with T.Kernel(4, threads=128) as b:
        t = T.get_thread_binding()
        S = T.alloc_shared((128,), "float32")
        S[t] = A[b * 128 + t]
        T.sync_threads()
        for s in T.serial(7):
            if t < T.shift_right(64, s):
                S[t] = S[t] + S[t + T.shift_right(64, s)]
            T.sync_threads()
        if t == 0:
            B[b] = S[0]


@T.prim_func
def flash(
    Q: T.Tensor((1, 80, 2, 32), "float16"),
    K: T.Tensor((1, 80, 2, 32), "float16"),
    V: T.Tensor((1, 80, 2, 32), "float16"),
    Out: T.Tensor((1, 80, 2, 32), "float16"),
):
    """Causal attention over 80 tokens in tiles of 32 queries and 16 keys."""
    with T.Kernel(T.ceildiv(80, 32), 2, 1, threads=64) as (bx, by, bz):
        Qs = T.alloc_shared((32, 32), "float16")
        Ks = T.alloc_shared((16, 32), "float16")
        Vs = T.alloc_shared((16, 32), "float16")
        a = T.alloc_fragment((32, 16), "float32")
        ac = T.alloc_fragment((32, 16), "float16")
        o = T.alloc_fragment((32, 32), "float32")
        mx = T.alloc_fragment((32,), "float32")
        mp = T.alloc_fragment((32,), "float32")
        sc = T.alloc_fragment((32,), "float32")
        sm = T.alloc_fragment((32,), "float32")
        ls = T.alloc_fragment((32,), "float32")
        T.copy(Q[bz, bx * 32 : bx * 32 + 32, by, :], Qs)
        T.fill(o, 0)
        T.fill(ls, 0)
        T.fill(mx, -T.infinity("float32"))
        for k in T.Pipelined(T.min(T.ceildiv(80, 16), T.ceildiv((bx + 1) * 32, 16)), num_stages=1):
            T.copy(K[bz, k * 16 : k * 16 + 16, by, :], Ks)
            for i, j in T.Parallel(32, 16):
                a[i, j] = T.if_then_else(bx * 32 + i >= k * 16 + j, 0, -T.infinity("float32"))
            T.gemm(Qs, Ks, a, transpose_B=True)
            T.copy(mx, mp)
            T.reduce_max(a, mx, dim=1, clear=False)
            for i in T.Parallel(32):
                sc[i] = T.exp2(mp[i] * 0.5 - mx[i] * 0.5)
            for i, j in T.Parallel(32, 16):
                a[i, j] = T.exp2(a[i, j] * 0.5 - mx[i] * 0.5)
            T.reduce_sum(a, sm, dim=1)
            for i in T.Parallel(32):
                ls[i] = ls[i] * sc[i] + sm[i]
            T.copy(a, ac)
            for i, j in T.Parallel(32, 32):
                o[i, j] *= sc[i]
            T.copy(V[bz, k * 16 : k * 16 + 16, by, :], Vs)
            T.gemm(ac, Vs, o)
        for i, j in T.Parallel(32, 32):
            o[i, j] /= ls[i]
        T.copy(o, Out[bz, bx * 32 : bx * 32 + 32, by, :])


@T.prim_func
def unpack_int4(
    A: T.Tensor((64, 32), "uint8"), S: T.Tensor((64,), "float16"), B: T.Tensor((64, 64), "float16")
):
    """Two numbers in a byte, with a scale for each row."""
    with T.Kernel(4, threads=128) as b:
        for i, j in T.Parallel(16, 64):
            B[b * 16 + i, j] = (
                T.cast(
                    (A[b * 16 + i, j // 2] >> T.cast((j % 2) * 4, "uint8")) & T.uint8(15), "float16"
                )
                * S[b * 16 + i]
            )


@T.prim_func
def early_blocks(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    """Blocks that do different work, some with half of their threads."""
    with T.Kernel(8, threads=32) as b:
        t = T.get_thread_binding()
        if b < 2:
            B[b * 32 + t] = A[b * 32 + t]
        elif b < 5:
            B[(b - 2) * 8 + t // 4] = A[t] + 1.0
        else:
            if t % 2 == 0:
                T.atomic_add(B[t], A[t + 1])
