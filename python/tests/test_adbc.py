"""The library as a driver of ADBC, through Python's driver manager."""

import datetime
import threading
import time

import adbc_driver_manager
import adbc_driver_manager.dbapi
import pyarrow
import pytest

import gingham


@pytest.fixture
def connect(tmp_path):
    made = []

    def make(autocommit=True, **options):
        options.setdefault("uri", str(tmp_path / "adbc.gingham"))
        connection = adbc_driver_manager.dbapi.connect(
            driver=gingham.adbc_driver_path(), db_kwargs=options, autocommit=autocommit
        )
        made.append(connection)
        return connection

    yield make
    for connection in made:
        connection.close()


def rows(connection, sql, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def test_queries_and_parameters(connect):
    connection = connect()
    assert rows(connection, "SELECT 1 AS n, 'x' AS word") == [(1, "x")]
    assert rows(connection, "SELECT $1 + 1 AS n", (41,)) == [(42,)]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (n INTEGER, word VARCHAR)")
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "one"), (2, None), (3, "three")])
        assert cursor.rowcount == 3
        cursor.execute("SELECT n, word FROM t ORDER BY n")
        assert [column[0] for column in cursor.description] == ["n", "word"]
        table = cursor.fetch_arrow_table()
        assert table.schema == pyarrow.schema([("n", pyarrow.int32()), ("word", pyarrow.string())])
        assert table.to_pydict() == {"n": [1, 2, 3], "word": ["one", None, "three"]}
        # A query for each of several rows of parameters.
        cursor.adbc_statement.set_sql_query("SELECT word FROM t WHERE n = ?")
        cursor.adbc_statement.prepare()
        asked = pyarrow.schema(cursor.adbc_statement.get_parameter_schema())
        assert asked.types == [pyarrow.int32()]
        cursor.adbc_statement.bind(pyarrow.record_batch({"n": pyarrow.array([3, 1], pyarrow.int32())}))
        stream, _ = cursor.adbc_statement.execute_query()
        read = pyarrow.RecordBatchReader.from_stream(stream).read_all()
        assert read.column("word").to_pylist() == ["three", "one"]
        with pytest.raises(adbc_driver_manager.NotSupportedError):
            cursor.adbc_statement.execute_partitions()


def test_transactions(connect):
    one, two = connect(autocommit=False), connect()
    with one.cursor() as cursor:
        cursor.execute("CREATE TABLE t (n INTEGER)")
    one.commit()
    with one.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1)")
        assert rows(two, "SELECT count(*) FROM t") == [(0,)]
    one.rollback()
    assert rows(one, "SELECT count(*) FROM t") == [(0,)]
    one.commit()
    with one.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (2)")
    one.commit()
    assert rows(two, "SELECT n FROM t") == [(2,)]
    with pytest.raises(adbc_driver_manager.Error, match="commits each statement"):
        two.adbc_connection.commit()


def test_ingest_in_each_mode(connect):
    connection = connect()
    table = pyarrow.table({"n": [1, 2, 3], "Word": ["a", None, "c"]})
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("t", table, mode="create") == 3
        with pytest.raises(adbc_driver_manager.ProgrammingError) as told:
            cursor.adbc_ingest("t", table, mode="create")
        assert (told.value.status_code, told.value.sqlstate) == (adbc_driver_manager.AdbcStatusCode.ALREADY_EXISTS, "42P07")
        assert cursor.adbc_ingest("t", table.slice(0, 1), mode="append") == 1
        assert cursor.adbc_ingest("t", table.to_reader(), mode="create_append") == 3
        # By name, in another order.
        assert cursor.adbc_ingest("t", table.select(["Word", "n"]), mode="append") == 3
        assert rows(connection, 'SELECT count(*), sum(n), count("Word") FROM t') == [(10, 19, 7)]
        assert cursor.adbc_ingest("t", table.slice(1), mode="replace") == 2
        assert cursor.adbc_ingest("made", table, mode="create_append") == 3
        assert rows(connection, 'SELECT n, "Word" FROM t ORDER BY n') == [(2, None), (3, "c")]
        with pytest.raises(adbc_driver_manager.ProgrammingError) as told:
            cursor.adbc_ingest("nosuch", table, mode="append")
        assert told.value.sqlstate == "42P01"
        with pytest.raises(adbc_driver_manager.Error):
            cursor.adbc_ingest("t", pyarrow.table({"other": [1]}), mode="append")
        cursor.execute("CREATE SCHEMA s")
        assert cursor.adbc_ingest("u", table, mode="create", db_schema_name="s") == 3
        assert rows(connection, "SELECT count(*) FROM s.u") == [(3,)]
        assert cursor.adbc_ingest("own", table, mode="create", temporary=True) == 3
        assert rows(connection, "SELECT count(*) FROM own") == [(3,)]
    with pytest.raises(adbc_driver_manager.Error):
        rows(connect(), "SELECT * FROM own")


