"""Analysis passes over a kernel: storage, useful work, resources of a launch."""
