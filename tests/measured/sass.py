"""What NVIDIA's compilers make of tilelang's products, without a GPU: registers and spills.

    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/sass.py NVIDIA > registers.csv

NVIDIA is the folder ``site-packages/nvidia`` of an environment that has the packages
``nvidia-cuda-nvrtc-cu12``, ``nvidia-cuda-nvcc-cu12`` (of which ptxas is used),
``nvidia-cuda-runtime-cu12`` and ``nvidia-cuda-cccl-cu12``.  tilelang generates CUDA source without
a GPU, NVRTC compiles it to PTX, ptxas tells what it takes.  Spills are loads and stores in bytes of
the code, not of what is executed.
"""

from __future__ import annotations

import csv
import ctypes
import itertools
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]


class Product(NamedTuple):
    """A tiled product, as `library_tilelang.matmul` takes it."""

    arch: str
    dtype: str
    block_m: int
    block_n: int
    block_k: int
    stages: int
    threads: int


COLUMNS = (*Product._fields, "threads_launched", "registers", "spill_bytes", "ptxas")
# Architecture, type, k of a tile, stages, threads; tiles of 64, 128 and 256 rows and columns.
SWEEPS = (
    ("sm_80", "float16", 32, 3, (128, 256)),
    ("sm_80", "float16", 64, 2, (128, 256)),
    ("sm_89", "float8_e4m3", 64, 2, (128, 256)),
    ("sm_90a", "float16", 64, 3, (128, 256)),
    ("sm_90a", "float8_e4m3", 128, 3, (128, 256)),
)
SIZES = (64, 128, 256)


def products() -> Iterator[Product]:
    for arch, dtype, block_k, stages, all_threads in SWEEPS:
        for m, n, threads in itertools.product(SIZES, SIZES, all_threads):
            yield Product(arch, dtype, m, n, block_k, stages, threads)


def source(product: Product) -> tuple[str, int]:
    """The CUDA source of a product of 4096^3, and how many threads it is launched with."""
    import library_tilelang
    from tilelang import tvm
    from tilelang.engine.lower import lower

    _, dtype, block_m, block_n, block_k, stages, threads = product
    kernel = library_tilelang.matmul(
        *(4096, 4096, 4096),
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        stages=stages,
        threads=threads,
        dtype=dtype,
    )
    target = tvm.target.Target({"kind": "cuda", "arch": product.arch})
    with tvm.transform.PassContext(opt_level=3), target:
        text = lower(kernel, target=target, enable_device_compile=False).kernel_source
    bounds = re.search(r"__launch_bounds__\((\d+)", text)
    return text, int(bounds[1]) if bounds else threads


class Compiler:
    """NVRTC and ptxas of the `nvidia` folder of an environment."""

    def __init__(self, nvidia: Path) -> None:
        import tilelang

        folder = Path(str(tilelang.__file__)).parent
        self._nvrtc: Any = ctypes.CDLL(str(next(nvidia.glob("cuda_nvrtc/lib/libnvrtc.so.*"))))
        self._ptxas = str(nvidia / "cuda_nvcc/bin/ptxas")
        self._include = (
            folder / "src",
            folder / "3rdparty/cutlass/include",
            nvidia / "cuda_runtime/include",
            nvidia / "cuda_cccl/include",
            nvidia / "cuda_cccl/include/cuda/std",
        )

    def version(self) -> str:
        said = subprocess.run([self._ptxas, "--version"], capture_output=True, text=True)
        found = re.search(r"V([\d.]+)", said.stdout)
        return found[1] if found else "unknown"

    def ptx(self, text: str, arch: str) -> str:
        text = "#include <tl_templates/cuda/nvrtc_std.h>\n" + text
        options = [
            "-default-device",
            f"--gpu-architecture=compute_{arch.partition('_')[2]}",
            "-D__CUDACC_VER_MAJOR__=12",
            "--std=c++17",
            "-w",
            *(f"-I{folder}" for folder in self._include),
        ]
        program = ctypes.c_void_p()
        self._nvrtc.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None
        )
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        failed = self._nvrtc.nvrtcCompileProgram(program, len(options), given)
        name = "ProgramLog" if failed else "PTX"
        size = ctypes.c_size_t()
        getattr(self._nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        getattr(self._nvrtc, f"nvrtcGet{name}")(program, out)
        self._nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        if failed:
            raise RuntimeError(out.value.decode())
        return out.value.decode()

    def resources(self, ptx: str, arch: str) -> tuple[int, int]:
        """Registers of a thread, and bytes of spilling loads and stores in the code."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernel.ptx")
            path.write_text(ptx)
            said = subprocess.run(
                [self._ptxas, "-v", f"-arch={arch}", str(path), "-o", f"{folder}/kernel.cubin"],
                capture_output=True,
                text=True,
                check=True,
            ).stderr
        registers = re.search(r"Used (\d+) registers", said)
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
        assert registers and spilled, said
        return int(registers[1]), int(spilled[1]) + int(spilled[2])


def main(arguments: Sequence[str]) -> None:
    compiler = Compiler(Path(arguments[0]))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    for product in products():
        try:
            text, launched = source(product)
        except Exception as error:
            print(product, error, file=sys.stderr)
            continue
        found = compiler.resources(compiler.ptx(text, product.arch), product.arch)
        table.writerow((*product, launched, *found, compiler.version()))


if __name__ == "__main__":
    main(sys.argv[1:])
