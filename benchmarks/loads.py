#!/usr/bin/env python3
"""Bulk loads of lineitem from Parquet into tables in heap pages, beside the same into columns.

    python3 benchmarks/loads.py                  build, generate, load, measure; writes to --work
    python3 benchmarks/loads.py --rounds 3       a quick look
    python3 benchmarks/loads.py --record         into benchmarks/record/

Each load is a new process and a new database; the time is that of COPY, committed and synced, as `gingham --timing` prints it.
Wanted: PAX at most 1.1 times as long as NSM (with pages filled as far as they go), and at most 1.5 times as long as columns.
"""

import os
import shutil
import subprocess
import sys
import time

from harness import machine, prepare, run, statistics

LAYOUTS = ["column", "nsm", "pax", "dsm"]
# Of which each layout has to give the same.
ANSWER = (
    "SELECT count(*), sum(l_orderkey), sum(l_extendedprice), min(l_shipdate), max(l_receiptdate), "
    "count(DISTINCT l_shipmode), sum(length(l_comment)), min(l_comment) FROM lineitem"
)


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default: 1)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS[:3], choices=LAYOUTS)
    return parser.parse_args()


def load(program, file, database, layout):
    """Seconds of a load, and its answer."""
    shutil.rmtree(database, ignore_errors=True)
    os.sync()
    time.sleep(0.5)
    create = f"{prepare.lineitem_schema()} WITH (layout = '{layout}')"
    command = [program, str(database), "--timing", "-c", f"{create}; COPY lineitem FROM '{file}'"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    times = [float(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("Time:")]
    command = [program, str(database), "--format", "csv", "-c", ANSWER]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return times[-1] / 1000, answer


def main():
    args = arguments()
    bench = run.Run("loads", args)
    programs = prepare.build(run.ROOT, args.profile)
    file = prepare.data(args.work, programs["runner"], args.scale) / "lineitem.parquet"
    times, sizes, answers = {}, {}, set()
    bench.begin()
    for _ in range(args.rounds):
        for layout in args.layouts:
            database = bench.folder / f"loads-{layout}"
            seconds, answer = load(programs["gingham"], file, database, layout)
            sizes[layout] = machine.folder_bytes(database)
            shutil.rmtree(database)
            times.setdefault(layout, []).append(seconds)
            of_file = machine.synced_write(bench.folder / "loads.file", sizes[layout])
            times.setdefault(f"file of {layout}'s bytes", []).append(of_file)
            answers.add(answer)
    bench.end()
    if len(answers) != 1:
        sys.exit("the layouts give different answers:\n" + "\n".join(answers))

    print(f"{'load of lineitem':26} {'median s':>9} {'interval':>17} {'MB':>6}")
    for name, own in times.items():
        low, high, _ = statistics.interval(own)
        size = f"{sizes[name] / 1e6:6.0f}" if name in sizes else ""
        print(f"{name:26} {statistics.median(own):9.2f} {low:8.2f} … {high:6.2f} {size}")
    of = {name: statistics.median(own) for name, own in times.items()}
    for peer, most in (("nsm", 1.1), ("column", 1.5)):
        if peer in of and "pax" in of:
            print(f"pax takes {of['pax'] / of[peer]:.2f} times as long as {peer} (wanted: at most {most})")
    bench.write({"scale": args.scale, "seconds": times, "bytes": sizes})


if __name__ == "__main__":
    main()
