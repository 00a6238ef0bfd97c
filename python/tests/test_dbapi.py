"""The published suite of DB-API 2.0, and what it leaves out."""

import decimal

import dbapi20
import pytest

import gingham


class TestCompliance(dbapi20.DatabaseAPI20Test):
    driver = gingham

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.connect_args = (str(tmp_path / "dbapi.gingham"),)

    def test_non_idempotent_close(self):
        """DB-API does not ask for an error at the second close any more; here it does no harm."""
        connection = self._connect()
        connection.close()
        connection.close()

    def test_nextset(self):
        assert not hasattr(gingham.Cursor, "nextset"), "it is optional, and a statement has one result"

    def test_setoutputsize(self):
        self._connect().cursor().setoutputsize(1000)


def test_cursors_share_the_transaction(connection):
    one, two = connection.cursor(), connection.cursor()
    one.execute("CREATE TABLE t (n INTEGER)")
    connection.commit()
    connection.rollback()  # neither has anything to do
    one.execute("BEGIN")
    assert connection.in_transaction
    one.execute("INSERT INTO t VALUES (1)")
    assert two.execute("SELECT count(*) FROM t").fetchone() == (1,)
    connection.rollback()
    assert two.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with connection.transaction():
        two.execute("INSERT INTO t VALUES (2)")
    with pytest.raises(ZeroDivisionError), connection.transaction():
        two.execute("INSERT INTO t VALUES (3)")
        raise ZeroDivisionError
    assert two.execute("SELECT n FROM t").fetchall() == [(2,)]


def test_a_block_commits_and_closes(tmp_path):
    path = tmp_path / "shop.gingham"
    with gingham.connect(path) as connection:
        connection.begin()
        connection.execute("CREATE TABLE t (n INTEGER)")
    assert connection.closed
    with pytest.raises(gingham.InterfaceError, match="closed"):
        connection.execute("SELECT 1")
    with gingham.connect(path) as connection:
        connection.execute("SELECT * FROM t")
        with pytest.raises(KeyError), connection:
            connection.begin()
            connection.execute("INSERT INTO t VALUES (1)")
            raise KeyError
    with gingham.connect(path, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
        with pytest.raises(gingham.Error):
            connection.execute("INSERT INTO t VALUES (1)")


def test_executemany_is_all_or_nothing(connection):
    cursor = connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    assert cursor.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(100))).rowcount == 100
    with pytest.raises(gingham.IntegrityError):
        cursor.executemany("INSERT INTO t VALUES (?)", [(100,), (5,)])
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (100,)
    assert not connection.in_transaction


def test_parameters(connection):
    execute = connection.execute
    assert execute("SELECT ?, ?", [1, "a"]).fetchone() == (1, "a")
    assert execute("SELECT $2, $1", (1, 2)).fetchone() == (2, 1)
    assert execute("SELECT $b - $a", {"a": 1, "b": 3}).fetchone() == (2,)
    assert execute("SELECT ? IS NULL", [None]).fetchone() == (True,)
    for wrong in ([], [1, 2], {"x": 1}):
        with pytest.raises(gingham.ProgrammingError) as told:
            execute("SELECT ?", wrong)
        assert told.value.sqlstate == "42P02"
    with pytest.raises(gingham.InterfaceError, match="sequence"):
        execute("SELECT ?", "a")
    for wrong in (decimal.Decimal("NaN"), decimal.Decimal(10) ** 38, 10**38):
        with pytest.raises(gingham.DataError):
            execute("SELECT ?", [wrong])
    with pytest.raises(gingham.NotSupportedError, match="object"):
        execute("SELECT ?", [object()])
    with pytest.raises(gingham.InterfaceError, match="str"):
        execute(7)


def test_a_text_of_several_statements(connection):
    assert connection.execute("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1); SELECT n FROM t;").fetchall() == [(1,)]
    with pytest.raises(gingham.ProgrammingError, match="several"):
        connection.execute("SELECT 1; SELECT ?", [1])


@pytest.mark.parametrize(
    ("sql", "exception", "sqlstate", "place"),
    [
        ("SELEKT 1", gingham.ProgrammingError, "42601", (1, 1)),
        ("SELECT *\nFROM nosuch", gingham.ProgrammingError, "42P01", (2, 6)),
        ("SELECT nosuch", gingham.ProgrammingError, "42703", (1, 8)),
        ("SELECT 1 / 0", gingham.DataError, "22012", (None, None)),
        ("SELECT CAST('x' AS INTEGER)", gingham.DataError, "22P02", (None, None)),
        ("INSERT INTO k VALUES (1), (1)", gingham.IntegrityError, "23505", (None, None)),
        ("REINDEX", gingham.NotSupportedError, "0A000", (None, None)),
        ("SAVEPOINT s", gingham.InternalError, "25P01", (None, None)),
    ],
)
def test_exceptions_by_sqlstate(connection, sql, exception, sqlstate, place):
    connection.execute("CREATE TABLE k (n INTEGER PRIMARY KEY)")
    with pytest.raises(exception) as told:
        connection.execute(sql)
    assert type(told.value) is exception
    assert (told.value.sqlstate, (told.value.line, told.value.column)) == (sqlstate, place)


def test_description_and_status(connection):
    cursor = connection.execute("CREATE TABLE t (a INTEGER NOT NULL, b DECIMAL(9,2), c VARCHAR, d TIMESTAMP, e BINARY)")
    assert cursor.description is None
    cursor = connection.execute("INSERT INTO t VALUES (1, 2, 'c', NULL, NULL), (2, 3, 'c', NULL, NULL)")
    assert (cursor.rowcount, cursor.statusmessage, cursor.description) == (2, "INSERT 0 2", None)
    cursor = connection.execute("SELECT * FROM t")
    names, kinds, _, _, precisions, scales, nullable = zip(*cursor.description, strict=True)
    assert names == ("a", "b", "c", "d", "e")
    groups = (gingham.NUMBER, gingham.NUMBER, gingham.STRING, gingham.DATETIME, gingham.BINARY)
    assert all(kind == group for kind, group in zip(kinds, groups, strict=True))
    assert kinds[2] != gingham.NUMBER
    assert (precisions[1], scales[1], nullable[0], nullable[1]) == (9, 2, False, True)
    assert len(list(cursor)) == 2
    assert cursor.statusmessage == "SELECT 2"
