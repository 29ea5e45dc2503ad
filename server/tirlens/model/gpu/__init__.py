"""GPU kernels: thread mapping, compiler, memory hierarchy, block and launch.

Input: the workload of a kernel and a device.  Output: `GpuKernel`, the kernel with the traffic and
unit times of its statements, the time of a block and of the launch.
"""
