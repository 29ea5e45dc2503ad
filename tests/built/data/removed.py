"""What TVM no longer has gets a sentence at its line."""

from tvm import te

A = te.placeholder((64,), "float32", name="A")
B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)  # removed
