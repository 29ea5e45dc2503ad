"""Launch: waves, tail, overlap of memory and computation, and launch cost."""
