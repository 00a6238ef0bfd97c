#!/usr/bin/env python3
"""What the Python package takes beside duckdb and polars: importing, opening, SELECT 1, rows out, frames in.

    python3 benchmarks/python.py --wheel WHEEL [--rows N] [--rounds N]

WHEEL is one that `maturin build --profile dist` made. A virtual environment in --work gets it, and duckdb, pandas, polars and pyarrow. Each
engine is a process, told task by task what to do; the engines take turns within a round, in random order, and each task's answer is compared
with what the data's making tells. The process of an engine is kept, but for importing, which takes a new one each time.
"""

import json
import random
import subprocess
import sys
import time

from harness import run, statistics

ENGINES = ["gingham", "duckdb", "polars"]
TASKS = [
    "import",
    "open",
    "select 1",
    "fetch arrow",
    "fetch pandas",
    "fetch tuples",
    "ingest pandas",
    "ingest polars",
    "ingest arrow",
    "query frame",
]
PACKAGES = ["duckdb", "numpy", "pandas", "polars", "pyarrow"]


def worker(engine, rows, folder):
    """Reads tasks from standard input and answers seconds and what came out."""
    import importlib
    import pathlib

    import numpy
    import pandas
    import polars
    import pyarrow

    folder = pathlib.Path(folder)
    module = importlib.import_module(engine)
    random_numbers = numpy.random.default_rng(35)
    columns = {f"i{at}": random_numbers.integers(0, 10 ** (at + 1), rows) for at in range(8)}
    columns |= {f"f{at}": random_numbers.random(rows) for at in range(4)}
    words = pyarrow.array([f"word {n}" for n in range(1000)])
    columns |= {f"s{at}": words.take(pyarrow.array(random_numbers.integers(0, 1000, rows))) for at in range(2)}
    columns |= {f"t{at}": (random_numbers.integers(0, 10**9, rows) * 10**6).astype("datetime64[us]") for at in range(2)}
    arrow = pyarrow.table(columns)
    frames = {"arrow": arrow, "pandas": arrow.to_pandas(), "polars": polars.from_arrow(arrow)}
    narrow = arrow.select(["i0", "i7", "f0", "s0"])
    frame = frames["polars"]
    expected_sum = int(numpy.sum(columns["i7"]))
    by_word = polars.from_arrow(narrow).group_by("s0").agg(polars.col("i7").sum()).sort("s0")

    if engine == "polars":
        connection, kept = None, polars.from_arrow(narrow)
    else:
        connection = module.connect()
        connection.execute("CREATE TABLE kept AS SELECT * FROM narrow")

    def opening():
        if engine == "polars":
            return None
        place = folder / f"{engine}-{time.monotonic_ns()}"
        begun = time.perf_counter()
        module.connect(str(place)).close()
        return time.perf_counter() - begun, 1, 1

    def one():
        if engine == "polars":
            return None
        begun = time.perf_counter()
        for _ in range(200):
            got = connection.execute("SELECT 1").fetchall()
        return (time.perf_counter() - begun) / 200, got[0][0], 1

    def fetched(how):
        begun = time.perf_counter()
        if engine == "polars":
            got = {"arrow": kept.to_arrow, "pandas": kept.to_pandas, "tuples": kept.rows}[how]()
        else:
            result = connection.execute("SELECT * FROM kept")
            table = "arrow" if engine == "gingham" else "to_arrow_table"
            got = getattr(result, {"arrow": table, "pandas": "df", "tuples": "fetchall"}[how])()
        spent = time.perf_counter() - begun
        if how == "tuples":
            return spent, sum(row[1] for row in got), expected_sum
        column = got.column("i7").to_numpy() if how == "arrow" else got["i7"].to_numpy()
        return spent, int(column.sum()), expected_sum

    def ingested(kind):
        if engine == "polars":
            return None
        source = frames[kind]  # noqa: F841 - found by its name
        begun = time.perf_counter()
        connection.execute("CREATE TABLE ingested AS SELECT * FROM source")
        spent = time.perf_counter() - begun
        got = connection.execute("SELECT CAST(sum(i7) AS BIGINT) FROM ingested").fetchone()[0]
        connection.execute("DROP TABLE ingested")
        return spent, got, expected_sum

    def queried():
        begun = time.perf_counter()
        if engine == "polars":
            got = frame.group_by("s0").agg(polars.col("i7").sum()).sort("s0").rows()
        else:
            got = connection.execute("SELECT s0, CAST(sum(i7) AS BIGINT) FROM frame GROUP BY s0 ORDER BY s0").fetchall()
        return time.perf_counter() - begun, hash(tuple(got)), hash(tuple(by_word.rows()))

    tasks = {"open": opening, "select 1": one, "query frame": queried}
    tasks |= {f"fetch {how}": lambda how=how: fetched(how) for how in ("arrow", "pandas", "tuples")}
    tasks |= {f"ingest {kind}": lambda kind=kind: ingested(kind) for kind in frames}
    print(json.dumps({"version": module.__version__, "pandas": pandas.__version__}), flush=True)
    for line in sys.stdin:
        done = tasks[line.strip()]()
        print(json.dumps(None if done is None else {"seconds": done[0], "right": done[1] == done[2]}), flush=True)


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--wheel", required=True, help="the package's wheel")
    parser.add_argument("--rows", type=int, default=6_000_000, help="rows of the frames (default: 6 million)")
    parser.add_argument("--rounds", type=int, default=7, help="times that each task is run by each engine")
    return parser.parse_args()


