"""Translation of the statements of a PrimFunc to the tree of facts."""
