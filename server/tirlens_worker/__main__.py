"""Start a worker: ``PYTHON .../tirlens_worker/__main__.py [SERVER_PID | measure | protections]``.

It is started by its path and not with ``-m``, so that the search path of the interpreter is that of
the user's programs.  Only `sys` may be imported before the folder of this file is removed from that
path: its modules would replace modules of the standard library of the same name.
"""

import sys


def _package_folder() -> str:
    cut = max(__file__.rfind("/"), __file__.rfind("\\"))
    return __file__[:cut] if cut >= 0 else ""


def _load_package(folder: str) -> None:
    """Make ``tirlens_worker`` importable without its parent folder on the search path."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(
        "tirlens_worker", folder + "/__init__.py", submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    package = module_from_spec(spec)
    sys.modules["tirlens_worker"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _folder = _package_folder()
    if sys.path and sys.path[0] == _folder:
        del sys.path[0]
    sys.dont_write_bytecode = True
    _load_package(_folder)

    if sys.argv[1:] == ["measure"]:
        from tirlens_worker import measure

        sys.exit(measure.main())
    if sys.argv[1:] == ["protections"]:
        from tirlens_worker.isolation import protections

        sys.exit(protections.main())
    from tirlens_worker.process.main_loop import main

    sys.exit(main(sys.argv[1:]))
