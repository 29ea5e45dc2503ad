"""Small kernels that measure the rates of this machine's CPU and GPU."""
