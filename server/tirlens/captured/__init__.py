"""Calls of kernels that ``tirlens capture`` has recorded, and the files that have them."""
