"""Rows and frames to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gingham import _frames

if TYPE_CHECKING:
    from gingham._connection import Connection


class Appender:
    """Gathers rows and frames for a table, which are stored all at once when it is closed, and not at all when its block ends in
    an error.

    >>> import gingham
    >>> connection = gingham.connect()
    >>> _ = connection.execute("CREATE TABLE point (x INTEGER, y DOUBLE)")
    >>> with connection.appender("point") as appender:
    ...     for x in range(3):
    ...         appender.append(x, x / 2)
    >>> connection.execute("SELECT sum(y) FROM point").fetchone()
    (1.5,)
    """

    def __init__(self, connection: "Connection", table: str) -> None:
        self._core = connection._core.appender(table)

    def append(self, *values: Any) -> None:
        """Appends a row, whose values are the table's columns in order."""
        self._core.append_row(values)

    def append_frame(self, frame: Any) -> None:
        """Appends the rows of a frame, whose columns are the table's in order."""
        if _frames.is_pandas(frame):
            self._core.append_columns(_frames.columns_of(frame), len(frame))
        else:
            self._core.append_arrow(*_frames.arrow_of(frame))

    def close(self) -> int:
        """Stores the rows, and gives their number."""
        return self._core.finish()

    def __enter__(self) -> "Appender":
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self._core.finish()
        else:
            self._core.abandon()
