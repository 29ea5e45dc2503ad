"""Two kernels of an auto-tuner's benchmarks, as functions of their configuration, in TVMScript.

A configuration is what the tuner varied, under the tuner's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.script import tirx as T

# Of the image and of the filter, whose weights lie in constant memory.
IMAGE, FILTER = 4096, 15
# Dispersion measures, samples of each, channels that they are summed over, and the longest delay.
MEASURES, SAMPLES, CHANNELS, DELAY = 2048, 25000, 1536, 650


def convolution(config: Mapping[str, int]) -> Any:
    """A filter of 15 x 15 over an image with a border; everything is unrolled.

    A thread has `tile_size_x` x `tile_size_y` places of the output, a block apart.  With
    `use_shmem` the block first brings its part of the input to shared memory, where `use_padding`
    makes rows start banks apart.  A weight is an operand of its multiplication and stands as a
    literal: both come with the instruction.  The few `read_only` loads of a tile are as others are.
    """
    across, down = config["block_size_x"], config["block_size_y"]
    tile_x, tile_y = config["tile_size_x"], config["tile_size_y"]
    border = FILTER // 2 * 2
    width, height = across * tile_x, down * tile_y
    wide, high = width + border, height + border
    row = wide
    if config["use_padding"] and across % 32 and (wide - across) % 32:
        row += (32 - (wide - across)) % 32
    whole = IMAGE % width == 0 and IMAGE % height == 0
    image = IMAGE + border
    shares = bool(config.get("use_shmem", 1))

    @T.prim_func(s_tir=True, check_well_formed=False)
    def shared(x: T.handle, out: T.handle):
        X = T.match_buffer(x, (image, image), "float32")
        Out = T.match_buffer(out, (IMAGE, IMAGE), "float32")
        for by in T.thread_binding(-(-IMAGE // height), thread="blockIdx.y"):
            for bx in T.thread_binding(-(-IMAGE // width), thread="blockIdx.x"):
                for ty in T.thread_binding(down, thread="threadIdx.y"):
                    for tx in T.thread_binding(across, thread="threadIdx.x"):
                        part = T.alloc_buffer((high, row), "float32", scope="shared")
                        total = T.alloc_buffer((tile_y, tile_x), "float32", scope="local")
                        for i in T.unroll(-(-high // down)):
                            if ty + i * down < high:
                                for j in T.unroll(-(-wide // across)):
                                    if tx + j * across < wide:  # noqa: SIM102
                                        if whole or (
                                            by * height + ty + i * down < image
                                            and bx * width + tx + j * across < image
                                        ):
                                            part[ty + i * down, tx + j * across] = X[
                                                by * height + ty + i * down,
                                                bx * width + tx + j * across,
                                            ]
                        T.tvm_storage_sync("shared")
                        for yi in T.unroll(tile_y):
                            for xi in T.unroll(tile_x):
                                total[yi, xi] = T.float32(0)
                        for i in T.unroll(FILTER):
                            for j in T.unroll(FILTER):
                                for yi in T.unroll(tile_y):
                                    for xi in T.unroll(tile_x):
                                        total[yi, xi] = total[yi, xi] + part[
                                            ty + yi * down + i, tx + xi * across + j
                                        ] * T.float32(0.3)
                        for yi in T.unroll(tile_y):
                            for xi in T.unroll(tile_x):
                                if whole or (
                                    by * height + ty + yi * down < IMAGE
                                    and bx * width + tx + xi * across < IMAGE
                                ):
                                    Out[
                                        by * height + ty + yi * down, bx * width + tx + xi * across
                                    ] = total[yi, xi]

    @T.prim_func(s_tir=True, check_well_formed=False)
    def direct(x: T.handle, out: T.handle):
        X = T.match_buffer(x, (image, image), "float32")
        Out = T.match_buffer(out, (IMAGE, IMAGE), "float32")
        for by in T.thread_binding(-(-IMAGE // height), thread="blockIdx.y"):
            for bx in T.thread_binding(-(-IMAGE // width), thread="blockIdx.x"):
                for ty in T.thread_binding(down, thread="threadIdx.y"):
                    for tx in T.thread_binding(across, thread="threadIdx.x"):
                        total = T.alloc_buffer((tile_y, tile_x), "float32", scope="local")
                        for yi in T.unroll(tile_y):
                            for xi in T.unroll(tile_x):
                                total[yi, xi] = T.float32(0)
                        for i in T.unroll(FILTER):
                            for j in T.unroll(FILTER):
                                for yi in T.unroll(tile_y):
                                    for xi in T.unroll(tile_x):
                                        if whole or (
                                            by * height + ty + yi * down < image
                                            and bx * width + tx + xi * across < image
                                        ):
                                            total[yi, xi] = total[yi, xi] + X[
                                                by * height + ty + yi * down + i,
                                                bx * width + tx + xi * across + j,
                                            ] * T.float32(0.3)
                        for yi in T.unroll(tile_y):
                            for xi in T.unroll(tile_x):
                                if whole or (
                                    by * height + ty + yi * down < IMAGE
                                    and bx * width + tx + xi * across < IMAGE
                                ):
                                    Out[
                                        by * height + ty + yi * down, bx * width + tx + xi * across
                                    ] = total[yi, xi]

    return shared if shares else direct


def unlike(config: Mapping[str, int], gpu: str) -> str:
    """Why `convolution` is not the kernel of a configuration that was measured, if it is not.

    With CUDA, ``__ldg(input + place)`` in an unrolled convolution computes the address of each load
    by itself, where an index into the array, which TVM writes, leaves constant offsets: nvcc 13.0
    for sm_86 makes 4,720 instructions with it of a tile of 2 x 4 places, and 2,376 without.
    """
    if config["read_only"] and not config["use_shmem"] and not gpu.startswith("MI"):
        return "a load by __ldg computes an address of its own"
    return ""


def dedispersion(config: Mapping[str, int]) -> Any:
    """Sums over channels of samples that are delayed by the channel and the dispersion measure.

    A thread has `tile_size_x` samples of `tile_size_y` measures, neighbours or (`tile_stride_x`,
    `tile_stride_y`) a block apart, one after the other.  A delay is computed in floating point from
    a table of the channels.
    """
    across, down = config["block_size_x"], config["block_size_y"]
    tile_x, tile_y = config["tile_size_x"], config["tile_size_y"]
    step_x, start_x = (across, 1) if config["tile_stride_x"] else (1, tile_x)
    step_y, start_y = (down, 1) if config["tile_stride_y"] else (1, tile_y)
    width, height = across * tile_x, down * tile_y
    row = SAMPLES + DELAY

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, shifts: T.handle, out: T.handle):
        X = T.match_buffer(x, (CHANNELS, row), "uint8")
        Shifts = T.match_buffer(shifts, (CHANNELS,), "float32")
        Out = T.match_buffer(out, (MEASURES, SAMPLES), "float32")
        for by in T.thread_binding(-(-MEASURES // height), thread="blockIdx.y"):
            for bx in T.thread_binding(-(-SAMPLES // width), thread="blockIdx.x"):
                for ty in T.thread_binding(down, thread="threadIdx.y"):
                    for tx in T.thread_binding(across, thread="threadIdx.x"):
                        total = T.alloc_buffer((1,), "float32", scope="local")
                        for i in range(tile_x):
                            if bx * width + tx * start_x + i * step_x < SAMPLES:
                                for j in range(tile_y):
                                    if by * height + ty * start_y + j * step_y < MEASURES:
                                        total[0] = T.float32(0)
                                        for channel in range(CHANNELS):
                                            total[0] = total[0] + T.Cast(
                                                "float32",
                                                X[
                                                    channel,
                                                    bx * width
                                                    + tx * start_x
                                                    + i * step_x
                                                    + T.Cast(
                                                        "int32",
                                                        T.Cast(
                                                            "float32",
                                                            by * height + ty * start_y + j * step_y,
                                                        )
                                                        * T.float32(0.02)
                                                        * Shifts[channel],
                                                    ),
                                                ],
                                            )
                                        Out[
                                            by * height + ty * start_y + j * step_y,
                                            bx * width + tx * start_x + i * step_x,
                                        ] = total[0]

    return kernel
