"""``tirlens`` and ``python -m tirlens``."""

from __future__ import annotations

import sys

from tirlens.cli import main

if __name__ == "__main__":
    sys.exit(main())
