"""GPU kernels: thread mapping, compiler, memory hierarchy, block and launch."""
