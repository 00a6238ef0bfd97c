"""Threads, signals, forks and locks."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import gingham

ENDLESS = "SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000) b"


def test_threads_share_a_connection(connection):
    connection.execute("CREATE TABLE t (n INTEGER)")
    failures = []

    def work(thread):
        try:
            for n in range(20):
                connection.execute("INSERT INTO t VALUES (?)", [thread * 100 + n])
                assert connection.sql("SELECT 7 AS n").fetchone() == (7,)
        except Exception as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=[thread]) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert connection.execute("SELECT count(DISTINCT n) FROM t").fetchone() == (80,)


def test_others_run_while_a_statement_does(connection):
    ticks = []
    ends = threading.Event()

    def tick():
        while not ends.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    connection.execute("SELECT sum(a.value * b.value) FROM generate_series(1, 3000) a, generate_series(1, 3000) b").fetchall()
    ends.set()
    ticker.join()
    assert len(ticks) > 5


# A Ctrl-C is to be heard within 0.2 s; a test allows ten times that.
HEARD = 2
# The first rows come at once, and the others never.
LATER = "SELECT value FROM generate_series(1, 20) UNION ALL " + ENDLESS
INTERRUPTED = """
import os, signal, sys, threading, time, gingham, polars, pyarrow
# A process in the background is started without it.
signal.signal(signal.SIGINT, signal.default_int_handler)
connection = gingham.connect()
ENDLESS, LATER = sys.argv[1:]
sent, ticks = [], []
def press():
    # Python's lock is free meanwhile.
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        time.sleep(0.01)
        ticks.append(True)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    HOW
    print("it ended")
except KeyboardInterrupt:
    print(time.monotonic() - sent[0], len(ticks))
assert connection.execute("SELECT 1").fetchall() == [(1,)]
"""
# Other packages that read a stream by Arrow's C interface raise an exception of theirs, and the KeyboardInterrupt comes next.
BY_OTHERS = """
def by_others(read):
    try:
        read()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        assert "KeyboardInterrupt" in str(error), error
    for _ in range(1000):
        time.sleep(0.001)
