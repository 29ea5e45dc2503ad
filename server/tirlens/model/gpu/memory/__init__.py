"""Memory hierarchy: hits and misses in L1 and L2, and the bytes that DRAM moves."""
