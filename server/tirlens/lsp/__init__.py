"""The language server; the only package that imports pygls and lsprotocol."""

from tirlens.lsp.serve import serve_stdio, serve_tcp

__all__ = ["serve_stdio", "serve_tcp"]
