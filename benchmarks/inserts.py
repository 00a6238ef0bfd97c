#!/usr/bin/env python3
"""What an INSERT of ten records into lineitem (6 million records at scale 1, PRIMARY KEY checked) takes.

    python3 benchmarks/inserts.py                build, generate, load, measure; writes to --work
    python3 benchmarks/inserts.py --layout pax   the same, of tables in heap pages, whose keys have indexes
    python3 benchmarks/inserts.py --record       into benchmarks/record/

Keys lie past the table's largest, or anywhere among those that exist. `first` is the first statement of a new process on
files that the system has in memory, `next` every later one of that process; each is committed and synced. The times are
those that `gingham --timing` prints, from the statement's text to its end. Every INSERT's records are counted after.
"""

import random
import shutil
import subprocess
import sys

from harness import prepare, run, statistics

RECORDS = 10
# Keys of TPC-H leave three of four numbers free below this, per scale factor.
LARGEST_ORDER = 6_000_000
SEED = 20_261_121
COUNT = "SELECT count(*) FROM lineitem"


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default: 1)")
    parser.add_argument("--layout", default="column", help="layout of the tables (default: column)")
    parser.add_argument("--processes", type=int, default=20, help="new processes for each place of the keys")
    parser.add_argument("--next", type=int, default=10, help="statements after the first of a process")
    return parser.parse_args()


def load(program, files, database, layout):
    """A new database with lineitem and orders and their keys."""
    shutil.rmtree(database, ignore_errors=True)
    schema = (run.BENCHMARKS / "definitions" / "tpch" / "schema-keys.sql").read_text(encoding="utf-8")
    schema = f"SET gingham.layout = '{layout}';\n{schema}"
    schema += "".join(f"COPY {name.stem} FROM '{name}';\n" for name in in_order(files))
    subprocess.run([program, str(database)], input=schema, text=True, check=True, stdout=subprocess.DEVNULL)


def in_order(files):
    """Tables that others refer to come first."""
    names = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
    return [files / f"{name}.parquet" for name in names]


def statement(random_numbers, inside, scale):
    """INSERT of records whose keys are new: no order has a line 8 or above."""
    rows = []
    for _ in range(RECORDS):
        order = random_numbers.choice(inside) if inside else int(LARGEST_ORDER * scale)
        line = random_numbers.randrange(8, 2**31)
        dates = "DATE '1995-01-01', DATE '1995-02-01', DATE '1995-03-01'"
        rows.append(f"({order}, 1, 2, {line}, 1.00, 2.00, 0.03, 0.04, 'N', 'O', {dates}, 'NONE', 'RAIL', 'a comment')")
    return f"INSERT INTO lineitem VALUES {', '.join(rows)};"


def measure(program, database, statements):
    """Milliseconds of each statement in one new process."""
    command = [program, str(database), "--timing", "-c", "\n".join(statements)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    times = [float(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("Time:")]
    if len(times) != len(statements):
        sys.exit(f"{len(statements)} statements gave {len(times)} times")
    return times


def column(program, database, sql):
    """The integers that a query gives."""
    command = [program, str(database), "--format", "csv", "-c", sql]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.splitlines()[1:]]


def main():
    args = arguments()
    bench = run.Run("inserts", args)
    programs = prepare.build(run.ROOT, args.profile)
    program, files = programs["gingham"], prepare.data(args.work, programs["runner"], args.scale)
    database = bench.folder / "inserts"
    load(program, files, database, args.layout)

    numbers = random.Random(SEED)
    orders = "SELECT o_orderkey FROM orders WHERE o_orderkey % 97 = 3"
    keys = column(program, database, orders)
    before, times = column(program, database, COUNT)[0], {}
    bench.begin()
    plan = ["past the largest", "among them"] * args.processes
    numbers.shuffle(plan)
    for place in plan:
        statements = [statement(numbers, keys if place == "among them" else None, args.scale) for _ in range(1 + args.next)]
        first, *later = measure(program, database, statements)
        times.setdefault(f"first, {place}", []).append(first)
        times.setdefault(f"next, {place}", []).extend(later)
    bench.end()
    inserted = column(program, database, COUNT)[0] - before
    if inserted != len(plan) * (1 + args.next) * RECORDS:
        sys.exit(f"{inserted} records were inserted, not {len(plan) * (1 + args.next) * RECORDS}")
    shutil.rmtree(database)

    print(f"{'INSERT of 10 records':30} {'median ms':>10} {'95 % interval':>18} {'largest':>9}")
    for name, values in sorted(times.items()):
        low, high, _ = statistics.interval(values)
        print(f"{name:30} {statistics.median(values):10.1f} {low:9.1f} … {high:6.1f} {max(values):9.1f}")
    figures = {"scale": args.scale, "layout": args.layout, "records": before, "milliseconds": times}
    bench.write(figures, "" if args.layout == "column" else f"-{args.layout}")


if __name__ == "__main__":
    main()
