"""Thread mapping: which lanes of which warps touch which addresses."""
