"""Replacement scans: a name that is no table may be a variable of the caller's that holds a frame."""

from __future__ import annotations

from types import FrameType
from typing import Any

from gingham import _frames


def find(names: "list[str]", caller: "FrameType | None") -> "dict[str, Any]":
    """The frames that variables of these names hold, the caller's own before those of its module, by the names as SQL has them."""
    found: dict[str, Any] = {}
    if caller is None:
        return found
    for name in names:
        variable = name[1:-1].replace('""', '"') if name.startswith('"') else name
        for scope in (caller.f_locals, caller.f_globals):
            if variable in scope and _frames.is_frame(scope[variable]):
                found[name] = scope[variable]
                break
    return found
