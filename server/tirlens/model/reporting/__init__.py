"""Report: time on source lines, what bounds the kernel, and the uncertainty of the time."""
