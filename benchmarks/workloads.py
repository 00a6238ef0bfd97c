#!/usr/bin/env python3
"""What people bring besides TPC-H: H2O.ai's group-by and join questions, and a wide table of web analytics; beside DuckDB in memory and in a file.

    python3 benchmarks/workloads.py                        build, generate, load, measure; writes to --work
    python3 benchmarks/workloads.py --only h2o --rows 1000000 --rounds 3        a quick look
    python3 benchmarks/workloads.py --plans kept           Gingham keeps plans; it makes them anew otherwise
    python3 benchmarks/workloads.py --record               into benchmarks/record/

Tables and queries are those of definitions/workloads. Seconds of Gingham are those that `--timing` tells, of DuckDB those around `execute` and
`fetchall`. A query whose answer differs ends the run.
"""

import subprocess
import sys
import tomllib

from harness import answers, measure, prepare, run, statistics
from harness.children import Child
from harness.shell import Shell

SEED = 20_261_128
FOLDER = prepare.DEFINITIONS / "workloads"
NAMES = sorted(text.stem for text in FOLDER.glob("*.toml"))
FLAGS = "".join(f", (hash(i * 101 + {n}) % {3 + n} = 0)::SMALLINT AS f{n}" for n in range(1, 82))
MAKE = "import duckdb, sys; duckdb.connect().execute(sys.stdin.read())"


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="WORKLOAD")
    parser.add_argument("--queries", nargs="+", metavar="QUERY", help="some queries alone")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--plans", choices=["kept", "cold"], default="cold")
    return parser.parse_args()


def files_of(work, python, name, tables, rows):
    """The tables as Parquet files, made once."""
    folder = work / f"{name}-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for table, text in tables.items():
        file = folder / f"{table}.parquet"
        if not file.exists():
            # DuckDB's braces are its own.
            query = text.replace("{rows}", str(rows)).replace("{flags}", FLAGS)
            part = folder / f"{table}.part"
            subprocess.run([python, "-c", MAKE], input=f"COPY ({query}) TO '{part}' (FORMAT parquet)", text=True, check=True)
            part.rename(file)
        files.append(file)
    return files


def verify(children, queries):
    """Ends the run where an answer is not DuckDB's."""
    for name, sql in queries.items():
        # In the command's CSV an empty text and NULL are one to Python's reader.
        asked = {child: children[child].ask(do="answer", sql=sql)["rows"] for child in children}
        all_rows = {child: [[cell or None for cell in row] for row in rows] for child, rows in asked.items()}
        for child, rows in all_rows.items():
            difference = answers.difference(all_rows["duckdb-memory"], rows, False)
            if difference:
                sys.exit(f"{name}: {child} has not DuckDB's answer: {difference}")


def measured(bench, args, python, program, name, threads):
    """Seconds of each query and child, and most bytes of each child."""
    definition = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    files = files_of(args.work, python, name, definition["tables"], args.rows)
    queries = {key: sql for key, sql in definition["queries"].items() if not args.queries or key in args.queries}
    own = bench.folder / f"gingham-{name}-{args.rows}"
    if not own.exists():
        loads = "".join(f"CREATE TABLE {file.stem} AS SELECT * FROM '{file}';\n" for file in files)
        prepare.run_sql(program, own, loads)
    log = args.work / "children.log"
    duck = [str(python), str(run.BENCHMARKS / "harness" / "duck.py")]
    children = {"gingham": Shell(program, own, threads, log, args.plans == "kept")}
    try:
        for kind, place in (("memory", ":memory:"), ("file", str(bench.folder / f"{name}-{args.rows}.duckdb"))):
            children[f"duckdb-{kind}"] = Child([*duck, place, str(threads), *map(str, files)], log)
        verify(children, queries)
        times = measure.interleaved(children, queries, args.rounds, SEED)
        return times, {child: children[child].peak_bytes() for child in children}
    finally:
        for child in children.values():
            child.close()


def main():
    args = arguments()
    bench = run.Run("workloads", args)
    python, versions = prepare.virtual_environment(args.work)
    bench.facts["versions"] = versions
    program = prepare.build(run.ROOT, args.profile)["gingham"]
    all_times, all_peaks = {}, {}
    bench.begin()
    for name in args.only:
        for threads in args.threads:
            times, peaks = measured(bench, args, python, program, name, threads)
            all_times[f"{name}, {threads}"], all_peaks[f"{name}, {threads}"] = times, peaks
            print(f"\n{name}, {threads} threads: {'gingham ms':>10} {'duckdb ms':>10} {'share':>6}")
            shares = []
            for query, own in times.items():
                gingham = statistics.median(own["gingham"])
                duckdb = min(statistics.median(own[child]) for child in own if child != "gingham")
                shares.append(gingham / duckdb)
                print(f"{query:18} {1000 * gingham:10.2f} {1000 * duckdb:10.2f} {gingham / duckdb:6.2f}")
            print(f"geometric mean {statistics.geometric_mean(shares):.2f}; most memory: ", end="")
            print(", ".join(f"{child} {peak / 1e9:.2f} GB" for child, peak in peaks.items()), flush=True)
    bench.end()
    bench.write({"rows": args.rows, "plans": args.plans, "seconds": all_times, "peak_bytes": all_peaks})


if __name__ == "__main__":
    main()
