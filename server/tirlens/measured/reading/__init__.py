"""Reading of traces: the choice of a reader, streams of files, and what readers share."""