def test_a_failed_replacement_leaves_the_table(connect):
    connection = connect()
    batches = [pyarrow.record_batch({"n": [1]})]

    def failing():
        yield batches[0]
        raise RuntimeError("the sensor is gone")

    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", pyarrow.table({"n": [7]}), mode="create")
        with pytest.raises(Exception, match="sensor"):
            reader = pyarrow.RecordBatchReader.from_batches(batches[0].schema, failing())
            cursor.adbc_ingest("t", reader, mode="replace")
    assert rows(connection, "SELECT n FROM t") == [(7,)]


def test_an_ingest_is_seen_by_no_other_statement(connect):
    connection = connect()
    seen = []

    def batches():
        for n in range(3):
            seen.append(rows(connection, "SHOW TABLES"))
            yield pyarrow.record_batch({"n": [n]})

    with connection.cursor() as cursor:
        for mode in ("create", "append", "replace"):
            reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"n": pyarrow.int64()}), batches())
            # A name like that of the stream.
            assert cursor.adbc_ingest("gingham_ingest", reader, mode=mode) == 3
    assert rows(connection, "SELECT count(*) FROM gingham_ingest") == [(3,)]
    assert len(seen) == 9 and {name for tables in seen for _, name, _ in tables} <= {"gingham_ingest"}, seen


def test_what_the_database_holds(connect):
    connection = connect()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b DECIMAL(9,2) DEFAULT 1, c VARCHAR NOT NULL)")
        cursor.execute("CREATE VIEW v AS SELECT a FROM t")
    (catalog,) = connection.adbc_get_objects().read_all().to_pylist()
    assert catalog["catalog_name"] == "gingham"
    schemas = {own["db_schema_name"]: own["db_schema_tables"] for own in catalog["catalog_db_schemas"]}
    tables = {own["table_name"]: own for own in schemas["public"]}
    assert {"t", "v"} <= set(tables)
    assert (tables["t"]["table_type"], tables["v"]["table_type"]) == ("BASE TABLE", "VIEW")
    columns = tables["t"]["table_columns"]
    assert [(own["column_name"], own["xdbc_type_name"], own["xdbc_is_nullable"]) for own in columns] == [
        ("a", "INTEGER", "NO"),
        ("b", "DECIMAL(9,2)", "YES"),
        ("c", "VARCHAR", "NO"),
    ]
    assert columns[1]["xdbc_decimal_digits"] == 2 and columns[1]["xdbc_column_def"] is not None
    keys = [own for own in tables["t"]["table_constraints"] if own["constraint_type"] == "PRIMARY KEY"]
    assert [own["constraint_column_names"] for own in keys] == [["a"]]

    def found(**filters):
        (catalog,) = connection.adbc_get_objects(**filters).read_all().to_pylist()
        return [
            own["table_name"]
            for schema in catalog["catalog_db_schemas"]
            for own in schema["db_schema_tables"] or []
            if schema["db_schema_name"] == "public"
        ]

    assert found(depth="tables", table_name_filter="t%") == ["t"]
    assert found(depth="tables", table_types_filter=["VIEW"]) == ["v"]
    assert connection.adbc_get_objects(catalog_filter="nosuch").read_all().num_rows == 0
    assert connection.adbc_get_objects(depth="catalogs").read_all().to_pylist() == [
        {"catalog_name": "gingham", "catalog_db_schemas": None}
    ]
    told = connection.adbc_get_table_schema("t")
    assert told.names == ["a", "b", "c"] and told.field("c").type == pyarrow.string(), "as queries give it"
    with pytest.raises(adbc_driver_manager.ProgrammingError):
        connection.adbc_get_table_schema("nosuch")
    assert set(connection.adbc_get_table_types()) == {"BASE TABLE", "VIEW", "LOCAL TEMPORARY"}
    info = connection.adbc_get_info()
    assert (info["vendor_name"], info["driver_name"]) == ("Gingham", "ADBC Gingham Driver")
    assert info["vendor_version"] == gingham.__version__ and info["driver_adbc_version"] == 1_001_000


