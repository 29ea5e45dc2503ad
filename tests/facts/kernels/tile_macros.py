"""A tilelang macro in a file of its own."""

import tilelang.language as T


@T.macro
def scale(tile, rows):
    for i in T.Parallel(rows):
        tile[i] = tile[i] * 2.0
