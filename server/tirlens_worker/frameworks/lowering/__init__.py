"""tilelang's own lowering of a kernel for one architecture."""
