"""Functions that are called when a module has been imported, to patch it."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Mapping, Optional

Patch = Callable[[Any], None]


class PatchingFinder(importlib.abc.MetaPathFinder):
    """Lets other finders find a module, and patches it after its execution."""

    def __init__(self, patches: Mapping[str, Patch]) -> None:
        self._patches = dict(patches)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[ModuleSpec]:
        patch = self._patches.pop(fullname, None)
        if patch is None:
            return None
        # The module is found by the finders after this one: it is asked for no more.
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _PatchingLoader(spec.loader, patch)
        return spec


class _PatchingLoader(importlib.abc.Loader):
    def __init__(self, loader: Any, patch: Patch) -> None:
        self._loader = loader
        self._patch = patch

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        try:
            self._patch(module)
        except (AttributeError, ImportError) as error:
            # Another version of the library, without what is to be patched.
            name = module.__name__
            print("tirlens: {} is not patched: {}".format(name, error), file=sys.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
