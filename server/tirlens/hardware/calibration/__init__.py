"""Device files from the times of small kernels on this machine."""
