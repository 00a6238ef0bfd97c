#!/usr/bin/env python3
"""TPC-H's queries and sixty in the manner of decision support, full of subqueries, on Gingham and DuckDB.

    python3 benchmarks/subqueries.py                     build, generate, load, measure; writes to --work
    python3 benchmarks/subqueries.py --before RUNNER     and on the runner of an earlier build, which may refuse some
    python3 benchmarks/subqueries.py --runner RUNNER     with a runner that is built already
    python3 benchmarks/subqueries.py --record            into benchmarks/record/

Every answer is compared with DuckDB's before it is timed. `richer_suppliers` counts, for each of 10,000 suppliers, those of a
larger balance: a comparison of 10,000 by 10,000 rows at scale 1. Wanted: beside an earlier build the geometric mean of the
ratios at most 1.02, and `richer_suppliers` in at most DuckDB's time.
"""

import os
import pathlib
import shutil
import sys

from harness import answers, measure, prepare, run, statistics
from harness.children import Child, Failed

SEED = 20_261_125
PEER = pathlib.Path(__file__).resolve().parent / "harness" / "peer.py"


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default: 1)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runner", help="a runner that is built already")
    parser.add_argument("--before", help="the runner of an earlier build")
    return parser.parse_args()


def decisions():
    """The sixty queries by their names: each begins behind a line `-- name`."""
    texts = {}
    text = (prepare.DEFINITIONS / "subqueries" / "decisions.sql").read_text(encoding="utf-8")
    for part in text.split("\n-- ")[1:]:
        name, sql = part.split("\n", 1)
        texts[name] = sql.strip().rstrip(";")
    return texts


def verified(children, queries):
    """The children that answer each query as DuckDB does. Ends the run where an answer is another one."""
    able = {}
    for name, sql in queries.items():
        expected = children["duckdb"].ask(do="answer", sql=sql)["rows"]
        able[name] = ["duckdb"]
        for engine in [engine for engine in children if engine != "duckdb"]:
            try:
                rows = children[engine].ask(do="answer", sql=sql)["rows"]
            except Failed as error:
                if engine == "gingham":
                    sys.exit(f"{name}: {error}")
                print(f"{name}: {engine} refuses it: {error}")
                continue
            difference = answers.difference(expected, rows, True)
            if difference and engine == "gingham":
                sys.exit(f"{name}: not the answer of DuckDB: {difference}")
            if difference:
                print(f"{name}: {engine} has another answer: {difference}")
                continue
            able[name].append(engine)
    return able


def main():
    args = arguments()
    bench = run.Run("subqueries", args)
    runner = args.runner or prepare.build(run.ROOT, args.profile)["runner"]
    files = prepare.data(args.work, runner, args.scale)
    python, versions = prepare.virtual_environment(args.work)
    threads = str(args.threads)
    commands = {"gingham": [runner, "gingham"], "duckdb": [str(python), str(PEER), "duckdb-memory"]}
    if args.before:
        commands["before"] = [args.before, "gingham"]
    queries = prepare.queries() | decisions()
    children = {}
    bench.begin()
    try:
        for name, command in commands.items():
            database = bench.folder / f"subqueries-{name}"
            shutil.rmtree(database, ignore_errors=True)
            children[name] = Child([*command, str(files), str(database), threads], args.work / "children.log")
            children[name].ask(do="load" if name != "duckdb" else "open")
        able = verified(children, queries)
        times = {}
        for engines in sorted({tuple(own) for own in able.values()}):
            own = {query: sql for query, sql in queries.items() if tuple(able[query]) == engines}
            asked = {engine: children[engine] for engine in engines}
            times |= measure.interleaved(asked, own, args.rounds, SEED)
    finally:
        for child in children.values():
            child.close()
    bench.end()
    show(times)
    figures = {"scale": args.scale, "threads": args.threads, "versions": versions, "seconds": times}
    bench.write(figures)


def show(times):
    """Prints medians with their intervals, and ratios."""
    ratios = {"duckdb": [], "before": []}
    print(f"{'query':28} {'gingham ms':>22} {'duckdb ms':>10} {'ratio':>6} {'before ms':>10} {'ratio':>6}")
    for query, own in times.items():
        gingham = statistics.median(own["gingham"])
        low, high, _ = statistics.interval(own["gingham"])
        line = f"{query:28} {1000 * gingham:8.1f} ({1000 * low:.1f} to {1000 * high:.1f})"
        for engine, all_ratios in ratios.items():
            if engine in own:
                other = statistics.median(own[engine])
                all_ratios.append(gingham / other)
                line += f" {1000 * other:10.1f} {gingham / other:6.2f}"
        print(line)
    for engine, all_ratios in ratios.items():
        if all_ratios:
            mean = statistics.geometric_mean(all_ratios)
            print(f"beside {engine}: geometric mean of {len(all_ratios)} ratios {mean:.3f}")


if __name__ == "__main__":
    main()
