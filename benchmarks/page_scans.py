#!/usr/bin/env python3
"""Scans of tables in heap pages, beside the same in columns: the PAX paper's R by selectivity, and columns of lineitem.

    python3 benchmarks/page_scans.py              build, fill, measure; writes to --work
    python3 benchmarks/page_scans.py --rounds 5   a quick look
    python3 benchmarks/page_scans.py --record     into benchmarks/record/

Wanted: of R, PAX at most 1.5 times as long as columns without encoding and ahead of NSM at every selectivity; of lineitem, at least 40 %
of the read bandwidth over the lines that a query needs. METHODOLOGY.md says what is measured.
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "byteslice"))

import build  # noqa: E402 (the path has to be set first)
from harness import prepare, run, statistics  # noqa: E402
from harness.children import Child  # noqa: E402

LAYOUTS = ["plain", "column", "pax", "nsm", "dsm"]
ATTRIBUTES = [f"a{number}" for number in range(1, 9)]
# As l_partkey at scale 1.
VALUES = 200_000
SELECTIVITIES = [0, 1, 10, 50, 100]
# Columns of lineitem that a query adds up, and the bytes of a value.
COLUMNS = {"l_extendedprice": 8, "l_partkey": 8}


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--records", type=int, default=1_200_000, help="of R")
    parser.add_argument("--rounds", type=int, default=15)
    return parser.parse_args()


def options(layout, columns):
    """What a table's definition says of its layout."""
    if layout != "plain":
        return f"WITH (layout = '{layout}')"
    return "WITH (layout = 'column', encoding = '" + ", ".join(f"{column} plain" for column in columns) + "')"


def fill(child, files, work, records):
    """Makes R and lineitem in every layout."""
    rng, file = random.Random(1), work / "databases" / "r.csv"
    with open(file, "w", encoding="utf-8") as to:
        for _ in range(records):
            to.write(",".join(str(rng.randrange(1, VALUES + 1)) for _ in ATTRIBUTES) + "\n")
    definition = ", ".join(f"{name} BIGINT NOT NULL" for name in ATTRIBUTES)
    for layout in LAYOUTS:
        child.ask(do="execute", sql=f"CREATE TABLE r_{layout} ({definition}) {options(layout, ATTRIBUTES)}")
        child.ask(do="execute", sql=f"COPY r_{layout} FROM '{file}'")
    file.unlink()
    for layout in LAYOUTS:
        create = prepare.lineitem_schema().replace("lineitem", f"lineitem_{layout}", 1)
        child.ask(do="execute", sql=f"{create} {options(layout, COLUMNS)}")
        child.ask(do="execute", sql=f"COPY lineitem_{layout} FROM '{files}/lineitem.parquet'")


def queries():
    """Each query's name, its text for a layout, and the bytes of the columns that it reads of a record."""
    found = {}
    for selectivity in SELECTIVITIES:
        end = 1 + VALUES * selectivity // 100
        text = f"SELECT avg(a1) FROM r_{{}} WHERE 0 < a2 AND a2 < {end}"
        found[f"R, {selectivity} %"] = (text, None)
    for column, width in COLUMNS.items():
        found[f"lineitem, {column}"] = (f"SELECT sum({column}) FROM lineitem_{{}}", width)
    return found


def bandwidth(program):
    """Bytes a second that one thread reads from memory, of as many as lineitem's pages have."""
    done = subprocess.run([program], input=f"read {2**30} 0.2\n", stdout=subprocess.PIPE, text=True, check=True)
    return 2**30 / float(done.stdout.split()[1])


def measure(child, rounds):
    """Seconds of each query in each layout, by rounds in random order; the layouts' answers must agree."""
    times, rng = {}, random.Random(2)
    pairs = [(name, layout) for name in queries() for layout in LAYOUTS]
    for name, (text, _) in queries().items():
        rows = {json.dumps(child.ask(do="answer", sql=text.format(layout))["rows"]) for layout in LAYOUTS}
        if len(rows) != 1:
            sys.exit(f"{name}: the layouts give different answers: {rows}")
    for _ in range(rounds):
        rng.shuffle(pairs)
        for name, layout in pairs:
            sql = queries()[name][0].format(layout)
            times.setdefault(f"{name} / {layout}", []).append(child.ask(do="query", sql=sql)["seconds"])
    return times


def show(times, records, read):
    """Prints medians with intervals, and what is wanted of them."""
    of = {name: statistics.median(own) for name, own in times.items()}
    print(f"reading memory: {read / 1e9:.1f} GB/s")
    for name, own in sorted(times.items()):
        low, high, _ = statistics.interval(own)
        print(f"{name:34} {of[name] * 1e3:8.2f} ms ({low * 1e3:.2f} to {high * 1e3:.2f})")
    for name, (_, width) in queries().items():
        pax, plain, nsm = (of[f"{name} / {layout}"] for layout in ("pax", "plain", "nsm"))
        line = f"{name}: pax takes {pax / plain:.2f} of plain columns' time and {pax / nsm:.2f} of nsm's"
        if width:
            line += f", and reads at {records * width / pax / read:.0%} of the bandwidth"
        print(line)


def main():
    args = arguments()
    bench = run.Run("page-scans", args)
    database, log = bench.folder / "page-scans", args.work / "children.log"
    runner = prepare.build(run.ROOT, args.profile)["runner"]
    reader = build.runner(run.ROOT)
    files = prepare.data(args.work, runner, 1)
    shutil.rmtree(database, ignore_errors=True)
    child = Child([runner, "gingham", str(files), str(database), "1"], log)
    try:
        child.ask(do="open")
        fill(child, files, args.work, args.records)
        records = int(child.ask(do="answer", sql="SELECT count(*) FROM lineitem_plain")["rows"][0][0])
        read = bandwidth(reader)
        bench.begin()
        times = measure(child, args.rounds)
        bench.end()
    finally:
        child.close()
    shutil.rmtree(database)
    show(times, records, read)
    bench.write({"records": args.records, "read_bytes_per_second": read, "seconds": times})


if __name__ == "__main__":
    main()
