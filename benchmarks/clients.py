#!/usr/bin/env python3
"""How clients share the threads: TPC-H's queries alone, and beside one and seven clients that run a long one over and over.

    python3 benchmarks/clients.py                build, generate, load, measure; writes to --work
    python3 benchmarks/clients.py --rounds 3 --queries q06 q14      a quick look
    python3 benchmarks/clients.py --record       into benchmarks/record/

Wanted: a short query beside a long one takes at most three times as long as alone.
"""

import json
import os
import subprocess

from harness import prepare, run, statistics

MOST = 3.0


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default: 1)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--long", nargs="+", default=["q18", "q09", "q13"], help="the long queries, one after the other")
    parser.add_argument("--queries", nargs="+", default=sorted(prepare.queries()), help="the short ones")
    return parser.parse_args()


def main():
    args = arguments()
    bench = run.Run("clients", args)
    programs = prepare.build(run.ROOT, args.profile)
    program = prepare.example(run.ROOT, args.profile, "clients")
    files = prepare.data(args.work, programs["runner"], args.scale)
    database = bench.folder / "clients"
    prepare.load(programs["gingham"], files, database, "column")
    folder = prepare.DEFINITIONS / "tpch"
    results = []
    bench.begin()
    for long in args.long:
        texts = [str(folder / f"{name}.sql") for name in [long, *(query for query in args.queries if query != long)]]
        command = [program, str(database), str(args.threads), str(args.rounds), *texts]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        results.append(json.loads(done.stdout))
    bench.end()

    for own in results:
        print(f"beside {own['long']}, which ran {' / '.join(f'{runs:.1f}' for runs in own['long_runs_per_second'])} times a second")
        print(f"{'query':8} {'alone ms':>9} " + " ".join(f"{f'beside {clients}':>10} {'ratio':>6}" for clients in own["beside"][1:]))
        for query, times in own["short_ms"].items():
            alone, *beside = (statistics.median(some) for some in times)
            cells = " ".join(f"{some:10.2f} {some / alone:6.2f}" for some in beside)
            print(f"{query:8} {alone:9.2f} {cells}{'  more than wanted' if beside[0] > MOST * alone else ''}")
    bench.write({"scale": args.scale, "clients": results})


if __name__ == "__main__":
    main()
