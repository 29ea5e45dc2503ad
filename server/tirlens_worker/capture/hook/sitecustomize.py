"""Begins the recording in every Python that the captured command starts.

The folder of this file is first in ``PYTHONPATH`` of the command, so that Python imports it at its
start.  It replaces a ``sitecustomize`` of the user's environment, which is executed after it.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_FOLDER))


def _load_package():
    # Without the parent folder on the search path: it may hold other packages.
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(
        "tirlens_worker",
        os.path.join(_PACKAGE, "__init__.py"),
        submodule_search_locations=[_PACKAGE],
    )
    assert spec is not None and spec.loader is not None
    package = module_from_spec(spec)
    sys.modules["tirlens_worker"] = package
    spec.loader.exec_module(package)


def _run_own_sitecustomize():
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    folders = [path for path in sys.path if os.path.abspath(path or ".") != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize", folders)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_load_package()
from tirlens_worker.capture import start  # noqa: E402

start.begin()
_run_own_sitecustomize()
