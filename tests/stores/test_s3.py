"""A database published to an S3-compatible store on loopback, and read through a proxy that cuts, drops and delays.

`bash .ci/stores` builds the command with that store, and runs this.
"""

import asyncio
import csv
import io
import os
import random
import subprocess
import threading

import boto3
import botocore.exceptions
import pytest
from moto.server import ThreadedMotoServer

GINGHAM = os.environ["GINGHAM"]
SECRET = "a-secret-that-nobody-may-see"
TABLES = {"by_column": "column", "slices": "byteslice", "tuples": "super_tuple", "pages": "pax"}
QUESTIONS = [
    "SELECT count(*), sum(k), max(s), min(t) FROM {}",
    "SELECT k % 5 AS g, count(*), sum(d) FROM {} GROUP BY 1 ORDER BY 1",
    "SELECT * FROM {} WHERE k IN (7, 39999, 79990) ORDER BY k",
]


@pytest.fixture(scope="session")
def server():
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield host, port
    server.stop()


@pytest.fixture
def store(server):
    """A bucket of the test's own, and the environment that leads to it."""
    host, port = server
    endpoint = f"http://{host}:{port}"
    bucket = f"bucket-{random.getrandbits(40):x}"
    client = boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id="key", aws_secret_access_key=SECRET, region_name="us-east-1"
    )
    client.create_bucket(Bucket=bucket)
    return client, bucket, environment(endpoint)


def environment(endpoint):
    return {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }


def run(folder, variables, *arguments):
    """Runs the command; nothing that it says may have the secret."""
    known = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    done = subprocess.run([GINGHAM, *arguments], cwd=folder, env=known, capture_output=True, text=True, timeout=300)
    assert SECRET not in done.stdout + done.stderr
    return done


def good(folder, variables, *arguments):
    done = run(folder, variables, *arguments)
    assert done.returncode == 0, done
    return done.stdout


def rows(folder, variables, database, sql, *more):
    text = good(folder, variables, database, *more, "--format", "csv", "-c", sql)
    return list(csv.reader(io.StringIO(text)))


def fill(folder):
    for table, layout in TABLES.items():
        columns = "k BIGINT, s VARCHAR, t VARCHAR, d DECIMAL(12,2)"
        good(folder, {}, "db", "-c", f"CREATE TABLE {table} ({columns}) WITH (layout = '{layout}')")
        values = "value, 'text ' || value % 50, 'no two are the same ' || value * 7919, value * 0.25"
        for start in (1, 40_001):
            sql = f"INSERT INTO {table} SELECT {values} FROM generate_series({start}, {start + 39_999})"
            good(folder, {}, "db", "-c", sql)


def test_a_database_is_published_and_read(tmp_path, store):
    client, bucket, variables = store
    url = f"s3://{bucket}/some/shop"
    fill(tmp_path)
    assert "published as number 1" in good(tmp_path, variables, "db", "publish", url)
    assert "nothing was sent" in good(tmp_path, variables, "db", "publish", url)
    for table in TABLES:
        for sql in QUESTIONS:
            sql = sql.format(table)
            assert rows(tmp_path, variables, url, sql) == rows(tmp_path, {}, "db", sql), sql
    cached = sum(file.stat().st_size for file in (tmp_path / ".cache" / "gingham").rglob("*.chunk"))
    assert cached > 100_000
    good(tmp_path, {}, "db", "-c", "INSERT INTO by_column SELECT * FROM slices WHERE k <= 30000")
    assert "published as number 2, 2 objects" in good(tmp_path, variables, "db", "publish", url, "--keep", "1h")
    assert rows(tmp_path, variables, url, "SELECT count(*) FROM by_column")[1] == ["110000"]
    assert rows(tmp_path, variables, url, "SELECT count(*) FROM by_column", "--as-of", "1")[1] == ["80000"]
    names = [found["Key"] for found in client.list_objects_v2(Bucket=bucket)["Contents"]]
    assert len([name for name in names if name.startswith("some/shop/manifests/")]) == 2
    assert "1 state and" in good(tmp_path, variables, url, "sweep", "--keep", "0", "--dry-run")


def test_the_store_refuses_a_second_manifest(store):
    client, bucket, _ = store
    client.put_object(Bucket=bucket, Key="m", Body=b"1", IfNoneMatch="*")
    with pytest.raises(botocore.exceptions.ClientError, match="PreconditionFailed"):
        client.put_object(Bucket=bucket, Key="m", Body=b"2", IfNoneMatch="*")


