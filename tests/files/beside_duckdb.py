#!/usr/bin/env python3
"""What DuckDB makes of the odd files of odd.txt, beside Gingham's answers there.

    python3 tests/files/beside_duckdb.py            names the files that are read otherwise without a reason, and the other way round
    python3 tests/files/beside_duckdb.py --show     shows both answers of each file that is read otherwise

A case with a line `duckdb: …` is read otherwise by DuckDB, for that reason. Needs the package `duckdb`.
"""

import datetime
import decimal
import gzip
import math
import pathlib
import re
import sys
import tempfile

import duckdb

try:
    from compression import zstd
except ImportError:
    zstd = None

CASES = pathlib.Path(__file__).parent / "odd.txt"
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "\\": b"\\"}


def cases():
    """Name, lines of the head, text and expected lines of each case."""
    for part in re.split(r"^## ", CASES.read_text(), flags=re.M)[1:]:
        name, rest = part.split("\n", 1)
        head, rest = re.split(r"^---\n", rest, maxsplit=1, flags=re.M)
        text, expected = re.split(r"^--- rows\n", rest, maxsplit=1, flags=re.M)
        yield name, head.splitlines(), text, [line for line in expected.splitlines() if line]


def unescaped(line):
    """The bytes of a line of the text."""
    parts = re.split(r"\\(x[0-9a-f]{2}|.)", line)
    data = b""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            data += part.encode()
        else:
            data += bytes([int(part[1:], 16)]) if part[0] == "x" and len(part) == 3 else ESCAPES[part]
    return data


def file_bytes(head, text):
    """The bytes of a file."""
    data = b""
    for line in text.splitlines():
        data += unescaped(line[:-2]) if line.endswith("\\c") else unescaped(line) + b"\n"
    packed = field(head, "packed")
    if packed == "gzip":
        return gzip.compress(data)
    if packed == "zstd":
        return zstd.compress(data) if zstd else None
    return data


def field(head, name):
    """The value of a line of the head."""
    return next((line[len(name) + 2 :] for line in head if line.startswith(f"{name}: ")), None)


def same(own, other):
    """Whether a value of Gingham's, as text, is DuckDB's value."""
    if other is None:
        return own == "NULL"
    if isinstance(other, bool):
        return own == str(other).lower()
    if isinstance(other, float):
        return own not in ("NULL", "") and is_number(own) and (float(own) == other or math.isnan(other) and own == "NaN")
    if isinstance(other, decimal.Decimal):
        return is_number(own) and decimal.Decimal(own) == other
    if isinstance(other, (datetime.datetime, datetime.time)):
        return own.removesuffix("+00") == str(other).removesuffix("+00:00")
    escaped = str(other).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r").replace("\x01", "\\u{1}")
    return own == escaped


def is_number(text):
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read(path, options):
    """The lines that DuckDB gives, or its error."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    try:
        function = "read_json" if path.suffix == ".json" else "read_csv"
        result = connection.execute(f"SELECT * FROM {function}('{path}'{', ' + options if options else ''})")
        return [f"{one[0]} {one[1]}" for one in result.description], result.fetchall()
    except Exception as error:  # noqa: BLE001 - whatever it refuses
        return str(error).splitlines()[0], None


def name_of(column):
    """The name of a column before its type."""
    return re.split(r" (?=TIMESTAMP)", column)[0] if "TIME ZONE" in column else column.rsplit(" ", 1)[0]


def agrees(expected, names, rows):
    """Whether DuckDB's names and rows are the expected lines."""
    if rows is None:
        return expected[0].startswith("error")
    if expected[0].startswith("error"):
        return False
    own = [line.split("|") for line in expected[1:]]
    if [name_of(name) for name in names] != [name_of(name) for name in expected[0].split("|")] or len(own) != len(rows):
        return False
    return all(len(a) == len(b) and all(map(same, a, b)) for a, b in zip(own, rows))


def main():
    """Compares all files."""
    show, otherwise, problems = "--show" in sys.argv, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, head, text, expected in cases():
            data = file_bytes(head, text)
            if data is None:
                print(f"{name}: left out, for want of zstd")
                continue
            path = pathlib.Path(folder) / name
            path.write_bytes(data)
            names, rows = read(path, field(head, "options"))
            alike, reason = agrees(expected, names, rows), field(head, "duckdb")
            otherwise += not alike
            if alike == (reason is not None):
                problems.append(f"{name}: {'read alike, but has a reason' if alike else 'read otherwise without a reason'}")
            if show and not alike:
                print(f"## {name} ({reason})\n  Gingham: {expected}\n  DuckDB:  {names} {rows}")
    print(f"DuckDB {duckdb.__version__}: {otherwise} files are read otherwise")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
