"""The formats of traces, a module for each; `tirlens.measured.reading.reader` discovers them."""
