"""Replacement scans: a name that is no table may be a variable of the caller's that holds a frame."""

from __future__ import annotations

import inspect
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
        variable = _variable(name)
        for scope in (caller.f_locals, caller.f_globals):
            if variable in scope and _frames.is_frame(scope[variable]):
                found[name] = scope[variable]
                break
    return found


def _variable(name: str) -> str:
    """The variable that a name of SQL would be."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _has_variable(name: str, caller: FrameType) -> bool:
    """Whether the caller sees a variable of that name."""
    code = caller.f_code
    if code.co_flags & inspect.CO_OPTIMIZED:
        own = name in code.co_varnames or name in code.co_cellvars or name in code.co_freevars
    else:
        own = name in caller.f_locals
    return own or name in caller.f_globals


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
        # Only where there is such a variable: to ask a frame for its locals' values keeps them alive until it ends.
        named = [name for name in core.known_tables(sql) if name not in self._told and _has_variable(_variable(name), caller)]
        hidden = _frames_of(named, caller) if named else {}
        self._told.update(hidden)
        for name in hidden:
            text = f"the table {name} is read, not the variable of that name; register() gives a frame another name"
            registry = caller.f_globals.setdefault("__warningregistry__", {})
            warnings.warn_explicit(text, UserWarning, caller.f_code.co_filename, caller.f_lineno, registry=registry)
