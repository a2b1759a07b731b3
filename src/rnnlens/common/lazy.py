"""Import the public names of a package when they are first used, so that `import rnnlens` and `--help` stay quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`. homes: the module in the package that each public name comes from; "" for a name that
    is itself a module of the package."""

    def getattribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}: it has {', '.join(homes)}")
        home = homes[name]
        value = getattr(import_module(f"{package}.{home}"), name) if home else import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return getattribute
