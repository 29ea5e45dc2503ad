"""What is known at one point of the walk over a kernel's statements."""