@pytest.mark.parametrize(
    ("sql", "exception", "sqlstate"),
    [
        ("SELEKT 1", adbc_driver_manager.ProgrammingError, "42601"),
        ("SELECT nosuch", adbc_driver_manager.ProgrammingError, "42703"),
        ("INSERT INTO k VALUES (1), (1)", adbc_driver_manager.IntegrityError, "23505"),
        ("REINDEX", adbc_driver_manager.NotSupportedError, "0A000"),
        ("INSERT INTO k VALUES ('x')", adbc_driver_manager.DataError, "22P02"),
    ],
)
def test_errors_have_status_and_sqlstate(connect, sql, exception, sqlstate):
    connection = connect()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS k (n INTEGER PRIMARY KEY)")
        with pytest.raises(exception) as told:
            cursor.execute(sql)
    assert told.value.sqlstate == sqlstate


def test_cancelling(connect):
    connection = connect()
    endless = "CREATE TABLE never AS SELECT a.value FROM generate_series(1, 100000000) a, generate_series(1, 1000) b WHERE a.value < 0"
    with connection.cursor() as cursor:

        def cancel():
            time.sleep(0.5)
            cursor.adbc_cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(adbc_driver_manager.OperationalError) as told:
            cursor.execute(endless)
        thread.join()
    assert told.value.status_code == adbc_driver_manager.AdbcStatusCode.CANCELLED
    assert rows(connection, "SELECT 1") == [(1,)]


def test_options(connect, tmp_path):
    with pytest.raises(adbc_driver_manager.Error, match="whole number"):
        connect(**{"gingham.threads": "many"})
    with pytest.raises(adbc_driver_manager.NotSupportedError, match="nosuch"):
        connect(nosuch="1")
    connection = connect(**{"uri": f"file:{tmp_path}/other.gingham", "gingham.threads": "2"})
    assert rows(connection, "SHOW gingham.threads") == [("2",)]
    assert (tmp_path / "other.gingham").is_dir()
    memory = connect(uri=":memory:")
    with memory.cursor() as cursor:
        cursor.execute("CREATE TABLE t (n INTEGER)")
    # The package and the driver are one library: a database that is open in one is shared with the other.
    with gingham.connect(tmp_path / "other.gingham") as own:
        own.execute("CREATE TABLE shared AS SELECT 7 AS n")
        assert rows(connection, "SELECT n FROM shared") == [(7,)]


def test_values_of_arrow_that_sql_calls_otherwise(connect):
    connection = connect()
    spans = pyarrow.array([datetime.timedelta(days=1, seconds=5), None], pyarrow.duration("ms"))
    uuids = pyarrow.array([bytes(range(16)), None], pyarrow.uuid())
    text = "00010203-0405-0607-0809-0a0b0c0d0e0f"
    with connection.cursor() as cursor:
        cursor.adbc_statement.set_sql_query("SELECT CAST($1 AS VARCHAR) AS span, $2 AS uuid")
        cursor.adbc_statement.prepare()
        cursor.adbc_statement.bind(pyarrow.record_batch({"a": spans[:1], "b": uuids[:1]}))
        stream, _ = cursor.adbc_statement.execute_query()
        read = pyarrow.RecordBatchReader.from_stream(stream).read_all()
        assert read.to_pylist() == [{"span": "1 day 00:00:05", "uuid": text}]
        cursor.adbc_ingest("ids", pyarrow.table({"id": uuids}))
        assert rows(connection, "SELECT id FROM ids ORDER BY id NULLS LAST") == [(text,), (None,)]
        cursor.execute("SELECT TIME '24:00' AS closing")
        with pytest.raises(Exception, match="'closing' has the time 24:00:00"):
            cursor.fetchall()
