"""A query that is run when its rows are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gingham import _result

if TYPE_CHECKING:
    from gingham import _internal
    from gingham._connection import Connection


class Relation(_result.Frames):
    """A query of `Connection.sql()`. Each of its methods runs it anew; `fetchone()` goes on where it was.

    The frames that it names are those that the caller's variables held when the relation was made.

    >>> import gingham
    >>> numbers = gingham.connect().sql("SELECT value AS n FROM generate_series(1, 3)")
    >>> numbers.fetchall()
    [(1,), (2,), (3,)]
    """

    def __init__(self, connection: "Connection", sql: str, parameters: Any, frames: "dict[str, Any]") -> None:
        self._connection = connection
        self._sql = sql
        self._parameters = parameters
        self._frames = frames
        self._current: "_internal.Result | None" = None

    def _rows(self) -> "_internal.Result":
        return self._connection._run_with(self._sql, self._parameters, self._frames)

    @property
    def columns(self) -> "list[str]":
        """The names of its columns."""
        return [name for name, _ in self.schema()]

    def schema(self) -> "list[tuple[str, str]]":
        """Name and SQL type of each column; the query is planned, not run.

        >>> import gingham
        >>> gingham.connect().sql("SELECT 1 AS n, 'x' AS word").schema()
        [('n', 'BIGINT'), ('word', 'VARCHAR')]
        """
        return self._connection._describe(self._sql, self._frames)

    def fetchall(self) -> "list[tuple[Any, ...]]":
        """All rows."""
        return self._rows().fetch()

    def fetchone(self) -> "tuple[Any, ...] | None":
        """The next row, or None at the end."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int = 1) -> "list[tuple[Any, ...]]":
        """The next `size` rows; fewer at the end."""
        if self._current is None:
            self._current = self._rows()
        return self._current.fetch(size)

    def explain(self) -> str:
        """How the query would be run."""
        rows = self._connection._run_with(f"EXPLAIN {self._sql}", self._parameters, self._frames).fetch()
        return "\n".join(f"{kind}:\n{plan}" for kind, plan in rows)

    def __repr__(self) -> str:
        return _result.Preview(self._rows(), _result.SHOWN_ROWS).text()

    def _repr_html_(self) -> str:
        return _result.Preview(self._rows(), _result.SHOWN_ROWS).html()

    def __reduce__(self) -> Any:
        raise TypeError("a relation can't be pickled; fetch its rows first")
