#!/usr/bin/env python3
"""A thousand records at a time into tables without keys, beside DuckDB: by appenders, and as the text of INSERT.

    python3 benchmarks/appends.py                build, measure; writes to --work
    python3 benchmarks/appends.py --batches 50 --rounds 2        a quick look
    python3 benchmarks/appends.py --record       into benchmarks/record/

`each` is an appender for each batch, `one` an appender for all batches, `text` an INSERT of a thousand rows. What is committed is
synced. DuckDB's appender for Arrow batches is not in its Python package: there a batch is registered and read by INSERT … SELECT,
which hands on its columns, in a transaction of its own (`each`) or one for all (`one`). Wanted: level with DuckDB.
"""

import json
import shutil
import subprocess
import sys

from harness import prepare, run, statistics

LAYOUTS = ["column", "nsm", "pax", "dsm"]
WAYS = ["each", "one", "text"]


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--batches", type=int, default=300, help="batches of a thousand records")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS[:3], choices=LAYOUTS)
    return parser.parse_args()


def ask(command, database, way, batches):
    """What a program prints of one way, with a new database."""
    shutil.rmtree(database, ignore_errors=True)
    done = subprocess.run([*command, way, str(batches)], stdout=subprocess.PIPE, text=True, check=True)
    shutil.rmtree(database, ignore_errors=True)
    return json.loads(done.stdout)


def main():
    args = arguments()
    python, versions = prepare.virtual_environment(args.work)
    bench = run.Run("appends", args)
    bench.facts["versions"] = versions
    program = prepare.example(run.ROOT, args.profile, "appends")
    peer = run.BENCHMARKS / "harness" / "appends.py"
    commands = {"duckdb": [str(python), str(peer), str(bench.folder / "appends-duckdb")]}
    commands |= {layout: [program, str(bench.folder / f"appends-{layout}"), layout] for layout in args.layouts}
    times, answers = {}, set()
    bench.begin()
    for _ in range(args.rounds):
        for way in WAYS:
            for name, command in commands.items():
                reply = ask(command, bench.folder / f"appends-{name}", way, args.batches)
                # A whole round's time of a batch; its median would leave out what is done every so often.
                times.setdefault(way, {}).setdefault(name, []).append(sum(reply["milliseconds"]) / args.batches)
                answers.add((reply["rows"], reply["sum"], float(reply["prices"])))
    bench.end()
    if len(answers) != 1:
        sys.exit(f"the tables are not the same: {answers}")

    print(f"{'ms for 1000 records':24} {'median':>8} {'interval':>17}")
    for way, of_way in times.items():
        of_peer = statistics.median(of_way["duckdb"])
        for name, own in of_way.items():
            low, high, _ = statistics.interval(own)
            ratio = "" if name == "duckdb" else f"   {statistics.median(own) / of_peer:.2f} of DuckDB's"
            print(f"{way + ', ' + name:24} {statistics.median(own):8.2f} {low:8.2f} … {high:6.2f}{ratio}")
    bench.write({"batches": args.batches, "milliseconds": times})


if __name__ == "__main__":
    main()
