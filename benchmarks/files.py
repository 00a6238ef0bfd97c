#!/usr/bin/env python3
"""Reading delimited text: plain, quoted, packed by gzip and as JSON, beside DuckDB's reader.

    python3 benchmarks/files.py                  build, generate 10 million records, measure; writes to --work
    python3 benchmarks/files.py --rows 1000000 --rounds 3       a quick look
    python3 benchmarks/files.py --record         into benchmarks/record/

Each statement runs in a new process: Gingham's time is what `gingham --timing` prints, DuckDB's is taken around `execute` and
`fetchall`. The file's pages are in memory. An answer that differs ends the run. Wanted: at most 1.0 of DuckDB's time for plain text, and
at most 1.2 for packed text, on one thread and on two.
"""

import json
import os
import subprocess
import sys

from harness import answers, prepare, run, statistics
from harness.shell import rows_of

MAKE = """
import duckdb, sys
rows, folder = int(sys.argv[1]), sys.argv[2]
c = duckdb.connect()
c.execute(f'''CREATE TABLE t AS SELECT i AS id, (hash(i) % 100000)::INT AS customer, DATE '2020-01-01' + (hash(i * 7) % 2000)::INT AS day,
 round((hash(i * 3) % 1000000) / 100.0, 2) AS amount, ['Oslo', 'Rome', 'Bern', 'New York', 'Paris', 'London', 'Lima'][1 + (hash(i * 5) % 7)::INT] AS city,
 hash(i * 11) % 2 = 0 AS paid, TIMESTAMP '2020-01-01 00:00:00' + INTERVAL 1 SECOND * (hash(i * 13) % 100000000) AS moment,
 'note ' || (hash(i * 17) % 1000000) AS note FROM range({rows}) t(i)''')
c.execute(f"COPY t TO '{folder}/plain.csv' (HEADER)")
c.execute(f"COPY t TO '{folder}/packed.csv.gz' (HEADER, COMPRESSION gzip)")
c.execute(f"COPY t TO '{folder}/quoted.csv' (HEADER, FORCE_QUOTE (city, note))")
c.execute(f"COPY (SELECT * FROM t LIMIT {rows // 10}) TO '{folder}/objects.json'")
"""
ASK = """
import duckdb, json, sys, time
c = duckdb.connect()
c.execute(f"SET threads = {sys.argv[2]}")
begun = time.perf_counter()
rows = c.execute(sys.argv[1]).fetchall()
print(json.dumps([time.perf_counter() - begun, [[str(value) for value in row] for row in rows]]))
"""
ALL = "SELECT count(*), sum(id), sum(customer), min(day), sum(amount), min(city), sum(paid::INT), max(moment), min(note) FROM '{}'"
QUERIES = {
    "all columns": ("plain.csv", ALL),
    "one column": ("plain.csv", "SELECT sum(amount) FROM '{}'"),
    "records": ("plain.csv", "SELECT count(*) FROM '{}'"),
    "quoted": ("quoted.csv", ALL),
    "gzip": ("packed.csv.gz", ALL),
    "JSON": ("objects.json", ALL),
}


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--queries", nargs="+", default=list(QUERIES), choices=QUERIES, metavar="QUERY")
    return parser.parse_args()


def gingham(program, sql, threads):
    """Seconds and rows of a statement."""
    command = [program, "--timing", "--format", "csv", "-c", f"SET gingham.threads = {threads}", "-c", sql]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    times = [float(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("Time:")]
    return times[-1] / 1000, rows_of(done.stdout)


def duckdb(python, sql, threads):
    """Seconds and rows of a statement."""
    done = subprocess.run([python, "-c", ASK, sql, str(threads)], check=True, capture_output=True, text=True)
    return tuple(json.loads(done.stdout))


def main():
    args = arguments()
    bench = run.Run("files", args)
    python, versions = prepare.virtual_environment(args.work)
    bench.facts["versions"] = versions
    program = prepare.build(run.ROOT, args.profile)["gingham"]
    folder = args.work / f"files-{args.rows}"
    if not folder.exists():
        folder.mkdir(parents=True)
        subprocess.run([python, "-c", MAKE, str(args.rows), str(folder)], check=True)
    times = {}
    bench.begin()
    for _ in range(args.rounds):
        for name in args.queries:
            file, text = QUERIES[name]
            sql = text.format(folder / file)
            for threads in args.threads:
                own, own_rows = gingham(program, sql, threads)
                other, other_rows = duckdb(python, sql, threads)
                difference = answers.difference(other_rows, own_rows, False)
                if difference:
                    sys.exit(f"{name}: not DuckDB's answer: {difference}")
                both = times.setdefault(f"{name}, {threads}", {"gingham": [], "duckdb": []})
                both["gingham"].append(own)
                both["duckdb"].append(other)
    bench.end()
    print(f"{'read, threads':20} {'gingham s':>10} {'duckdb s':>9} {'share':>6} {'interval':>13}")
    for name, both in times.items():
        shares = [own / other for own, other in zip(both["gingham"], both["duckdb"], strict=True)]
        low, high, _ = statistics.interval(shares)
        own, other = (statistics.median(both[engine]) for engine in ("gingham", "duckdb"))
        print(f"{name:20} {own:10.2f} {other:9.2f} {statistics.median(shares):6.2f} {low:5.2f} … {high:4.2f}")
    sizes = {file.name: os.path.getsize(file) for file in sorted(folder.iterdir())}
    bench.write({"rows": args.rows, "bytes": sizes, "seconds": times})


if __name__ == "__main__":
    main()
