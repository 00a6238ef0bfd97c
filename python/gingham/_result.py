"""What a statement gave, in the forms that analysts want: shared by cursors and relations."""

from __future__ import annotations

import html
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gingham import _frames
from gingham._types import NUMBER

if TYPE_CHECKING:
    from gingham import _internal

# Rows that a notebook or a terminal shows.
SHOWN_ROWS = 40
# Characters of a value that are shown.
SHOWN_LETTERS = 60
# And where a table would be wider than the terminal, tried one after the other before columns are left out.
FEWER_LETTERS = (30, 20)
# Columns and lines of what is no terminal.
NO_TERMINAL = (100, 24)


class _Stream:
    """A stream of Arrow that can be read once."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def _batches(result: "_internal.Result") -> "Iterator[Any]":
    while (batch := result.batch()) is not None:
        yield batch


class Frames:
    """Rows as frames: what a cursor and a relation have in common."""

    def _rows(self) -> "_internal.Result":
        """The result whose rows are wanted."""
        raise NotImplementedError

    def df(self) -> Any:
        """The rows as a frame of pandas: integers with NULL as Int64, decimals as Decimal, intervals as timedelta64, whose months have
        30 days."""
        return _frames.frame_of(self._rows().numpy())

    def arrow(self) -> Any:
        """The rows as a table of pyarrow."""
        import pyarrow

        # All are there before pyarrow reads them: by its stream it would not hear a Ctrl-C, nor tell of one.
        return pyarrow.table(_Stream(self._rows().collected(views=False)))

    def reader(self) -> Any:
        """The rows as a reader of pyarrow, which has a few batches in memory at a time."""
        import pyarrow

        # Batches that Python gives, so that a Ctrl-C and errors come through pyarrow as they are.
        result = self._rows()
        return pyarrow.RecordBatchReader.from_batches(result.arrow_schema(), _batches(result))

    def pl(self) -> Any:
        """The rows as a frame of polars: intervals as durations, whose months have 30 days."""
        import polars

        return polars.DataFrame(_Stream(self._rows().collected(views=True, durations=True)))

    def show(self, rows: int = SHOWN_ROWS) -> None:
        """Prints the first rows, as wide as the terminal: of a wide table the columns in the middle are left out.

        >>> import gingham
        >>> gingham.connect().sql("SELECT 1 AS n, 'one' AS word").show()
        ┌────────┬─────────┐
        │      n │ word    │
        │ BIGINT │ VARCHAR │
        ├────────┼─────────┤
        │      1 │ one     │
        └────────┴─────────┘
        1 row, 2 columns
        """
        print(Preview(self._rows(), rows).text())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows().stream(False, requested_schema)


class Preview:
    """The first rows of a result as text."""

    def __init__(self, result: "_internal.Result", most: int) -> None:
        self.names = [name for name, *_ in result.columns]
        self.types = [kind for _, kind, *_ in result.columns]
        rows = result.texts(most + 1)
        self.more = len(rows) > most
        self.rows = [["NULL" if text is None else text for text in row] for row in rows[:most]]
        self._numeric = [kind == NUMBER and kind != "BOOLEAN" for kind in self.types]
        result.close()

    def _summary(self, left_out: int = 0) -> str:
        count = len(self.rows)
        rows = f"the first {count} rows" if self.more else f"{count} row{'' if count == 1 else 's'}"
        columns = len(self.names)
        hidden = f", of which {left_out} {'is' if left_out == 1 else 'are'} not shown" if left_out else ""
        return f"{rows}, {columns} column{'' if columns == 1 else 's'}{hidden}"

    def text(self, width: "int | None" = None) -> str:
        """As a table for a terminal of that width, by default the one that there is."""
        width = shutil.get_terminal_size(NO_TERMINAL).columns if width is None else width
        for letters in (SHOWN_LETTERS, *FEWER_LETTERS):
            columns = self._columns(letters)
            if _width(columns) <= width:
                return self._drawn(columns, 0)
        first, last = _fitting(columns, width)
        gap = (["…"] * len(columns[0][0]), False)
        shown = [*columns[:first], gap, *columns[len(columns) - last :]]
        return self._drawn(shown, len(columns) - first - last)

    def _columns(self, letters: int) -> "list[tuple[list[str], bool]]":
        """The cells of each column, its name and type first, and whether they are numbers."""
        rows = [self.names, self.types, *self.rows]
        return [([_cut(row[at], letters) for row in rows], self._numeric[at]) for at in range(len(self.names))]

    def _drawn(self, columns: "list[tuple[list[str], bool]]", left_out: int) -> str:
        aligned = []
        for cells, numeric in columns:
            width = max(map(len, cells))
            aligned.append([cell.rjust(width) if numeric else cell.ljust(width) for cell in cells])
        rows = ["│ " + " │ ".join(cells) + " │" for cells in zip(*aligned, strict=True)]
        line = ["─" * (len(cells[0]) + 2) for cells in aligned]
        top, middle, bottom = ("┌" + "┬".join(line) + "┐", "├" + "┼".join(line) + "┤", "└" + "┴".join(line) + "┘")
        return "\n".join([top, *rows[:2], middle, *rows[2:], bottom, self._summary(left_out)])

    def html(self) -> str:
        """As a table for a notebook."""

        def row(cells: "list[str]", tag: str) -> str:
            aligns = ["right" if numeric else "left" for numeric in self._numeric]
            return (
                "<tr>"
                + "".join(
                    f'<{tag} style="text-align: {align}">{html.escape(_cut(cell))}</{tag}>'
                    for cell, align in zip(cells, aligns, strict=True)
                )
                + "</tr>"
            )

        head = row(self.names, "th") + row(self.types, "th")
        body = "".join(row(cells, "td") for cells in self.rows)
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{html.escape(self._summary())}</p>"


def _cut(text: str, letters: int = SHOWN_LETTERS) -> str:
    text = text.replace("\n", "\\n")
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _width(columns: "list[tuple[list[str], bool]]") -> int:
    """How wide a table of these columns is, with its lines."""
    return sum(max(map(len, cells)) + 3 for cells, _ in columns) + 1


def _fitting(columns: "list[tuple[list[str], bool]]", width: int) -> "tuple[int, int]":
    """How many of the first columns and of the last ones fit, beside a narrow one that stands for the others; one does at least."""
    gap = 4
    first, last, left = 1, 0, width - gap - _width(columns[:1])
    while first + last < len(columns):
        at = first if first <= last else len(columns) - 1 - last
        left -= _width(columns[at : at + 1]) - 1
        if left < 0:
            break
        first, last = (first + 1, last) if first <= last else (first, last + 1)
    return first, last
