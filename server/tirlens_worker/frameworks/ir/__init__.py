"""The IR of the frameworks' versions, by one interface."""