def test_of_publishers_at_once_none_takes_another_for_itself(tmp_path, store):
    _, bucket, variables = store
    url = f"s3://{bucket}/shop"
    good(tmp_path, {}, "db", "-c", "CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 20000)")
    good(tmp_path, variables, "db", "publish", url)
    number = 1
    for _ in range(4):
        good(tmp_path, {}, "db", "-c", "INSERT INTO t SELECT value FROM generate_series(1, 20000)")
        known = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **variables}
        command = [GINGHAM, "db", "--read-only", "publish", url]
        both = [
            subprocess.Popen(command, cwd=tmp_path, env=known, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        told = [process.communicate(timeout=300) for process in both]
        assert sum("published as number" in out for out, _ in told) == 1, told
        number += 1
        for process, (out, err) in zip(both, told):
            assert process.returncode == 0 or "publish again" in err, (out, err)
        count = rows(tmp_path, variables, url, "SELECT count(*) FROM t")[1]
        assert count == [str(20_000 * number)]


def test_another_database_and_missing_places_are_refused(tmp_path, store):
    client, bucket, variables = store
    url = f"s3://{bucket}/shop"
    for name in ("db", "other"):
        good(tmp_path, {}, name, "-c", "CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 20000)")
    good(tmp_path, variables, "db", "publish", url)
    assert "has another database" in run(tmp_path, variables, "other", "publish", url).stderr
    assert "no published database" in run(tmp_path, variables, f"s3://{bucket}/nothing", "-c", "SELECT 1").stderr
    for found in client.list_objects_v2(Bucket=bucket, Prefix="shop/segments/")["Contents"]:
        client.delete_object(Bucket=bucket, Key=found["Key"])
        told = run(tmp_path, variables, url, "-c", "SELECT sum(n) FROM t").stderr
        assert found["Key"] in told and "missing" in told, told


class Proxy:
    """Hands bytes on to a server, cutting every so many connections after some of them and delaying others."""

    def __init__(self, target, seed):
        self.target, self.random = target, random.Random(seed)
        self.connections = self.cuts = 0
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.thread = threading.Thread(target=self.serve, args=[started], daemon=True)
        self.thread.start()
        started.wait()

    def serve(self, started):
        asyncio.set_event_loop(self.loop)

        async def begin():
            server = await asyncio.start_server(self.connection, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()

        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    async def connection(self, reader, writer):
        self.connections += 1
        kind = self.random.choice(["whole", "whole", "whole", "slow", "cut", "refused"])
        left = self.random.randrange(200, 300_000) if kind == "cut" else None
        self.cuts += kind in ("cut", "refused")
        if kind == "refused":
            writer.close()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return

        async def pump(source, sink, budget):
            try:
                while data := await source.read(65_536):
                    if kind == "slow":
                        await asyncio.sleep(0.02)
                    if budget is not None:
                        data, budget = data[:budget], budget - len(data)
                    sink.write(data)
                    await sink.drain()
                    if budget is not None and budget <= 0:
                        break
            except OSError:
                pass
            sink.close()

        await asyncio.gather(pump(reader, far_writer, None), pump(far_reader, writer, left))
        writer.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


@pytest.mark.parametrize("seed", range(int(os.environ.get("GINGHAM_ROUNDS", "3"))))
def test_requests_that_are_cut_are_tried_again(tmp_path, server, store, seed):
    _, bucket, variables = store
    url = f"s3://{bucket}/shop"
    fill(tmp_path)
    good(tmp_path, variables, "db", "publish", url)
    proxy = Proxy(server, seed)
    through = environment(f"http://127.0.0.1:{proxy.port}")
    for number, table in enumerate(TABLES):
        for sql in QUESTIONS:
            sql = sql.format(table)
            found = rows(tmp_path, through, url, sql, "--cache", f"cache-{number}")
            assert found == rows(tmp_path, {}, "db", sql), sql
    proxy.stop()
    assert proxy.cuts > 0, proxy.connections


def test_a_store_that_is_gone_is_told_in_time(tmp_path, store):
    _, bucket, variables = store
    url = f"s3://{bucket}/shop"
    good(tmp_path, {}, "db", "-c", "CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 20000)")
    good(tmp_path, variables, "db", "publish", url)
    # Nobody listens there.
    gone = {**variables, "AWS_ENDPOINT": "http://127.0.0.1:9"}
    done = run(tmp_path, gone, url, "-c", "SELECT 1")
    assert done.returncode == 1 and f"reading {url}/latest" in done.stderr
