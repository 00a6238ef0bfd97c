#!/usr/bin/env python3
"""What TPC-H does not ask: strings as keys and in orders, windows, sets of keys, DISTINCT, sorts of whole tables; beside DuckDB.

    python3 benchmarks/others.py                 build, generate, load, measure; writes to --work
    python3 benchmarks/others.py --rounds 3 --queries rollup median      a quick look
    python3 benchmarks/others.py --record        into benchmarks/record/

The queries are those of definitions/others, over TPC-H's tables. Plans are made anew. A query whose answer differs ends the run.
"""

import os
import sys

from harness import answers, measure, prepare, run, statistics
from harness.children import Child

SEED = 20_261_123
FOLDER = prepare.DEFINITIONS / "others"
NAMES = sorted(text.stem for text in FOLDER.glob("*.sql"))


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default: 1)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--queries", nargs="+", default=NAMES, choices=NAMES, metavar="QUERY")
    return parser.parse_args()


def verify(children, queries):
    """Ends the run where an answer is not DuckDB's."""
    for name, sql in queries.items():
        own, other = (child.ask(do="answer", sql=sql)["rows"] for child in children.values())
        difference = answers.difference(own, other, True)
        if difference:
            sys.exit(f"{name}: not DuckDB's answer: {difference}")


def main():
    args = arguments()
    bench = run.Run("others", args)
    python, versions = prepare.virtual_environment(args.work)
    bench.facts["versions"] = versions
    programs = prepare.build(run.ROOT, args.profile)
    files = prepare.data(args.work, programs["runner"], args.scale)
    database, log = bench.folder / "others", args.work / "children.log"
    prepare.load(programs["gingham"], files, database / "gingham", "column")
    tail = [str(files), str(database / "gingham"), str(args.threads)]
    peer = [str(python), str(run.BENCHMARKS / "harness" / "peer.py"), "duckdb-file", str(files), str(database / "duckdb")]
    children = {"gingham": Child([programs["runner"], "gingham-cold", *tail], log)}
    try:
        children["duckdb"] = Child([*peer, str(args.threads)], log)
        children["gingham"].ask(do="open")
        children["duckdb"].ask(do="load")
        queries = {name: (FOLDER / f"{name}.sql").read_text(encoding="utf-8") for name in args.queries}
        verify(children, queries)
        bench.begin()
        times = measure.interleaved(children, queries, args.rounds, SEED)
        bench.end()
    finally:
        for child in children.values():
            child.close()

    print(f"{'query':24} {'gingham ms':>11} {'duckdb ms':>10} {'share':>6}")
    shares = []
    for query, own in sorted(times.items()):
        gingham, duckdb = (statistics.median(own[engine]) for engine in ("gingham", "duckdb"))
        shares.append(gingham / duckdb)
        print(f"{query:24} {1000 * gingham:11.2f} {1000 * duckdb:10.2f} {gingham / duckdb:6.2f}")
    print(f"geometric mean {statistics.geometric_mean(shares):.2f}")
    bench.write({"threads": args.threads, "scale": args.scale, "seconds": times})


if __name__ == "__main__":
    main()
