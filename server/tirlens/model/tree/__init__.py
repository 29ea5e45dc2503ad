"""The kernel as a tree of cost nodes in their loop contexts: the data that the stages share."""
