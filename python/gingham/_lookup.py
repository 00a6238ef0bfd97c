"""Replacement scans: a name that is no table may be a variable of the caller's that holds a frame."""

from __future__ import annotations

from types import FrameType
from typing import Any

from gingham import _frames, _internal


def find(names: "list[str]", caller: "FrameType | None") -> "_internal.Tables | None":
    """The frames that variables of these names hold, the caller's own before those of its module, as tables of one statement under
    the names as SQL has them; None where there is none.
    """
    if caller is None or not names:
        return None
    found: dict[str, Any] = {}
    for name in names:
        variable = name[1:-1].replace('""', '"') if name.startswith('"') else name
        for scope in (caller.f_locals, caller.f_globals):
            if variable in scope and _frames.is_frame(scope[variable]):
                found[name] = scope[variable]
                break
    if not found:
        return None
    tables = _internal.Tables()
    for name, frame in found.items():
        _frames.register(tables, name, frame)
    return tables