def environment(bench, wheel):
    """A Python with the wheel and the peers."""
    place = bench.folder / "python"
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", wheel], check=True)
    return python


def imported(python, engine):
    """Seconds of an import in a new process."""
    code = f"import time; begun = time.perf_counter(); import {engine}; print(time.perf_counter() - begun)"
    return float(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout)


class Engine:
    """A process that does one engine's tasks."""

    def __init__(self, python, name, rows, folder):
        self.python, self.name = python, name
        command = [python, __file__, "--worker", name, str(rows), str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = json.loads(self.process.stdout.readline())

    def seconds(self, task):
        """Seconds of a task, or None for one that the engine has not. A wrong answer ends the benchmark."""
        if task == "import":
            return imported(self.python, self.name)
        self.process.stdin.write(f"{task}\n")
        self.process.stdin.flush()
        done = json.loads(self.process.stdout.readline())
        if done is None:
            return None
        if not done["right"]:
            sys.exit(f"{self.name} gave a wrong answer to '{task}'")
        return done["seconds"]


def main():
    args = arguments()
    bench = run.Run("python", args)
    python = environment(bench, args.wheel)
    engines = [Engine(python, name, args.rows, bench.folder) for name in ENGINES]
    numbers, times = random.Random(35), {}
    bench.begin()
    for round_ in range(-1, args.rounds):
        for task in TASKS:
            for engine in numbers.sample(engines, len(engines)):
                spent = engine.seconds(task)
                # The first round warms.
                if spent is not None and round_ >= 0:
                    times.setdefault(task, {}).setdefault(engine.name, []).append(spent)
    bench.end()
    print(f"{'milliseconds':16}" + "".join(f"{name:>30}" for name in ENGINES) + f"{'of duckdb':>12}")
    for task, by_engine in times.items():
        cells = []
        for name in ENGINES:
            values = [1000 * value for value in by_engine.get(name, [])]
            if not values:
                cells.append(f"{'-':>30}")
                continue
            low, high, _ = statistics.interval(values)
            cells.append(f"{statistics.median(values):10.2f} ({low:7.2f} … {high:7.2f})".rjust(30))
        ratio = statistics.median(by_engine["gingham"]) / statistics.median(by_engine["duckdb"])
        print(f"{task:16}" + "".join(cells) + f"{ratio:12.2f}")
    versions = {engine.name: engine.facts["version"] for engine in engines}
    bench.write({"rows": args.rows, "versions": versions, "seconds": times})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
