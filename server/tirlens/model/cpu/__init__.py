"""CPU: the time of a kernel that LLVM compiles for the cores of a CPU.

Input: the counted tree of a kernel without thread bindings, its arrays and a device.  Output: the
time by statement and by unit of a core, and the bytes from each cache.

1. `compiler`: what LLVM makes of the loops (full unrolling, loop vectorisation, vector widths).
2. `in_core`: clocks of one core with all data in L1 (port throughput, dependency chains).
3. `memory`: lines and pages from each cache and DRAM (layer conditions), and their clocks.
4. `kernel_time`: the Execution-Cache-Memory model of both, on the busiest core.

Hand-tuned constants were set with the development kernels of docs/cpu-rows.md.  Constants of a
machine are in its device file; ``tirlens calibrate --cpu`` measures them.
"""

from .kernel_time import CpuKernel, model_cpu_kernel

__all__ = ["CpuKernel", "model_cpu_kernel"]
