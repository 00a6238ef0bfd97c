"""Writes PostgreSQL's answers into cases.txt.

Usage: python tests/copy/postgres.py "host=… port=… user=… dbname=…" (psycopg 3). It makes and drops a table called t.
"""

import pathlib
import re
import sys

import psycopg

NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def shown(data: bytes) -> str:
    def one(byte):
        char = chr(byte)
        return NAMED.get(char) or (char if 32 <= byte < 127 else f"\\x{byte:02x}")

    return "".join(map(one, data))


def meant(text: str) -> bytes:
    def one(match):
        own = match.group(1)
        return {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}.get(own) or bytes([int(own[1:], 16)])

    parts = re.split(r"\\(n|r|t|\\|x[0-9a-f]{2})", text)
    return b"".join(one(re.match("(.*)", part, re.S)) if at % 2 else part.encode() for at, part in enumerate(parts))


def failure(error, with_place):
    place = re.search(r"line (\d+)(?:, column ([^:\n]+))?", error.diag.context or "") if with_place else None
    words = ["error", error.sqlstate]
    if place:
        words += ["line", place.group(1)] + (["column", place.group(2)] if place.group(2) else [])
    return " ".join(words)


def out(cursor, sql):
    with cursor.copy(sql) as copy:
        return b"".join(map(bytes, copy))


def answer(connection, columns, fill, kind, sql, data):
    cursor = connection.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t ({columns})")
    try:
        if kind == "out":
            if fill:
                cursor.execute(fill)
            return "bytes " + shown(out(cursor, sql))
        with cursor.copy(sql) as copy:
            copy.write(data)
        return "rows " + shown(out(cursor, "COPY t TO STDOUT"))
    except psycopg.Error as error:
        return failure(error, kind == "in")


def main():
    path = pathlib.Path(__file__).parent / "cases.txt"
    lines, columns, fill, pending = [], "", None, None
    with psycopg.connect(sys.argv[1], autocommit=True) as connection:
        for line in path.read_text().splitlines():
            word, _, rest = line.partition(" ")
            if word in ("rows", "error") or (word == "bytes" and pending is None):
                continue
            lines.append(line)
            if word == "table":
                columns, fill = rest, None
            elif word == "fill":
                fill = rest
            elif word == "in":
                pending = rest
            elif word == "out":
                lines.append(answer(connection, columns, fill, "out", rest, None))
            elif word == "bytes":
                lines.append(answer(connection, columns, fill, "in", pending, meant(rest)))
                pending = None
    path.write_text("\n".join(line.rstrip() if line.rstrip() in ("bytes", "rows") else line for line in lines) + "\n")


main()
