"""Replacement scans: a name that is no table may be a variable of the caller's that holds a frame."""

from __future__ import annotations

import warnings
from types import FrameType
from typing import Any

from gingham import _frames, _internal


def find(names: "list[str]", caller: "FrameType | None") -> "_internal.Tables | None":
    """The frames that variables of these names hold, the caller's own before those of its module, as tables of one statement under
    the names as SQL has them; None where there is none.
    """
    if caller is None or not names:
        return None
    found = _frames_of(names, caller)
    if not found:
        return None
    tables = _internal.Tables()
    for name, frame in found.items():
        _frames.register(tables, name, frame)
    return tables


def _frames_of(names: "list[str]", caller: FrameType) -> "dict[str, Any]":
    """The frames that variables of these names hold, by the names as SQL has them."""
    found: dict[str, Any] = {}
    for name in names:
        variable = name[1:-1].replace('""', '"') if name.startswith('"') else name
        for scope in (caller.f_locals, caller.f_globals):
            if variable in scope and _frames.is_frame(scope[variable]):
                found[name] = scope[variable]
                break
    return found


class HiddenFrames:
    """Warns of frames that a statement does not read, since a table has the name of their variable: once for each name."""

    # Texts that are remembered, so that a statement in a loop is looked at once.
    MOST_TEXTS = 1000

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._told: set[str] = set()

    def look(self, core: "_internal.Connection", sql: str, caller: "FrameType | None") -> None:
        """Looks at a statement that the caller is about to run."""
        if caller is None or sql in self._texts:
            return
        if len(self._texts) >= self.MOST_TEXTS:
            self._texts.clear()
        self._texts.add(sql)
        if not any(map(_frames.is_frame, [*caller.f_locals.values(), *caller.f_globals.values()])):
            return
        hidden = [name for name in _frames_of(core.known_tables(sql), caller) if name not in self._told]
        self._told.update(hidden)
        for name in hidden:
            text = f"the table {name} is read, not the variable of that name; register() gives a frame another name"
            registry = caller.f_globals.setdefault("__warningregistry__", {})
            warnings.warn_explicit(text, UserWarning, caller.f_code.co_filename, caller.f_lineno, registry=registry)
