"""psycopg 3: types both ways, pipelines, server cursors, COPY, errors, cancelling."""

import datetime
import decimal
import os
import threading
import traceback

import psycopg

HOW = os.environ["GINGHAM_DSN"]


def check(name):
    def run(work):
        try:
            with psycopg.connect(HOW, autocommit=True) as connection:
                work(connection)
            print("ok", name)
        except Exception as error:
            print(f"no {name}: {type(error).__name__}: {error}".replace("\n", "|"))
            if os.environ.get("GINGHAM_TRACE"):
                traceback.print_exc()

    return run


VALUES = [
    (True, "bool"),
    (-7, "int"),
    (1 << 40, "bigint"),
    (1.5, "double precision"),
    (decimal.Decimal("-12345678901234567890.123"), "numeric"),
    ("häuser\n", "text"),
    (b"\x00\xff", "bytea"),
    (datetime.date(1999, 12, 31), "date"),
    (datetime.time(23, 59, 59, 500000), "time"),
    (datetime.datetime(2001, 2, 3, 4, 5, 6, 7), "timestamp"),
    (datetime.datetime(2001, 2, 3, 4, 5, 6, 7, datetime.timezone.utc), "timestamptz"),
    (datetime.timedelta(days=3, seconds=5), "interval"),
    ([1, None, 3], "int[]"),
    (["a b", None], "text[]"),
    (None, "int"),
]


@check("types")
def types(connection):
    for binary in (False, True):
        with connection.cursor(binary=binary) as cursor:
            for value, name in VALUES:
                found = cursor.execute(f"SELECT %s::{name}", [value]).fetchone()[0]
                assert found == value, (binary, name, found, value)


@check("types as binary parameters")
def binary_types(connection):
    for value, name in VALUES:
        found = connection.execute(f"SELECT %b::{name}", [value]).fetchone()[0]
        assert found == value, (name, found, value)


@check("dict rows and names of columns")
def dicts(connection):
    from psycopg.rows import dict_row

    with connection.cursor(row_factory=dict_row) as cursor:
        assert cursor.execute("SELECT count(*), 1 AS one").fetchone() == {"count": 1, "one": 1}


@check("transactions")
def transactions(connection):
    connection.execute("CREATE TABLE IF NOT EXISTS pg3_t (a INT PRIMARY KEY)")
    connection.execute("TRUNCATE pg3_t")
    with connection.transaction():
        connection.execute("INSERT INTO pg3_t VALUES (1)")
        try:
            with connection.transaction():
                connection.execute("INSERT INTO pg3_t VALUES (1)")
        except psycopg.errors.UniqueViolation:
            pass
        connection.execute("INSERT INTO pg3_t VALUES (2)")
    assert connection.execute("SELECT count(*) FROM pg3_t").fetchone() == (2,)
    try:
        with connection.transaction():
            connection.execute("INSERT INTO pg3_t VALUES (3)")
            connection.execute("SELECT 1 / 0")
    except psycopg.errors.DivisionByZero:
        pass
    assert connection.execute("SELECT count(*) FROM pg3_t").fetchone() == (2,)


@check("pipelines")
def pipelines(connection):
    connection.execute("TRUNCATE pg3_t")
    with connection.pipeline() as pipeline:
        cursors = [connection.execute("INSERT INTO pg3_t VALUES (%s) RETURNING a", [n]) for n in range(100)]
        pipeline.sync()
        assert [cursor.fetchone()[0] for cursor in cursors] == list(range(100))
    try:
        with connection.pipeline():
            connection.execute("INSERT INTO pg3_t VALUES (1000)")
            connection.execute("INSERT INTO pg3_t VALUES (1)")
            connection.execute("INSERT INTO pg3_t VALUES (1001)")
    except psycopg.errors.UniqueViolation:
        pass
    assert connection.execute("SELECT count(*) FROM pg3_t WHERE a >= 1000").fetchone() == (0,)


@check("executemany")
def many(connection):
    connection.execute("TRUNCATE pg3_t")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO pg3_t VALUES (%s)", [(n,) for n in range(500)])
        assert cursor.rowcount == 500


@check("prepared statements")
def prepared(connection):
    for n in range(20):
        found = connection.execute("SELECT %s::int + a FROM pg3_t WHERE a = %s", [n, n], prepare=True).fetchone()
        assert found == (2 * n,), found
    connection.execute("DEALLOCATE ALL")
    assert connection.execute("SELECT 1").fetchone() == (1,)


@check("server cursors")
def cursors(connection):
    with connection.transaction(), connection.cursor("c") as cursor:
        cursor.itersize = 100
        cursor.execute("SELECT n FROM generate_series(1, 1000) AS g(n)")
        assert sum(row[0] for row in cursor) == 500500
    with connection.transaction(), connection.cursor("s", scrollable=True) as cursor:
        cursor.execute("SELECT n FROM generate_series(1, 10) AS g(n)")
        cursor.scroll(5)
        assert cursor.fetchone() == (6,)


@check("COPY")
def copies(connection):
    connection.execute("CREATE TABLE IF NOT EXISTS pg3_c (a INT, b TEXT, c NUMERIC(12,2))")
    connection.execute("TRUNCATE pg3_c")
    rows = [(n, None if n % 7 == 0 else f"row\t{n}\\", decimal.Decimal(n) / 4) for n in range(10000)]
    with connection.cursor() as cursor:
        with cursor.copy("COPY pg3_c FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        assert cursor.rowcount == 10000
        with cursor.copy("COPY (SELECT * FROM pg3_c ORDER BY a) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "numeric"])
            assert list(copy.rows()) == rows
        with cursor.copy("COPY pg3_c (a, b, c) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "numeric"])
            for row in rows[:100]:
                copy.write_row(row)
    assert connection.execute("SELECT count(*) FROM pg3_c").fetchone() == (10100,)
    try:
        with connection.cursor().copy("COPY pg3_c FROM STDIN") as copy:
            copy.write("no number\tx\t1\n")
        raise AssertionError("it is no number")
    except psycopg.errors.InvalidTextRepresentation:
        pass


@check("errors")
def errors(connection):
    for sql, kind in [
        ("SELECT nosuch", psycopg.errors.UndefinedColumn),
        ("SELECT * FROM nosuch", psycopg.errors.UndefinedTable),
        ("SELEKT", psycopg.errors.SyntaxError),
        ("SELECT 'x'::int", psycopg.errors.InvalidTextRepresentation),
        ("INSERT INTO pg3_t VALUES (1), (1)", psycopg.errors.UniqueViolation),
    ]:
        try:
            connection.execute(sql)
            raise AssertionError(sql)
        except kind as error:
            assert error.diag.message_primary, sql


@check("cancelling")
def cancel(connection):
    timer = threading.Timer(0.3, connection.cancel_safe)
    timer.start()
    try:
        connection.execute("SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 100000) b")
        raise AssertionError("it ended")
    except psycopg.errors.QueryCanceled:
        pass
    assert connection.execute("SELECT 1").fetchone() == (1,)


@check("notices")
def notices(connection):
    heard = []
    connection.add_notice_handler(lambda diag: heard.append((diag.severity, diag.sqlstate)))
    connection.execute("COMMIT")
    assert heard == [("WARNING", "25P01")], heard


@check("types by name")
def by_name(connection):
    from psycopg.types import TypeInfo

    assert TypeInfo.fetch(connection, "int4").oid == 23