"""


@pytest.mark.parametrize(
    "how",
    [
        "connection.execute(ENDLESS).fetchall()",
        "connection.execute(LATER).fetchall()",
        "list(connection.execute(LATER))",
        "connection.sql(ENDLESS).fetchall()",
        "connection.sql(LATER).df()",
        "connection.sql(LATER).arrow()",
        "connection.sql(LATER).pl()",
        "connection.sql(LATER).reader().read_all()",
        "list(connection.sql(LATER).reader())",
        "connection.execute(LATER).reader().read_pandas()",
        "connection.execute('CREATE TABLE t AS ' + LATER)",
        "connection.sql('INSERT INTO t ' + LATER + ' RETURNING n')",
        "by_others(lambda: polars.DataFrame(connection.sql(LATER)))",
        "by_others(lambda: pyarrow.table(connection.sql(LATER)))",
        "by_others(lambda: pyarrow.RecordBatchReader.from_stream(connection.execute(LATER)).read_all())",
        "gingham.sql('SELECT * FROM relation')",
    ],
)
def test_ctrl_c_cancels(how):
    code = INTERRUPTED.replace("HOW", how)
    if "by_others" in how:
        code = BY_OTHERS + code
    if "RETURNING" in how:
        code = code.replace("sent, ticks", "connection.execute('CREATE TABLE t (n BIGINT)'); sent, ticks", 1)
    if "relation" in how:
        code = code.replace("sent, ticks", "relation = connection.sql(LATER); sent, ticks", 1)
    arguments = [sys.executable, "-c", code, ENDLESS, LATER]
    ran = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0 and ran.stdout.strip() != "it ended", (ran.stdout, ran.stderr)
    seconds, ticks = ran.stdout.split()
    assert float(seconds) < HEARD, ran.stdout
    assert int(ticks) > 10, "others run while it waits"


def test_a_reader_tells_errors_as_they_are(connection):
    reader = connection.sql("SELECT 1 / (value - 100000) AS n FROM generate_series(1, 100001)").reader()
    with pytest.raises(gingham.DataError) as told:
        reader.read_all()
    assert told.value.sqlstate == "22012"
    reader = connection.execute("SELECT value AS n, 'w' || value AS word FROM generate_series(1, 100000)").reader()
    assert [field.name for field in reader.schema] == ["n", "word"] and str(reader.schema.field("word").type) == "string"
    first = reader.read_next_batch()
    assert first.num_rows and reader.read_all().num_rows == 100_000 - first.num_rows
    assert connection.sql("SELECT 1 AS n WHERE false").reader().read_all().num_rows == 0


def test_interrupt_from_another_thread(connection):
    timer = threading.Timer(0.3, connection.interrupt)
    timer.start()
    with pytest.raises(gingham.OperationalError) as told:
        connection.execute(ENDLESS).fetchall()
    assert told.value.sqlstate == "57014"


def test_progress_from_another_thread(connection):
    connection.execute("CREATE TABLE t AS SELECT value AS n, value % 1000 AS g FROM generate_series(1, 1000000)")
    assert connection.progress() is None
    seen = []
    # One that was faster than the look at it is run again.
    while len(seen) < 2:
        query = threading.Thread(target=connection.execute, args=("SELECT g, count(DISTINCT n) FROM t GROUP BY g",))
        query.start()
        while query.is_alive():
            part = connection.progress()
            if part is not None:
                seen.append(part)
        query.join()
        if len(seen) < 2:
            seen.clear()
    assert seen == sorted(seen)
    assert 0 <= seen[0] and seen[-1] <= 1


def test_an_interrupted_executemany_leaves_other_statements(connection):
    connection.execute("CREATE TABLE t (n BIGINT)")
    rows = connection.cursor().execute("SELECT value AS n FROM generate_series(1, 3000000)")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            connection.executemany("INSERT INTO t SELECT ? WHERE true", ([n] for n in range(30_000)))
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    assert len(rows.fetchall()) == 3_000_000


def test_a_fork_is_refused(connection):
    connection.execute("CREATE TABLE t (n INTEGER)")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            connection.execute("SELECT 1")
        except gingham.InterfaceError as error:
            if "fork" in str(error) and gingham.sql("SELECT 1 AS n").fetchall() == [(1,)]:
                status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_nothing_is_pickled(connection):
    for value in (connection, connection.cursor(), connection.sql("SELECT 1 AS n"), connection._core):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(value)


def _holds(path, ready, done):
    with gingham.connect(path) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER)")
        ready.set()
        done.wait(60)


def test_a_database_that_another_process_writes(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    path = tmp_path / "db.gingham"
    other = context.Process(target=_holds, args=(path, ready, done))
    other.start()
    try:
        assert ready.wait(60)
        with pytest.raises(gingham.OperationalError) as told:
            gingham.connect(path)
        assert told.value.sqlstate == "55006" and "another process" in str(told.value) and "read" in str(told.value)
        with gingham.connect(path, read_only=True) as reading:
            assert reading.execute("SELECT count(*) FROM t").fetchone() == (0,)
    finally:
        done.set()
        other.join()


def test_two_connections_of_a_process_share_the_database(tmp_path):
    path = tmp_path / "db.gingham"
    one, two = gingham.connect(path), gingham.connect(str(path))
    one.execute("CREATE TABLE t AS SELECT 1 AS n")
    assert two.execute("SELECT n FROM t").fetchall() == [(1,)]
    one.close()
    two.close()


def test_signals_reach_the_main_thread_only(connection):
    """A thread that waits is not disturbed by a signal that the main thread handles."""
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: seen.append(True))
    rows = []
    worker = threading.Thread(
        target=lambda: rows.extend(
            connection.execute("SELECT sum(a.value) FROM generate_series(1, 2000) a, generate_series(1, 2000) b").fetchall()
        )
    )
    worker.start()
    os.kill(os.getpid(), signal.SIGUSR1)
    worker.join()
    assert seen and len(rows) == 1


def _temporary(place):
    return sorted(path.name for path in place.iterdir() if path.name.startswith("gingham-"))


def test_temporary_databases_go_with_their_last_connection(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    connection = gingham.connect()
    connection.execute("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 100000)")
    connection.execute("CREATE TEMP TABLE u AS SELECT 1 AS n")
    assert len(_temporary(tmp_path)) == 2, "the database, and the temporary tables"
    relation, rows = connection.sql("SELECT n FROM t"), connection.execute("SELECT n FROM t")
    assert relation.fetchone() and rows.fetchone()
    connection.close()
    del relation, rows
    end = time.monotonic() + 60
    while _temporary(tmp_path) and time.monotonic() < end:
        time.sleep(0.01)
    assert _temporary(tmp_path) == []
    # And with one that nobody closed.
    connection = gingham.connect()
    assert connection.execute("SELECT 1").fetchall() and len(_temporary(tmp_path)) == 1
    del connection
    while _temporary(tmp_path) and time.monotonic() < end:
        time.sleep(0.01)
    assert _temporary(tmp_path) == []


@pytest.mark.parametrize(
    "last",
    [
        "",
        "sys.exit(3)",
        "1 / 0",
        "keep = [connection]; keep.append(keep)",
        "rows = connection.execute('SELECT n FROM t'); rows.fetchone(); gingham.sql('SELECT 1').fetchone()",
        "threading.Thread(target=connection.execute, args=[ENDLESS], daemon=True).start(); time.sleep(0.3)",
        "threading.Thread(target=connection.execute, args=['CREATE TABLE u AS ' + MANY], daemon=True).start(); time.sleep(0.3)",
    ],
)
def test_a_process_that_ends_leaves_no_temporary_database(tmp_path, last):
    code = f"""
import os, sys, threading, time, gingham
ENDLESS = {ENDLESS!r}
MANY = "SELECT value AS n FROM generate_series(1, 10000000000)"
connection = gingham.connect()
connection.execute("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 100000)")
gingham.sql("CREATE TABLE t AS SELECT 1 AS n")
assert len([name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("gingham-")]) == 2
if os.fork() == 0:
    # It ends first, and has nothing to remove.
    sys.exit(0)
os.wait()
assert connection.execute("SELECT count(*) FROM t").fetchone() == (100000,)
print("there", flush=True)
{last}
"""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert ran.stdout == "there\n" and ran.returncode == {"sys.exit(3)": 3, "1 / 0": 1}.get(last, 0), ran.stderr
    assert _temporary(tmp_path) == []
