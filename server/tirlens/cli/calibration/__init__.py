"""The calibrations of ``tirlens calibrate``: kernels in another process, and their file."""
