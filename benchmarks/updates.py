#!/usr/bin/env python3
"""Single-row updates by key of tables in heap pages, beside a reader that stays open and when it is gone.

    python3 benchmarks/updates.py                one million updates of each layout, a reader for 60 s; writes to --work
    python3 benchmarks/updates.py --updates 20000 --seconds 5       a quick look
    python3 benchmarks/updates.py --record       into benchmarks/record/

Two figures are wanted: the 99th percentile of a commit after all updates over that of a fresh database (at most 5), and the
catalog's file over the bytes of the table's pages, once the reader is gone (at most 3).
"""

import json
import shutil
import subprocess

from harness import prepare, run

LAYOUTS = ["nsm", "dsm", "pax"]


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--updates", type=int, default=1_000_000, help="updates of each layout")
    parser.add_argument("--seconds", type=int, default=60, help="how long the reader stays")
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS, choices=LAYOUTS)
    return parser.parse_args()


def measure(program, folder, args, layout):
    """The figures of one layout."""
    database = folder / f"updates-{layout}"
    shutil.rmtree(database, ignore_errors=True)
    command = [program, str(database), str(args.updates), str(args.seconds), layout]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    shutil.rmtree(database)
    return json.loads(done.stdout)


def main():
    args = arguments()
    bench = run.Run("updates", args)
    program = prepare.example(run.ROOT, args.profile, "updates")
    bench.begin()
    results = [measure(program, bench.folder, args, layout) for layout in args.layouts]
    bench.end()

    print(f"{'layout':6} {'updates':>9} {'fresh p99':>10} {'reader p99':>11} {'after p99':>10} {'ratio':>6} {'file/live':>10}")
    for own in results:
        fresh, beside, after = (own[phase]["p99"] for phase in ("fresh_ms", "beside_ms", "after_ms"))
        size = own["file_bytes"] / own["live_bytes"]
        print(f"{own['layout']:6} {own['updates']:9} {fresh:10.2f} {beside:11.2f} {after:10.2f} {after / fresh:6.2f} {size:10.2f}")
    bench.write({"seconds": args.seconds, "layouts": results})


if __name__ == "__main__":
    main()
