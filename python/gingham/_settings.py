"""A connection's settings as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gingham._connection import Connection


class Settings:
    """The settings of a connection: `connection.settings.threads = 4` is `SET gingham.threads = 4`.

    >>> import gingham
    >>> connection = gingham.connect()
    >>> connection.settings.threads = 2
    >>> connection.settings.threads
    '2'
    """

    __slots__ = ("_connection",)

    def __init__(self, connection: "Connection") -> None:
        object.__setattr__(self, "_connection", connection)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        rows = self._connection._core.run(f"SHOW gingham.{name}").fetch()
        return rows[0][0]

    def __setattr__(self, name: str, value: object) -> None:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self._connection._core.run(f"SET gingham.{name} = '{text.replace(chr(39), chr(39) * 2)}'")

    def __dir__(self) -> "list[str]":
        rows = self._connection._core.run("SHOW ALL").fetch()
        return sorted(row[0].removeprefix("gingham.") for row in rows if row[0].startswith("gingham."))
