"""One block on an SM: what it takes of it, and how long it runs."""
