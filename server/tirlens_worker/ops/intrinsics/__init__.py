"""Instructions that a kernel names itself: tensor cores, matrix moves, shuffles, PTX, LLVM."""
