#!/usr/bin/env python3
"""TPC-H on tables of which 1 % of the records are deleted and 1 % lie in the delta, beside the same tables as they were loaded.

    python3 benchmarks/changed.py                build, generate, load, change, measure; writes to --work
    python3 benchmarks/changed.py --rounds 3     a quick look
    python3 benchmarks/changed.py --record       into benchmarks/record/

A hundredth of the records of each large table is updated with the key that it has, a thousandth in each statement, so that the
tables hold what they held. Wanted: the sum of all queries at most 15 % above that of the clean tables, each query at most 15 %
and 3 ms.
"""

import os
import sys

from harness import answers, measure, prepare, run, statistics
from harness.children import Child

KEYS = {
    "lineitem": "l_orderkey",
    "orders": "o_orderkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey",
    "supplier": "s_suppkey",
}
SEED = 20_261_122
MOST, AND_SECONDS = 1.15, 0.003


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default: 1)")
    parser.add_argument("--layout", default="column", help="layout of the tables (default: column)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    return parser.parse_args()


def change(program, database):
    """Updates a hundredth of each table in ten statements; says what lies where then."""
    statements = [
        f"UPDATE {table} SET {key} = {key} WHERE {key} % 1000 = {100 * part + 7};\n"
        for table, key in KEYS.items()
        for part in range(10)
    ]
    prepare.run_sql(program, database, "".join(statements))
    return prepare.run_sql(program, database, "SELECT * FROM gingham_tables")


def verify(children, queries):
    """Ends the run where an answer is not that of the clean tables."""
    for name, sql in queries.items():
        clean, changed = (child.ask(do="answer", sql=sql)["rows"] for child in children.values())
        difference = answers.difference(clean, changed, True)
        if difference:
            sys.exit(f"{name}: not the answer of the clean tables: {difference}")


def main():
    args = arguments()
    bench = run.Run("changed", args)
    programs = prepare.build(run.ROOT, args.profile)
    files = prepare.data(args.work, programs["runner"], args.scale)
    databases = {name: bench.folder / f"changed-{name}" for name in ("clean", "changed")}
    for database in databases.values():
        prepare.load(programs["gingham"], files, database, args.layout)
    where = change(programs["gingham"], databases["changed"])
    queries = prepare.queries()
    children = {}
    bench.begin()
    try:
        for name, database in databases.items():
            command = [programs["runner"], "gingham", str(files), str(database), str(args.threads)]
            children[name] = Child(command, args.work / "children.log")
            children[name].ask(do="open")
        verify(children, queries)
        times = measure.interleaved(children, queries, args.rounds, SEED, uncounted=0)
    finally:
        for child in children.values():
            child.close()
    bench.end()

    print(where)
    sums = dict.fromkeys(databases, 0.0)
    print(f"{'query':8} {'clean ms':>9} {'changed ms':>11} {'ratio':>6}")
    for query, own in times.items():
        clean, changed = (statistics.median(own[name]) for name in databases)
        sums = {"clean": sums["clean"] + clean, "changed": sums["changed"] + changed}
        beyond = "  more than wanted" if changed > MOST * clean + AND_SECONDS else ""
        print(f"{query:8} {1000 * clean:9.1f} {1000 * changed:11.1f} {changed / clean:6.2f}{beyond}")
    ratio = sums["changed"] / sums["clean"]
    print(f"{'sum':8} {1000 * sums['clean']:9.1f} {1000 * sums['changed']:11.1f} {ratio:6.2f}  (wanted: at most {MOST})")
    bench.write({"scale": args.scale, "layout": args.layout, "threads": args.threads, "tables": where, "seconds": times})


if __name__ == "__main__":
    main()
