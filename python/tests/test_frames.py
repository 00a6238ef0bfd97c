"""Frames by the names of variables: each belongs to the one statement that named it, whatever other threads run."""

import os
import threading
import time

import pandas
import polars
import pyarrow
import pytest

import gingham

THREADS = 8
# How long threads race, in seconds.
RACE = 60 if os.environ.get("GINGHAM_NIGHTLY") else 5


def frame_of(kind, value, rows):
    """A frame whose rows are all `value`."""
    if kind == "pandas":
        return pandas.DataFrame({"x": [value] * rows})
    if kind == "polars":
        return polars.DataFrame({"x": [value] * rows})
    if kind == "lazy":
        return polars.LazyFrame({"x": [value] * rows})
    return pyarrow.table({"x": [value] * rows})


def race(execute, sql):
    """Threads that ask for a frame of one name until the time is over. Gives how many answers there were, and what was wrong."""
    end = time.monotonic() + RACE
    counts, wrong = [0] * THREADS, []

    def work(thread):
        turn = 0
        while time.monotonic() < end and not wrong:
            turn += 1
            value, rows = thread * 1_000_000 + turn, 1 + turn * 37 % 3000
            # Looked up by its name: in each thread another one.
            frame = frame_of(("pandas", "polars", "lazy", "pyarrow")[turn % 4], value, rows)  # noqa: F841
            query = "SELECT min(x) AS low, max(x) AS high, count(*) AS number FROM frame"
            try:
                relation = sql(query)
                kept = sql("SELECT x FROM frame WHERE x > 0 OR x = 0")
                answers = [
                    execute(query).fetchone(),
                    relation.fetchone(),
                    execute(query + " WHERE x > ?", [-1]).fetchone(),
                    tuple(sql(f"SELECT * FROM ({query}) q, (SELECT count(*) FROM frame) c").df().iloc[0])[:3],
                    tuple(relation.pl().row(0)),
                ]
                answers += [(table["x"][0].as_py(), table["x"][-1].as_py(), len(table)) for table in [kept.arrow()]]
            except Exception as error:  # noqa: BLE001 - shown by the test
                wrong.append(error)
                return
            wrong.extend((thread, turn, answer) for answer in answers if answer != (value, value, rows))
            counts[thread] += 1

    threads = [threading.Thread(target=work, args=[thread]) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, wrong


@pytest.mark.parametrize("which", ["one connection", "the default connection"])
def test_each_thread_finds_its_own_frame(connection, which):
    shared = connection if which == "one connection" else gingham
    counts, wrong = race(shared.execute, shared.sql)
    assert not wrong and all(counts), (counts, wrong[:5])
    assert shared.execute("SHOW TABLES").fetchall() == [], "nothing was registered"


def test_a_small_frame_beside_a_large_one(connection):
    """A long statement over one frame leaves the name to others."""
    large = threading.Event()
    failures = []

    def slow():
        frame = pandas.DataFrame({"x": range(300_000)})  # noqa: F841
        try:
            for _ in range(10):
                assert connection.execute("SELECT sum(x), count(DISTINCT x) FROM frame").fetchone() == (44_999_850_000, 300_000)
        except Exception as error:  # noqa: BLE001 - shown by the test
            failures.append(error)
        finally:
            large.set()

    thread = threading.Thread(target=slow)
    thread.start()
    frame = pandas.DataFrame({"x": [1, 2]})  # noqa: F841
    asked = 0
    while not large.is_set():
        assert connection.execute("SELECT sum(x) FROM frame").fetchone() == (3,)
        asked += 1
    thread.join()
    assert not failures and asked


def test_rows_are_those_of_when_the_relation_was_made(connection):
    frame = pandas.DataFrame({"n": [1, 2]})
    relation = connection.sql("SELECT sum(n) AS n FROM frame")
    frame.loc[0, "n"] = 40
    assert relation.fetchone() == (3,) and relation.df()["n"].tolist() == [3]
    assert connection.sql("SELECT sum(n) AS n FROM frame").fetchone() == (42,)
    calls = []

    class Counted:
        def __arrow_c_stream__(self, requested_schema=None):
            calls.append(True)
            return pyarrow.table({"n": [5]}).__arrow_c_stream__()

    counted = Counted()  # noqa: F841
    relation = connection.sql("SELECT n FROM counted")
    assert relation.columns == ["n"] and relation.fetchall() == relation.fetchall() == [(5,)]
    assert len(calls) == 1, "it is asked for its rows once"
    # What can be read once is, by the relation's first run.
    cursor = connection.execute("SELECT value AS n FROM generate_series(1, 3)")  # noqa: F841
    relation = connection.sql("SELECT sum(n) AS n FROM cursor")
    assert relation.columns == ["n"] and relation.fetchone() == (6,)
    with pytest.raises(gingham.OperationalError, match="read already"):
        relation.fetchall()


def test_statements_of_every_kind_read_frames(connection, tmp_path):
    frame = polars.DataFrame({"n": [1, 2, 3]})
    assert connection.execute("CREATE TABLE t AS SELECT n FROM frame").rowcount == 3
    assert connection.execute("INSERT INTO t SELECT n + ? FROM frame", [10]).rowcount == 3
    assert connection.execute("UPDATE t SET n = 0 FROM frame WHERE t.n = frame.n").rowcount == 3
    assert connection.execute("DELETE FROM t USING frame WHERE t.n = frame.n + 10").rowcount == 3
    assert connection.execute(f"COPY frame TO '{tmp_path}/frame.csv' (HEADER true)").rowcount == 3
    assert (tmp_path / "frame.csv").read_text() == "n\n1\n2\n3\n"
    assert connection.execute("DESCRIBE frame").fetchone()[:2] == ("n", "BIGINT")
    assert "read rows of the program" in connection.sql("SELECT n FROM frame").explain()
    for view in ("VIEW", "TEMP VIEW"):
        with pytest.raises(gingham.ProgrammingError, match="refers to 'frame', a table of the program"):
            connection.execute(f"CREATE {view} v AS SELECT n FROM frame")
    # What is prepared keeps it; a table of the same name is made of it.
    connection.execute("PREPARE p AS SELECT sum(n) FROM frame WHERE n > $1")
    connection.execute("CREATE TABLE frame AS SELECT n * 2 AS n FROM frame")
    del frame
    assert connection.execute("EXECUTE p(1)").fetchone() == (5,)
    assert connection.execute("SELECT sum(n) FROM frame").fetchone() == (12,)
    # In a transaction, which the search for the name does not end.
    frame2 = pandas.DataFrame({"n": [7]})  # noqa: F841
    with connection.transaction():
        connection.execute("INSERT INTO t SELECT n FROM frame2")
        connection.execute("INSERT INTO t SELECT n FROM frame2")
    assert connection.execute("SELECT count(*) FROM t WHERE n = 7").fetchone() == (2,)


def test_frames_read_while_a_result_is_fetched(connection):
    connection.execute("CREATE TABLE source AS SELECT value AS id, 'name' AS word FROM generate_series(1, 100000)")
    connection.execute("CREATE TABLE target (id BIGINT, word VARCHAR)")
    rows = connection.execute("SELECT * FROM source")
    while portion := rows.fetchmany(30_000):
        part = pyarrow.table({"id": [row[0] for row in portion], "word": [row[1] for row in portion]})  # noqa: F841
        connection.execute("INSERT INTO target SELECT * FROM part")
    assert connection.execute("SELECT count(*), count(DISTINCT id) FROM target").fetchone() == (100_000, 100_000)
