"""The worker: facts of kernels, under the interpreter and the framework of the user's project."""
