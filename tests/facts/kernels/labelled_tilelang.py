import tilelang.language as T


@T.prim_func
def labelled(A: T.Tensor((1000, 128), "float32"), ids: T.Tensor((8,), "int32")):
    with T.Kernel(132, threads=128) as block:
        tile = T.alloc_shared((8, 128), "float32")
        for by, _bx in T.Persistent([125, 1], 132, block):
            T.copy(A[by * 8, 0], tile)
            if ids[by % 8] > 0 and by < 100:  # a comment: with a colon
                T.copy(tile, A[by * 8, 0])
            elif by > 3:
                T.copy(tile, A[0, 0])
