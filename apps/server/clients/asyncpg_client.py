"""asyncpg: all values as binary, prepared statements, cursors, COPY, pools."""

import asyncio
import datetime
import decimal
import io
import os

import asyncpg

HOW = dict(
    host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"], database="gingham",
    password=os.environ.get("PGPASSWORD"), ssl=os.environ.get("GINGHAM_ASYNCPG_SSL") or False,
)
CHECKS = []


def check(name):
    def keep(work):
        CHECKS.append((name, work))
        return work

    return keep


@check("types")
async def types(connection):
    for value, name in [
        (True, "bool"), (-7, "int"), (1 << 40, "bigint"), (1.5, "double precision"),
        (decimal.Decimal("-123456789.123"), "numeric"), ("häuser", "text"), (b"\x00\xff", "bytea"),
        (datetime.date(1999, 12, 31), "date"), (datetime.time(23, 59, 59, 500000), "time"),
        (datetime.datetime(2001, 2, 3, 4, 5, 6, 7), "timestamp"),
        (datetime.datetime(2001, 2, 3, 4, 5, 6, 7, datetime.timezone.utc), "timestamptz"),
        (datetime.timedelta(days=3, seconds=5), "interval"), ([1, None, 3], "int[]"), ([[1, 2], [3, 4]], "int[]"),
        (["a b", None], "text[]"), (None, "int"),
    ]:
        found = await connection.fetchval(f"SELECT $1::{name}", value)
        assert found == value, (name, found, value)


@check("rows and executemany")
async def rows(connection):
    await connection.execute("DROP TABLE IF EXISTS apg_t; CREATE TABLE apg_t (a INT PRIMARY KEY, b TEXT)")
    await connection.executemany("INSERT INTO apg_t VALUES ($1, $2)", [(n, f"row {n}") for n in range(200)])
    found = await connection.fetch("SELECT a, b FROM apg_t WHERE a < $1 ORDER BY a", 3)
    assert [tuple(row) for row in found] == [(0, "row 0"), (1, "row 1"), (2, "row 2")]
    assert dict(await connection.fetchrow("SELECT count(*) FROM apg_t")) == {"count": 200}
    assert await connection.execute("UPDATE apg_t SET b = 'x' WHERE a < 10") == "UPDATE 10"


@check("transactions and savepoints")
async def transactions(connection):
    async with connection.transaction():
        await connection.execute("INSERT INTO apg_t VALUES (1000, 'x')")
        try:
            async with connection.transaction():
                await connection.execute("INSERT INTO apg_t VALUES (1000, 'x')")
        except asyncpg.UniqueViolationError:
            pass
    assert await connection.fetchval("SELECT count(*) FROM apg_t WHERE a = 1000") == 1
    try:
        async with connection.transaction(isolation="serializable", readonly=True):
            await connection.execute("INSERT INTO apg_t VALUES (1001, 'x')")
    except asyncpg.ReadOnlySQLTransactionError:
        pass


@check("cursors")
async def cursors(connection):
    async with connection.transaction():
        total = 0
        async for row in connection.cursor("SELECT n FROM generate_series(1, 1000) AS g(n)", prefetch=100):
            total += row["n"]
        assert total == 500500


@check("COPY")
async def copies(connection):
    await connection.execute("DROP TABLE IF EXISTS apg_c; CREATE TABLE apg_c (a INT, b TEXT)")
    records = [(n, f"row {n}") for n in range(5000)]
    assert await connection.copy_records_to_table("apg_c", records=records) == "COPY 5000"
    to = io.BytesIO()
    assert await connection.copy_from_query("SELECT a FROM apg_c WHERE a < 3 ORDER BY a", output=to) == "COPY 3"
    assert to.getvalue() == b"0\n1\n2\n"
    assert await connection.copy_to_table("apg_c", source=io.BytesIO(b"7,seven\n"), format="csv") == "COPY 1"


@check("prepared statements")
async def prepared(connection):
    statement = await connection.prepare("SELECT a, b FROM apg_t WHERE a = $1")
    assert [attribute.name for attribute in statement.get_attributes()] == ["a", "b"]
    assert [kind.name for kind in statement.get_parameters()] == ["int4"]
    for n in range(10, 30):
        assert tuple(await statement.fetchrow(n)) == (n, f"row {n}")


@check("cancelling by a timeout")
async def cancel(connection):
    try:
        await connection.fetch(
            "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 100000) b", timeout=0.5
        )
        raise AssertionError("it ended")
    except (asyncio.TimeoutError, TimeoutError):
        pass
    assert await connection.fetchval("SELECT 1") == 1


@check("errors")
async def errors(connection):
    try:
        await connection.fetch("SELECT nosuch FROM apg_t")
        raise AssertionError("there is none")
    except asyncpg.UndefinedColumnError as error:
        assert error.position, error


@check("reset, as pools do")
async def reset(connection):
    await connection.execute("SET application_name = 'pool'")
    await connection.reset()
    assert await connection.fetchval("SHOW application_name") == ""


async def main():
    for name, work in CHECKS:
        try:
            connection = await asyncpg.connect(**HOW)
            try:
                await work(connection)
            finally:
                await connection.close()
            print("ok", name)
        except Exception as error:
            print(f"no {name}: {type(error).__name__}: {error}".replace("\n", "|"))
    try:
        async with asyncpg.create_pool(min_size=2, max_size=4, **HOW) as pool:
            found = await asyncio.gather(*[pool.fetchval("SELECT $1::int", n) for n in range(50)])
        assert found == list(range(50))
        print("ok pools")
    except Exception as error:
        print(f"no pools: {type(error).__name__}: {error}".replace("\n", "|"))


asyncio.run(main())
