"""Measured kernels and those of the workspace, and the file of measured times that is committed."""
