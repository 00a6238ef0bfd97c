#!/usr/bin/env python3
"""UPDATE of a tenth of lineitem, in columns and in heap pages, beside DuckDB and beside writing a file of the table's size.

    python3 benchmarks/bulk_updates.py           build, generate, load, measure; writes to --work
    python3 benchmarks/bulk_updates.py --rounds 3        a quick look
    python3 benchmarks/bulk_updates.py --record  into benchmarks/record/

Each round changes another tenth of the orders, which lie in all pages. The time is that of the statement, committed and synced.
Wanted: columns level with DuckDB, heap pages at most 1.5 times as long as a file of the loaded table's size takes to be written
and synced.
"""

import json
import os
import shutil
import sys

from harness import machine, prepare, run, statistics
from harness.children import Child

LAYOUTS = ["column", "nsm", "pax", "dsm"]
ANSWER = "SELECT count(*) AS n, sum(l_extendedprice) AS price, sum(l_quantity) AS quantity FROM lineitem"


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default: 1)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=7, help="at most 10")
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS[:3], choices=LAYOUTS)
    return parser.parse_args()


def start(name, args, programs, files, folder):
    """A process with lineitem loaded."""
    database = folder / f"bulk-updates-{name}"
    shutil.rmtree(database, ignore_errors=True)
    program = programs["duckdb" if name == "duckdb-file" else "gingham"]
    own = name if name == "duckdb-file" else "gingham"
    child = Child([*program, own, str(files), str(database), str(args.threads)], args.work / "children.log")
    if name == "duckdb-file":
        child.ask(do="load")
    else:
        child.ask(do="open")
        child.ask(do="execute", sql=f"{prepare.lineitem_schema()} WITH (layout = '{name}')")
        child.ask(do="execute", sql=f"COPY lineitem FROM '{files}/lineitem.parquet'")
    return child, database


def measure(children, args, folder):
    """Seconds of each child and of a file of each heap table's bytes, in each round; the order goes round too."""
    sizes = {name: machine.folder_bytes(database) for name, (_, database) in children.items()}
    times = {}
    for turn in range(args.rounds):
        names = list(children)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            os.sync()
            sql = f"UPDATE lineitem SET l_extendedprice = l_extendedprice + 1 WHERE l_orderkey % 10 = {turn}"
            request = "query" if name == "duckdb-file" else "execute"
            times.setdefault(name, []).append(children[name][0].ask(do=request, sql=sql)["seconds"])
            if name in LAYOUTS[1:]:
                seconds = machine.synced_write(folder / "bulk-updates.file", sizes[name])
                times.setdefault(f"file of {name}'s bytes", []).append(seconds)
    found = {name: child.ask(do="answer", sql=ANSWER)["rows"] for name, (child, _) in children.items()}
    if len({json.dumps(rows) for rows in found.values()}) != 1:
        sys.exit(f"the tables are not the same after the updates: {found}")
    return times, sizes


def main():
    args = arguments()
    python, versions = prepare.virtual_environment(args.work)
    bench = run.Run("bulk-updates", args)
    bench.facts["versions"] = versions
    built = prepare.build(run.ROOT, args.profile)
    programs = {"gingham": [built["runner"]], "duckdb": [str(python), str(run.BENCHMARKS / "harness" / "peer.py")]}
    files = prepare.data(args.work, built["runner"], args.scale)
    children = {}
    bench.begin()
    try:
        for name in ["duckdb-file", *args.layouts]:
            children[name] = start(name, args, programs, files, bench.folder)
        times, sizes = measure(children, args, bench.folder)
    finally:
        for child, database in children.values():
            child.close()
            shutil.rmtree(database)
    bench.end()

    print(f"{'UPDATE of a tenth':26} {'median s':>9} {'interval':>17}")
    of = {name: statistics.median(own) for name, own in times.items()}
    for name, own in times.items():
        low, high, _ = statistics.interval(own)
        peer = "duckdb-file" if name == "column" else f"file of {name}'s bytes"
        ratio = f"   {of[name] / of[peer]:.2f} of {peer}" if peer in of else ""
        print(f"{name:26} {of[name]:9.2f} {low:8.2f} … {high:6.2f}{ratio}")
    bench.write({"scale": args.scale, "threads": args.threads, "seconds": times, "bytes": sizes})


if __name__ == "__main__":
    main()
