"""The arrays of the model: numpy where it is installed, else lists of Python numbers.

A server that an editor starts with any Python has no compiled package. `lists` and `functions`
implement the part of numpy's interface that the model uses, with equal results: integers exactly,
floats within rounding. Only large tables take noticeably longer than with numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["np", "npt"]

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    try:
        import numpy as np
        import numpy.typing as npt
    except ImportError:
        from . import functions as np
        from . import lists as npt
