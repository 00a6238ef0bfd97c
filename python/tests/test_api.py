"""What analysts are used to."""

import json
import subprocess
import sys
import time
import warnings

import pandas
import polars
import pyarrow
import pytest

import gingham

table_of_module = pyarrow.table({"n": [1, 2, 3]})


def test_relations_run_when_wanted(connection):
    connection.execute("CREATE TABLE t AS SELECT value AS n, 'w' || value AS word FROM generate_series(1, 5)")
    relation = connection.sql("SELECT n, word FROM t ORDER BY n")
    assert relation.columns == ["n", "word"]
    assert relation.schema() == [("n", "BIGINT"), ("word", "VARCHAR")]
    assert [relation.fetchone(), relation.fetchone()] == [(1, "w1"), (2, "w2")]
    assert relation.fetchmany(2) == [(3, "w3"), (4, "w4")]
    assert len(relation.fetchall()) == 5
    connection.execute("DELETE FROM t WHERE n > 2")
    assert relation.fetchall() == [(1, "w1"), (2, "w2")]
    assert relation.df().equals(pandas.DataFrame({"n": [1, 2], "word": ["w1", "w2"]}))
    assert relation.pl().equals(polars.DataFrame({"n": [1, 2], "word": ["w1", "w2"]}))
    assert relation.arrow().to_pylist() == [{"n": 1, "word": "w1"}, {"n": 2, "word": "w2"}]
    assert relation.arrow().schema.field("word").type == pyarrow.string()
    assert "Scan" in relation.explain() or "scan" in relation.explain()
    assert "│  1 │" not in repr(relation) and "w1" in repr(relation) and "2 rows, 2 columns" in repr(relation)
    assert connection.sql("CREATE TABLE u (n INTEGER)") is None
    assert connection.sql("SHOW TABLES").fetchall()
    with pytest.raises(gingham.ProgrammingError):
        connection.sql("SELECT nosuch FROM t")


class Counted:
    """A connection's core that notes which statements are run."""

    def __init__(self, core):
        self.core = core
        self.ran = []

    def __getattr__(self, name):
        return getattr(self.core, name)

    def run(self, sql, *rest):
        self.ran.append(sql)
        return self.core.run(sql, *rest)


def test_what_is_no_query_is_run_once(connection):
    """By `sql()`: at once, whatever is done with its rows."""
    connection.execute("CREATE TABLE t (n INTEGER)")
    connection.sql("INSERT INTO t VALUES (1)")
    relation = connection.sql("INSERT INTO t VALUES (2), (3) RETURNING n, n + 1 AS m")
    for _ in range(2):
        assert relation.fetchall() == [(2, 3), (3, 4)]
        assert relation.schema() == [("n", "INTEGER"), ("m", "BIGINT")] and relation.columns == ["n", "m"]
        assert "2 rows, 2 columns" in repr(relation) and relation.arrow().num_rows == 2
        assert len(relation.df()) == 2 and relation.reader().read_all().num_rows == 2
    assert [relation.fetchone(), relation.fetchone(), relation.fetchone()] == [(2, 3), (3, 4), None]
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (3,)
    relation = connection.sql("WITH w AS (SELECT 9 AS n) INSERT INTO t SELECT n FROM w RETURNING n")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (4,), "before its rows are wanted"
    assert relation.fetchall() == relation.fetchall() == [(9,)]
    assert connection.sql("SELECT sum(n) FROM relation").fetchone() == (9,), "it is a frame"
    assert connection.sql("DELETE FROM t WHERE n = 9 RETURNING n").pl().rows() == [(9,)]
    assert connection.sql("PREPARE p AS INSERT INTO t VALUES ($1) RETURNING n") is None
    assert connection.sql("EXECUTE p(4)").fetchall() == [(4,)]
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (4,)
    assert "insert into t" in connection.sql("INSERT INTO t SELECT 1 WHERE false RETURNING n").explain()
    analyzed = connection.sql("SELECT n FROM t WHERE n > 1").explain(analyze=True)
    assert "scan t where n > 1" in analyzed and "running" in analyzed and "Exec" not in analyzed
    plan = json.loads(connection.sql("SELECT n FROM t").explain(format="json"))
    assert plan[0]["Plan"]["Node Type"]
    with pytest.raises(ValueError, match="format is text, json or html, not 'xml'"):
        connection.sql("SELECT n FROM t").explain(format="xml")
    counted = connection._core = Counted(connection._core)
    for text in ("VACUUM", "OPTIMIZE t", "SHOW TABLES", "EXPLAIN ANALYZE SELECT n FROM t", "DESCRIBE t", "EXECUTE p(5)", "BEGIN"):
        counted.ran.clear()
        relation = connection.sql(text)
        if relation is not None:
            assert relation.fetchall() == relation.fetchall() and relation.columns
        assert counted.ran == [text]
    counted.ran.clear()
    relation = connection.sql("SELECT n FROM t")
    assert counted.ran == [] and len(relation.fetchall()) == len(relation.fetchall()) == 5
    assert counted.ran == ["SELECT n FROM t"] * 2, "a query is run anew"
    # A transaction, also one that was rolled back, is ended.
    assert connection.in_transaction
    assert connection.sql("INSERT INTO t VALUES (6); INSERT INTO t VALUES (7) RETURNING n").fetchall() == [(7,)]
    assert connection.sql("ROLLBACK") is None and not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (5,)
    connection.execute("SET gingham.idle_in_transaction_timeout = '50 ms'")
    connection.sql("BEGIN")
    while connection._core.transaction() == "open":
        time.sleep(0.01)
    assert connection.sql("ROLLBACK") is None and not connection.in_transaction


