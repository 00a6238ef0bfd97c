"""What DB-API asks of types: constructors of values, and objects that a column's type is compared with."""

from __future__ import annotations

import datetime as _datetime
import time as _time

Date = _datetime.date
Time = _datetime.time
Timestamp = _datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> _datetime.date:  # noqa: N802 - DB-API names it so
    """The date of a number of seconds since 1970, where this machine is."""
    return Date(*_time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> _datetime.time:  # noqa: N802
    """The time of day of a number of seconds since 1970, where this machine is."""
    return Time(*_time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> _datetime.datetime:  # noqa: N802
    """The timestamp of a number of seconds since 1970, where this machine is."""
    return Timestamp(*_time.localtime(ticks)[:6])


class TypeGroup:
    """Compares equal to the names of the SQL types that belong to it, as `cursor.description` gives them."""

    def __init__(self, name: str, *beginnings: str) -> None:
        self._name = name
        self._beginnings = beginnings

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeGroup):
            return self is other
        # The type of an array begins as that of its elements does.
        return isinstance(other, str) and other.startswith(self._beginnings) and not other.endswith("]")

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"gingham.{self._name}"


STRING = TypeGroup("STRING", "VARCHAR", "CHAR", "TEXT")
BINARY = TypeGroup("BINARY", "BINARY")
NUMBER = TypeGroup(
    "NUMBER", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "DECIMAL", "BOOLEAN"
)
DATETIME = TypeGroup("DATETIME", "DATE", "TIME", "INTERVAL")
ROWID = TypeGroup("ROWID", "\0")
