"""Tensors of torch: what their functions, methods and subscripts return."""
