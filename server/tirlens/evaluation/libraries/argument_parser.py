"""argparse: a program gets the defaults of its options."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from tirlens.evaluation.libraries.library_function import LibraryFunction
from tirlens.evaluation.values import UNKNOWN, Options, Parser, Value

_PARSING = ("parse_args", "parse_known_args", "parse_intermixed_args")


def method(parser: Parser, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """What a method of a parser, or of a group of its options, returns."""
    if name in _PARSING:
        options = Options(parser.defaults)
        return (options, []) if name == "parse_known_args" else options
    if name == "add_argument":
        flags = [item for item in positional if isinstance(item, str)]
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        target = named.get("dest", long.lstrip("-").replace("-", "_"))
        default = {"store_true": False, "store_false": True}.get(named.get("action", ""))
        parser.defaults[str(target)] = named.get("default", default)
    elif name == "set_defaults":
        parser.defaults.update(named)
    elif name.startswith("add_"):
        return parser
    return UNKNOWN


FUNCTIONS: dict[str, LibraryFunction] = {
    "argparse.ArgumentParser": lambda positional, named: Parser(),
    "argparse.Namespace": lambda positional, named: Options(named),
}
