"""What a statement makes a thread and a warp execute: operations, requests to memory, addresses."""
