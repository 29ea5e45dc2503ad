"""Compiled kernels: their times on this machine, and the calibration of a CPU."""
