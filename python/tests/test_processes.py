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


@pytest.mark.parametrize("how", ["execute(ENDLESS)", "sql(ENDLESS).fetchall()", "sql(ENDLESS).df()"])
def test_ctrl_c_cancels(how):
    code = f"""
import os, signal, threading, time, gingham
ENDLESS = {ENDLESS!r}
# A process in the background is started without it.
signal.signal(signal.SIGINT, signal.default_int_handler)
connection = gingham.connect()
sent = []
def press():
    time.sleep(0.5)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    connection.{how}.fetchall() if "fetchall" not in {how!r} and "df" not in {how!r} else connection.{how}
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
assert connection.execute("SELECT 1").fetchall() == [(1,)]
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert float(ran.stdout) < 5, "it is heard at once; how soon is not a test's business"


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
