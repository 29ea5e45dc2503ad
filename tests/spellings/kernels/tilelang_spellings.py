"""The same kernels in several spellings: see `test_spellings.py`."""

import tilelang.language as T

F = "float32"
H = "float16"
M = N = K = 4096


def doubled(kind):
    n = 4096
    if kind == "par2":

        @T.prim_func
        def kernel(X: T.Tensor((n, n), F), Y: T.Tensor((n, n), F)):
            with T.Kernel(n // 32, n // 32, threads=256) as (bx, by):
                for i, j in T.Parallel(32, 32):
                    Y[by * 32 + i, bx * 32 + j] = X[by * 32 + i, bx * 32 + j] * 2.0

        return kernel
    if kind == "par1":

        @T.prim_func
        def kernel(X: T.Tensor((n, n), F), Y: T.Tensor((n, n), F)):
            with T.Kernel(n // 32, n // 32, threads=256) as (bx, by):
                for i in T.Parallel(1024):
                    Y[by * 32 + i // 32, bx * 32 + i % 32] = (
                        X[by * 32 + i // 32, bx * 32 + i % 32] * 2.0
                    )

        return kernel
    if kind == "flat":

        @T.prim_func
        def kernel(X: T.Tensor((n * n,), F), Y: T.Tensor((n * n,), F)):
            with T.Kernel(n // 32, n // 32, threads=256) as (bx, by):
                for i, j in T.Parallel(32, 32):
                    Y[(by * 32 + i) * n + bx * 32 + j] = X[(by * 32 + i) * n + bx * 32 + j] * 2.0

        return kernel
    if kind == "frag":

        @T.prim_func
        def kernel(X: T.Tensor((n, n), F), Y: T.Tensor((n, n), F)):
            with T.Kernel(n // 32, n // 32, threads=256) as (bx, by):
                f = T.alloc_fragment((32, 32), F)
                T.copy(X[by * 32, bx * 32], f)
                for i, j in T.Parallel(32, 32):
                    f[i, j] = f[i, j] * 2.0
                T.copy(f, Y[by * 32, bx * 32])

        return kernel
    if kind == "frag2":

        @T.prim_func
        def kernel(X: T.Tensor((n, n), F), Y: T.Tensor((n, n), F)):
            with T.Kernel(n // 32, n // 32, threads=256) as (bx, by):
                f = T.alloc_fragment((32, 32), F)
                for i, j in T.Parallel(32, 32):
                    f[i, j] = X[by * 32 + i, bx * 32 + j]
                for i, j in T.Parallel(32, 32):
                    f[i, j] = f[i, j] * 2.0
                for i, j in T.Parallel(32, 32):
                    Y[by * 32 + i, bx * 32 + j] = f[i, j]

        return kernel
    if kind == "g1":

        @T.prim_func
        def kernel(X: T.Tensor((n, n), F), Y: T.Tensor((n, n), F)):
            with T.Kernel((n // 32) * (n // 32), threads=256) as b:
                for i, j in T.Parallel(32, 32):
                    Y[b // 128 * 32 + i, b % 128 * 32 + j] = (
                        X[b // 128 * 32 + i, b % 128 * 32 + j] * 2.0
                    )

        return kernel
    if kind == "guard":

        @T.prim_func
        def kernel(X: T.Tensor((n, n), F), Y: T.Tensor((n, n), F)):
            with T.Kernel(T.ceildiv(n, 32), T.ceildiv(n, 32), threads=256) as (bx, by):
                for i, j in T.Parallel(32, 32):
                    if by * 32 + i < n and bx * 32 + j < n:
                        Y[by * 32 + i, bx * 32 + j] = X[by * 32 + i, bx * 32 + j] * 2.0

        return kernel
    if kind == "thread":

        @T.prim_func
        def kernel(X: T.Tensor((n, n), F), Y: T.Tensor((n, n), F)):
            with T.Kernel(n // 32, n // 32, threads=256) as (bx, by):
                t = T.get_thread_binding()
                for v in T.vectorized(4):
                    Y[by * 32 + t // 8, bx * 32 + t % 8 * 4 + v] = (
                        X[by * 32 + t // 8, bx * 32 + t % 8 * 4 + v] * 2.0
                    )

        return kernel
    raise ValueError(kind)


def product(kind):
    ta = kind == "tB"
    BS = (N, K) if ta else (K, N)
    bs = (128, 64) if ta else (64, 128)

    @T.prim_func
    def kernel(A: T.Tensor((M, K), H), B: T.Tensor(BS, H), C: T.Tensor((M, N), H)):
        with T.Kernel(N // 128, M // 128, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), H)
            Bs = T.alloc_shared(bs, H)
            acc = T.alloc_fragment((128, 128), "float")
            T.clear(acc)
            if kind == "par":
                for k in T.Pipelined(K // 64, num_stages=3):
                    for i, j in T.Parallel(128, 64):
                        As[i, j] = A[by * 128 + i, k * 64 + j]
                    for i, j in T.Parallel(64, 128):
                        Bs[i, j] = B[k * 64 + i, bx * 128 + j]
                    T.gemm(As, Bs, acc)
            elif kind == "region":
                for k in T.Pipelined(K // 64, num_stages=3):
                    T.copy(A[by * 128 : (by + 1) * 128, k * 64 : (k + 1) * 64], As)
                    T.copy(B[k * 64 : (k + 1) * 64, bx * 128 : (bx + 1) * 128], Bs)
                    T.gemm(As, Bs, acc)
            elif ta:
                for k in T.Pipelined(K // 64, num_stages=3):
                    T.copy(A[by * 128, k * 64], As)
                    T.copy(B[bx * 128, k * 64], Bs)
                    T.gemm(As, Bs, acc, transpose_B=True)
            elif kind == "serial":
                for k in T.serial(K // 64):
                    T.copy(A[by * 128, k * 64], As)
                    T.copy(B[k * 64, bx * 128], Bs)
                    T.gemm(As, Bs, acc)
            elif kind == "p0":
                for k in T.Pipelined(K // 64, num_stages=0):
                    T.copy(A[by * 128, k * 64], As)
                    T.copy(B[k * 64, bx * 128], Bs)
                    T.gemm(As, Bs, acc)
            else:
                for k in T.Pipelined(T.ceildiv(K, 64), num_stages=3):
                    T.copy(A[by * 128, k * 64], As)
                    T.copy(B[k * 64, bx * 128], Bs)
                    T.gemm(As, Bs, acc)
            if kind == "outsh":
                Cs = T.alloc_shared((128, 128), H)
                T.copy(acc, Cs)
                T.copy(Cs, C[by * 128, bx * 128])
            elif kind == "outpar":
                for i, j in T.Parallel(128, 128):
                    C[by * 128 + i, bx * 128 + j] = T.cast(acc[i, j], H)
            else:
                T.copy(acc, C[by * 128, bx * 128])

    return kernel


def row_sums(kind):
    @T.prim_func
    def kernel(X: T.Tensor((8192, 4096), F), Y: T.Tensor((8192,), F)):
        with T.Kernel(8192 // 4, threads=128) as b:
            f = T.alloc_fragment((4, 4096), F)
            s = T.alloc_fragment((4,), F)
            if kind == "copy":
                T.copy(X[b * 4, 0], f)
                T.reduce_sum(f, s, dim=1)
                T.copy(s, Y[b * 4])
            elif kind == "par":
                for i, j in T.Parallel(4, 4096):
                    f[i, j] = X[b * 4 + i, j]
                T.reduce_sum(f, s, dim=-1)
                for i in T.Parallel(4):
                    Y[b * 4 + i] = s[i]
            elif kind == "shared":
                sh = T.alloc_shared((4, 4096), F)
                T.copy(X[b * 4, 0], sh)
                T.copy(sh, f)
                T.reduce_sum(f, s, dim=1)
                T.copy(s, Y[b * 4])

    return kernel


B_, Hd, S, D = 4, 16, 4096, 64


def attention(kind):
    sh = (B_, S, Hd, D)
    scale = 0.127

    @T.prim_func
    def kernel(Q: T.Tensor(sh, H), K: T.Tensor(sh, H), V: T.Tensor(sh, H), Out: T.Tensor(sh, H)):
        with T.Kernel(S // 128, Hd, B_, threads=256) as (bx, by, bz):
            Qs = T.alloc_shared((128, D), H)
            Ks = T.alloc_shared((128, D), H)
            Vs = T.alloc_shared((128, D), H)
            s = T.alloc_fragment((128, 128), "float")
            p = T.alloc_fragment((128, 128), H)
            o = T.alloc_fragment((128, D), "float")
            m = T.alloc_fragment((128,), "float")
            mp = T.alloc_fragment((128,), "float")
            sc = T.alloc_fragment((128,), "float")
            sm = T.alloc_fragment((128,), "float")
            total = T.alloc_fragment((128,), "float")
            T.copy(Q[bz, bx * 128 : (bx + 1) * 128, by, :], Qs)
            if kind == "par":
                for i, j in T.Parallel(128, D):
                    o[i, j] = 0
                for i in T.Parallel(128):
                    total[i] = 0
                for i in T.Parallel(128):
                    m[i] = -T.infinity("float")
            else:
                T.fill(o, 0)
                T.fill(total, 0)
                T.fill(m, -T.infinity("float"))
            for k in T.Pipelined(S // 128, num_stages=2):
                T.copy(K[bz, k * 128 : (k + 1) * 128, by, :], Ks)
                if kind == "clear":
                    T.clear(s)
                    T.gemm(Qs, Ks, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                elif kind == "clear_accum":
                    T.gemm(
                        Qs,
                        Ks,
                        s,
                        transpose_B=True,
                        policy=T.GemmWarpPolicy.FullRow,
                        clear_accum=True,
                    )
                else:
                    for i, j in T.Parallel(128, 128):
                        s[i, j] = 0
                    T.gemm(Qs, Ks, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(m, mp)
                if kind == "par":
                    T.reduce_max(s, m, dim=-1, clear=False)
                else:
                    T.reduce_max(s, m, dim=1, clear=False)
                for i in T.Parallel(128):
                    sc[i] = T.exp2(mp[i] * scale - m[i] * scale)
                for i, j in T.Parallel(128, 128):
                    s[i, j] = T.exp2(s[i, j] * scale - m[i] * scale)
                T.reduce_sum(s, sm, dim=1)
                if kind == "one":
                    for i in T.Parallel(128):
                        total[i] = total[i] * sc[i] + sm[i]
                else:
                    for i in T.Parallel(128):
                        total[i] = total[i] * sc[i]
                        total[i] = total[i] + sm[i]
                if kind == "par":
                    for i, j in T.Parallel(128, 128):
                        p[i, j] = T.cast(s[i, j], H)
                else:
                    T.copy(s, p)
                for i, j in T.Parallel(128, D):
                    o[i, j] *= sc[i]
                T.copy(V[bz, k * 128 : (k + 1) * 128, by, :], Vs)
                T.gemm(p, Vs, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(128, D):
                o[i, j] /= total[i]
            T.copy(o, Out[bz, bx * 128 : (bx + 1) * 128, by, :])

    return kernel
