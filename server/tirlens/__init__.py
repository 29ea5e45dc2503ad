"""What each line of a GPU kernel costs, without running it."""

from tirlens.version import __version__

__all__ = ["__version__"]
