"""Panics of the engine's threads, and of what converts rows: errors as others, for the connection and through ADBC."""

import adbc_driver_manager
import adbc_driver_manager.dbapi
import numpy
import pandas
import pyarrow
import pytest

import gingham
from gingham import _internal

# Builds for users can't be asked for one.
pytestmark = pytest.mark.skipif(not hasattr(_internal, "panic_at"), reason="a build for users")

GROUPS = "SELECT g, count(*) AS c FROM t GROUP BY g ORDER BY g"


@pytest.fixture(autouse=True)
def nobody_asks_for_backtraces(monkeypatch):
    monkeypatch.delenv("RUST_BACKTRACE", raising=False)


@pytest.fixture
def filled(connection):
    connection.execute("CREATE TABLE t AS SELECT value AS n, value % 100 AS g FROM generate_series(1, 200000)")
    connection.execute("CREATE TABLE log (n BIGINT)")
    yield connection
    _internal.panic_at("", 0)


def fails(point, work, after=0):
    _internal.panic_at(point, after)
    with pytest.raises(Exception) as told:
        work()
    assert not _internal.panic_at("", 0), f"{point}: nobody came by"
    assert type(told.value) is gingham.InternalError, repr(told.value)
    assert told.value.sqlstate == "XX000"
    assert str(told.value).startswith(f"internal error: a fault made by a test at '{point}' (")


@pytest.mark.parametrize("point", ["launch", "statement", "morsel", "pipeline_end", "deliver", "show"])
def test_a_query(filled, point, capfd):
    right = filled.execute(GROUPS).fetchall()
    assert len(right) == 100
    fails(point, lambda: filled.execute(GROUPS).fetchall())
    assert filled.execute(GROUPS).fetchall() == right
    with filled.cursor() as other:
        assert other.execute(GROUPS).fetchall() == right
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("point", ["launch", "statement", "blocking", "job", "commit"])
def test_a_change(filled, point, capfd):
    fails(point, lambda: filled.execute("INSERT INTO log VALUES (1)"))
    assert filled.execute("SELECT count(*) FROM log").fetchone() == (0,)
    filled.execute("INSERT INTO log VALUES (1)")
    # What runs in a transaction of several statements is no job of a group commit.
    if point != "job":
        fails(point, lambda: filled.executemany("INSERT INTO log VALUES (?)", [[n] for n in range(10)]))
    assert filled.execute("SELECT count(*) FROM log").fetchone() == (1,)
    assert capfd.readouterr().err == ""


def test_values_in_and_rows_out(filled, tmp_path, capfd):
    frame = pandas.DataFrame({"n": numpy.arange(10)})
    fails("show", lambda: filled.execute("SELECT ? AS n", [1]))
    fails("show", lambda: filled.register("frame", frame))
    fails("show", lambda: filled.sql(GROUPS).df())
    fails("show", lambda: filled.execute("SELECT n FROM t").fetchmany(100))
    file = tmp_path / "numbers.csv"
    file.write_text("n\n1\n2\n")
    fails("load", lambda: filled.load(file, "log"))
    fails("statement", lambda: filled.sql(GROUPS).arrow())
    # Arrow's readers have errors of their own.
    for read in [lambda: filled.sql("SELECT n FROM t").arrow(), lambda: filled.sql("SELECT n FROM t").pl()]:
        _internal.panic_at("show", 1)
        with pytest.raises(Exception, match="internal error: a fault made by a test at 'show'"):
            read()
        assert not _internal.panic_at("", 0)
    assert filled.sql("SELECT n FROM t").arrow().num_rows == 200_000
    with filled.appender("log") as appender:
        appender.append(1)
    assert filled.execute("SELECT count(*) FROM log").fetchone() == (1,)
    assert capfd.readouterr().err == ""


def test_adbc(tmp_path, capfd):
    uri = str(tmp_path / "adbc.gingham")
    with adbc_driver_manager.dbapi.connect(
        driver=gingham.adbc_driver_path(), db_kwargs={"uri": uri}, autocommit=True
    ) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t AS SELECT value AS n, value % 100 AS g FROM generate_series(1, 200000)")
        cursor.execute("CREATE TABLE log (n BIGINT)")

        def fails(point, work, after=0):
            _internal.panic_at(point, after)
            with pytest.raises(Exception, match=f"internal error: a fault made by a test at '{point}'") as told:
                work()
            assert not _internal.panic_at("", 0), f"{point}: nobody came by"
            return told.value

        def query():
            cursor.execute(GROUPS)
            return cursor.fetchall()

        right = query()
        # Each call of the interface is a point.
        for point in ["launch", "statement", "morsel", "pipeline_end", "deliver", "show"]:
            error = fails(point, query)
            # A query that came before runs by its plan, and fails where its rows are read.
            if point == "launch":
                assert isinstance(error, adbc_driver_manager.InternalError) and error.sqlstate == "XX000", repr(error)
            assert query() == right
        for point in ["launch", "statement", "blocking", "job", "commit"]:
            error = fails(point, lambda: cursor.execute("INSERT INTO log VALUES (1)"))
            assert error.sqlstate == "XX000"
        cursor.execute("INSERT INTO log VALUES (1)")
        table = pyarrow.table({"n": pyarrow.array([1, 2], pyarrow.int64())})
        fails("job", lambda: cursor.adbc_ingest("log", table, mode="append"))
        assert cursor.adbc_ingest("log", table, mode="append") == 2
        cursor.execute("SELECT count(*) FROM log")
        assert cursor.fetchone() == (3,)
    with gingham.connect(uri) as again:
        assert again.execute("SELECT count(*) FROM log").fetchone() == (3,)
    assert capfd.readouterr().err == ""
