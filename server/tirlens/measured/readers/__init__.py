"""The formats of traces, a module for each; `tirlens.measured.reader` discovers them."""
