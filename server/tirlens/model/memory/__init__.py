"""What is read again from L1 and L2, and what comes from DRAM."""
