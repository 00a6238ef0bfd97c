"""A child process of the benchmark: DuckDB or HyPer, driven over standard input and output.

peer.py ENGINE FILES DATABASE THREADS, run by the virtual environment's Python. The protocol is that of
crates/lab/examples/runner.rs: one JSON request a line, one JSON answer a line.
"""

import json
import os
import shutil
import sys
import time

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


class DuckDB:
    """Tables of the definition's schema, in memory or in a database file."""

    def __init__(self, files, database, threads, schema):
        import duckdb

        self.duckdb, self.files, self.threads, self.schema = duckdb, files, threads, schema
        self.database = database
        self.connection = None

    def version(self):
        return f"DuckDB {self.duckdb.__version__}"

    def open(self):
        if self.database is None:
            self.load()
            return
        self.connection = self.duckdb.connect(self.database)
        self.set_up()

    def set_up(self):
        self.connection.execute(f"SET threads = {self.threads}")
        self.connection.execute("SET enable_progress_bar = false")

    def load(self):
        self.connection = self.duckdb.connect(self.database or ":memory:")
        self.set_up()
        self.connection.execute(self.schema)
        for table in TABLES:
            path = os.path.join(self.files, table + ".parquet")
            self.connection.execute(f"INSERT INTO {table} SELECT * FROM read_parquet('{path}')")
        if self.database is not None:
            self.connection.execute("CHECKPOINT")

    def query(self, sql):
        return len(self.connection.execute(sql).fetchall())

    def answer(self, sql):
        result = self.connection.execute(sql)
        return [column[0] for column in result.description], result.fetchall()

    def close(self):
        if self.connection is not None:
            self.connection.close()


class Hyper:
    """Tables of the definition's schema in a .hyper file, in a server process of its own, with these parameters."""

    def __init__(self, files, database, threads, schema, **parameters):
        import tableauhyperapi

        self.api, self.files, self.schema, self.database = tableauhyperapi, files, schema, database
        logs = database + ".logs"
        shutil.rmtree(logs, ignore_errors=True)
        os.makedirs(logs)
        self.process = tableauhyperapi.HyperProcess(
            tableauhyperapi.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU,
            parameters={
                "log_dir": logs,
                "hard_concurrent_query_thread_limit": str(threads),
                "soft_concurrent_query_thread_limit": str(threads),
                **parameters,
            },
        )
        self.connection = None

    def version(self):
        return f"HyPer {self.api.__version__}"

    def connect(self, mode):
        self.connection = self.api.Connection(self.process.endpoint, self.database, mode)

    def open(self):
        self.connect(self.api.CreateMode.NONE)

    def load(self):
        self.connect(self.api.CreateMode.CREATE_AND_REPLACE)
        for statement in self.schema.split(";"):
            if "CREATE TABLE" in statement:
                self.connection.execute_command(statement)
        for table in TABLES:
            path = os.path.join(self.files, table + ".parquet")
            self.connection.execute_command(
                f"INSERT INTO {table} SELECT * FROM external('{path}', format => 'parquet')"
            )
        # Closing writes what is not yet in the file.
        self.connection.close()
        self.open()

    def query(self, sql):
        return len(self.connection.execute_list_query(sql.rstrip().rstrip(";")))

    def answer(self, sql):
        with self.connection.execute_query(sql.rstrip().rstrip(";")) as result:
            columns = [column.name.unescaped for column in result.schema.columns]
            return columns, [list(row) for row in result]

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.process.close()


def as_text(value):
    """A value as text, truths as SQL writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def respond(engine, request):
    start = time.perf_counter()
    match request["do"]:
        case "version":
            return {"version": engine.version()}
        case "load":
            engine.load()
            return {"seconds": time.perf_counter() - start}
        case "open":
            engine.open()
            return {"seconds": time.perf_counter() - start}
        case "query":
            rows = engine.query(request["sql"])
            return {"seconds": time.perf_counter() - start, "rows": rows}
        case "answer":
            columns, rows = engine.answer(request["sql"])
            return {"columns": columns, "rows": [[as_text(value) for value in row] for row in rows]}
    return {"error": f"no such request: {request}"}


def serve(engine, answer):
    """Gives what `answer` makes of each request, until there are no more."""
    for line in sys.stdin:
        try:
            reply = answer(engine, json.loads(line))
        except Exception as error:  # every fault of an engine belongs in the record, whatever its class
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)
    engine.close()


def main():
    name, files, database, threads = sys.argv[1:5]
    definitions = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "definitions", "tpch")
    with open(os.path.join(definitions, "schema.sql"), encoding="utf-8") as file:
        schema = "".join(line for line in file if not line.startswith("--"))
    os.makedirs(database, exist_ok=True)
    if name == "duckdb-memory":
        engine = DuckDB(files, None, int(threads), schema)
    elif name == "duckdb-file":
        engine = DuckDB(files, os.path.join(database, "tpch.duckdb"), int(threads), schema)
    elif name == "hyper":
        engine = Hyper(files, os.path.join(database, "tpch.hyper"), int(threads), schema)
    elif name == "hyper-cold":
        engine = Hyper(files, os.path.join(database, "tpch.hyper"), int(threads), schema, plan_cache_size="0")
    else:
        sys.exit(f"no engine '{name}'")
    serve(engine, respond)


if __name__ == "__main__":
    main()