def test_shown_values_are_short_and_safe(connection, capsys):
    relation = connection.sql("SELECT '<b>' || repeat('x', 1000) AS t, NULL AS n")
    text = repr(relation)
    assert max(map(len, text.splitlines())) < 100 and "NULL" in text
    assert "&lt;b&gt;" in relation._repr_html_() and "<b>" not in relation._repr_html_()
    connection.sql("SELECT value FROM generate_series(1, 1000)").show(3)
    assert "the first 3 rows" in capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80, 120, 1000])
def test_wide_tables_fit_the_terminal(connection, monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = ", ".join(f"value * {at} AS column_{at}" for at in range(48))
    connection.sql(f"SELECT {columns} FROM generate_series(1, 3)").show()
    shown = capsys.readouterr().out.rstrip("\n")
    lines = shown.splitlines()
    assert max(map(len, lines[:-1])) <= width and len({len(line) for line in lines[:-1]}) == 1, shown
    names = [name.strip() for name in lines[1].strip("│").split("│")]
    if width == 1000:
        assert names == [f"column_{at}" for at in range(48)] and lines[-1] == "3 rows, 48 columns"
        return
    gap = names.index("…")
    last = len(names) - 1 - gap
    assert names[:gap] == [f"column_{at}" for at in range(gap)], "the first columns"
    assert names[gap + 1 :] == [f"column_{at}" for at in range(48 - last, 48)], "the last ones"
    assert gap >= 1 and gap - last in (0, 1)
    assert lines[-1] == f"3 rows, 48 columns, of which {48 - gap - last} are not shown"
    # There is no room for one more.
    assert len(lines[0]) + len("│ column_10 ") > width


def test_values_are_cut_before_columns_are_left_out(connection, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    relation = connection.sql("SELECT repeat('x', 50) AS a, repeat('y', 50) AS b")
    lines = repr(relation).splitlines()
    assert len(lines[0]) <= 80 and "x" * 29 + "…" in lines[4] and "y" * 29 + "…" in lines[4]
    assert lines[-1] == "1 row, 2 columns"
    monkeypatch.setenv("COLUMNS", "20")
    lines = repr(relation).splitlines()
    assert "x" * 19 + "…" in lines[4] and "y" not in lines[4], "one column at least, however narrow"
    assert lines[-1] == "1 row, 2 columns, of which 1 is not shown"


def test_a_table_in_the_place_of_a_variable_is_warned_of_once(connection):
    connection.execute("CREATE TABLE sales AS SELECT 1 AS n")
    sales, other = pandas.DataFrame({"n": [2]}), pandas.DataFrame({"n": [3]})
    with pytest.warns(UserWarning, match="the table sales is read, not the variable of that name") as told:
        assert connection.sql("SELECT n FROM sales").fetchall() == [(1,)]
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert connection.execute("SELECT n + 1 FROM sales").fetchall() == [(2,)]
        assert connection.execute("SELECT n FROM other").fetchall() == [(3,)]
        # A table that is made of the variable of its name.
        connection.execute("CREATE TABLE other AS SELECT * FROM other")
        connection.register("mine", sales)
        mine = other
        assert connection.execute("SELECT n FROM mine").fetchall() == [(2,)]
    with pytest.warns(UserWarning, match="the table other is read"):
        connection.execute("SELECT count(*) FROM other")
    assert len(mine) == 1


def test_names_of_variables_stand_for_tables(connection):
    frame = pandas.DataFrame({"n": [1, 2, 3]})
    assert connection.sql("SELECT sum(n) FROM frame").fetchone() == (6,)
    assert connection.execute("SELECT sum(n) FROM frame WHERE n > ?", [1]).fetchone() == (5,)
    frame = polars.DataFrame({"n": [10]})
    assert connection.sql("SELECT sum(n) FROM frame").fetchone() == (10,), "no plan of before is used"
    frame = polars.LazyFrame({"n": [11]})
    assert connection.sql("SELECT sum(n) FROM frame").fetchone() == (11,)
    Frame = pyarrow.table({"n": [12]})  # noqa: N806
    assert connection.sql("SELECT sum(n) FROM Frame").fetchone() == (12,)
    assert connection.sql('SELECT sum(n) FROM "Frame"').fetchone() == (12,)
    assert connection.sql("SELECT sum(n) FROM table_of_module").fetchone() == (6,)
    relation = connection.sql("SELECT n + 1 AS n FROM table_of_module")
    assert connection.sql("SELECT sum(n) FROM relation").fetchone() == (9,)
    assert connection.sql("SELECT count(*) FROM relation a JOIN Frame b ON a.n < b.n").fetchone() == (3,)
    connection.execute("CREATE TABLE copied AS SELECT * FROM table_of_module")
    assert connection.execute("SELECT count(*) FROM copied").fetchone() == (3,)
    # A relation holds the frames of when it was made.
    kept = connection.sql("SELECT n FROM frame")
    frame = None
    assert kept.fetchall() == [(11,)]
    # Tables go before variables, and what is no frame is no table.
    connection.execute("CREATE TABLE Frame (n INTEGER)")
    assert connection.sql("SELECT count(*) FROM Frame").fetchone() == (0,)
    number = 7  # noqa: F841
    with pytest.raises(gingham.ProgrammingError, match="'number' does not exist"):
        connection.sql("SELECT * FROM number")
    assert connection.execute("SHOW TABLES").fetchall() == [
        ("public", "copied", "BASE TABLE"),
        ("public", "frame", "BASE TABLE"),
    ], "nothing stays registered"


def test_registered_frames(connection):
    reader = pyarrow.RecordBatchReader.from_batches(
        pyarrow.schema([("n", pyarrow.int64())]), iter([pyarrow.record_batch({"n": [1, 2]}), pyarrow.record_batch({"n": [3]})])
    )
    connection.register("once", reader)
    assert connection.execute("SELECT sum(n) FROM once").fetchone() == (6,)
    with pytest.raises(gingham.OperationalError, match="read already"):
        connection.execute("SELECT sum(n) FROM once").fetchone()
    connection.register("frame", pyarrow.table({"n": pyarrow.chunked_array([[1], [2, 3]])}))
    for _ in range(2):
        assert connection.execute("SELECT sum(n) FROM frame").fetchone() == (6,)
    connection.register("empty", pandas.DataFrame({"n": pandas.Series([], dtype="int64")}))
    assert connection.execute("SELECT count(*) FROM empty").fetchone() == (0,)
    connection.register("none", pyarrow.table({"n": pyarrow.array([], pyarrow.int64())}))
    assert connection.execute("SELECT count(*) FROM none").fetchone() == (0,)
    connection.unregister("frame").unregister("frame")
    with pytest.raises(gingham.ProgrammingError):
        connection.execute("SELECT * FROM frame")
    with pytest.raises(TypeError, match="builtins.int"):
        connection.register("x", 7)
    with pytest.raises(gingham.NotSupportedError, match="'huge' is of the Arrow type Decimal256"):
        connection.register("x", pyarrow.table({"huge": pyarrow.array([1], pyarrow.decimal256(60))}))


def test_appending(connection):
    connection.execute("CREATE TABLE t (n INTEGER NOT NULL, word VARCHAR)")
    with connection.appender("t") as appender:
        appender.append(1, "one")
        appender.append_frame(pandas.DataFrame({"n": [2], "word": ["two"]}))
        appender.append_frame(polars.DataFrame({"n": [3], "word": ["three"]}))
    assert connection.execute("SELECT n, word FROM t ORDER BY n").fetchall() == [(1, "one"), (2, "two"), (3, "three")]
    with pytest.raises(ZeroDivisionError), connection.appender("t") as appender:
        appender.append(4, "four")
        raise ZeroDivisionError
    with pytest.raises(gingham.Error, match="'n'"):
        appender = connection.appender("t")
        appender.append(None, "none")
        appender.close()
    with pytest.raises(gingham.InterfaceError, match="closed"):
        appender.append(5, "five")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (3,)


def test_files(connection, tmp_path):
    for part in range(2):
        connection.execute(
            f"COPY (SELECT value + {part * 10} AS n, 'w' AS word FROM generate_series(1, 10)) TO '{tmp_path}/part{part}.parquet'"
        )
    assert connection.load(f"{tmp_path}/part*.parquet", "t", layout="byteslice") == 20
    assert "byteslice" in connection.execute("SHOW CREATE TABLE t").fetchone()[-1]
    assert connection.load([tmp_path / "part0.parquet"], "t") == 10
    with pytest.raises(gingham.ProgrammingError, match="nosuch"):
        connection.load(f"{tmp_path}/nosuch*.parquet", "t")
    with pytest.raises(gingham.DataError, match="speed"):
        connection.load([tmp_path / "part0.parquet"], "t", speed=3)
    assert connection.read_parquet(tmp_path / "part1.parquet").fetchone() == (11, "w")
    (tmp_path / "it's.csv").write_text("n;word\n1;x\n")
    assert connection.load(tmp_path / "it's.csv", "c", delimiter=";") == 1
    (tmp_path / "it's.csv").write_text("n,word\n1,x\n")
    assert connection.read_csv(tmp_path / "it's.csv").fetchall() == [(1, "x")]
    (tmp_path / "rows.json").write_text('{"n": 1}\n{"n": 2}\n')
    assert connection.read_json(tmp_path / "rows.json").fetchall() == [(1,), (2,)]


def test_settings_are_attributes(connection):
    assert connection.settings.threads == "2"
    connection.settings.cache_plans = False
    assert connection.settings.cache_plans == "false"
    assert "memory_limit" in dir(connection.settings)
    with pytest.raises(gingham.ProgrammingError, match="did you mean"):
        connection.settings.thread = 3
    with pytest.raises(gingham.ProgrammingError):
        gingham.connect(config={"nosuch": 1})


def test_the_module_has_a_connection():
    frame = pandas.DataFrame({"n": [1, 2]})  # noqa: F841
    assert gingham.sql("SELECT sum(n) FROM frame").fetchone() == (3,)
    assert gingham.execute("SELECT ?", [1]).fetchone() == (1,)
    gingham.register("kept", pandas.DataFrame({"n": [5]}))
    assert gingham.sql("SELECT n FROM kept").fetchall() == [(5,)]
    gingham.default_connection().close()
    assert gingham.sql("SELECT 1 AS n").fetchall() == [(1,)], "a new one takes its place"


def test_importing_imports_nothing_else():
    code = (
        "import sys, gingham; gingham.sql('SELECT 1 AS n').fetchall(); gingham.sql('SELECT 1 AS n').show();"
        "print([name for name in ('numpy', 'pandas', 'polars', 'pyarrow') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_pandas_works_without_pyarrow():
    code = """
import sys
sys.modules["pyarrow"] = None
import pandas, gingham
frame = pandas.DataFrame({"n": [1, 2], "word": ["a", None]})
back = gingham.sql("SELECT n, word, NULL::INTEGER AS i, DATE '2024-01-01' AS d FROM frame").df()
assert back["word"].tolist()[0] == "a" and str(back["i"].dtype) == "Int32", back.dtypes
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version_is_known():
    assert gingham.__version__.count(".") == 2
    assert (gingham.apilevel, gingham.threadsafety, gingham.paramstyle) == ("2.0", 2, "qmark")


def test_notices_are_told(connection):
    with pytest.warns(UserWarning, match="there is no transaction in progress"):
        connection.execute("COMMIT")
    told = []
    connection.on_notice = lambda severity, sqlstate, text: told.append((severity, sqlstate, text))
    connection.execute("COMMIT")
    connection.execute("LISTEN channel")
    assert told == [
        ("WARNING", "25P01", "there is no transaction in progress"),
        ("NOTICE", "00000", "LISTEN has no effect: there is no NOTIFY"),
    ]
    connection.on_notice = None
    with pytest.raises(TypeError, match="something that can be called"):
        connection.on_notice = 7


def test_begin_within_a_transaction_is_an_error(connection):
    connection.begin()
    with pytest.raises(gingham.InternalError, match="a transaction is open already") as told:
        connection.begin()
    assert told.value.sqlstate == "25001"
    connection.rollback()
