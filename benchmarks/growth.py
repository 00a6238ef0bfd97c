#!/usr/bin/env python3
"""TPC-H at a scale beside ten times that: how the times of its queries grow, and the memory they take.

    python3 benchmarks/growth.py                 scale 1 and 10: build, generate, load, measure; writes to --work
    python3 benchmarks/growth.py --scales 0.1 1 --rounds 3          a quick look
    python3 benchmarks/growth.py --record        into benchmarks/record/

Wanted: the geometric mean of the growth at most 11, any query's at most 15, and at most 10 GB of memory at scale 10.
"""

import os
import sys

from harness import answers, measure, prepare, run, statistics
from harness.children import Child

SEED = 20_261_123
MEAN, MOST, PEAK = 11.0, 15.0, 10e9


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scales", type=float, nargs=2, default=[1.0, 10.0], help="the two scale factors (default: 1 10)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    return parser.parse_args()


def text_at(sql, scale):
    """The query as the scale has it: query 11's share of the whole falls with it."""
    return sql.replace("0.0001000000", f"{0.0001 / scale:.10f}")


def verify(child, peer, queries, scale):
    """Ends the run where an answer is not DataFusion's over the Parquet files."""
    for name, sql in queries.items():
        own, other = (of.ask(do="answer", sql=text_at(sql, scale))["rows"] for of in (child, peer))
        difference = answers.difference(own, other, True)
        if difference:
            sys.exit(f"{name} at scale {scale:g}: not DataFusion's answer: {difference}")


def main():
    args = arguments()
    bench = run.Run("growth", args)
    programs = prepare.build(run.ROOT, args.profile)
    queries, children, log = prepare.queries(), {}, args.work / "children.log"
    try:
        for scale in args.scales:
            files = prepare.data(args.work, programs["runner"], scale)
            database = bench.folder / f"growth-{scale:g}"
            prepare.load(programs["gingham"], files, database, "column")
            child = children[scale] = Child([programs["runner"], "gingham", str(files), str(database), str(args.threads)], log)
            child.ask(do="open")
            peer = Child([programs["runner"], "datafusion-parquet", str(files), "-", str(args.threads)], log)
            try:
                peer.ask(do="open")
                verify(child, peer, queries, scale)
            finally:
                peer.close()
        bench.begin()
        times = measure.interleaved(children, queries, args.rounds, SEED, text=text_at)
        bench.end()
        peaks = {scale: child.peak_bytes() for scale, child in children.items()}
    finally:
        for child in children.values():
            child.close()

    small, large = args.scales
    print(f"{'query':8} {f'{small:g} ms':>9} {f'{large:g} ms':>9} {'growth':>7}")
    growths = []
    for query, own in sorted(times.items()):
        first, second = (statistics.median(own[scale]) for scale in args.scales)
        growths.append(second / first)
        beyond = "  more than wanted" if second > MOST * first else ""
        print(f"{query:8} {1000 * first:9.1f} {1000 * second:9.1f} {second / first:7.2f}{beyond}")
    mean = statistics.geometric_mean(growths)
    print(f"geometric mean {mean:.2f} (wanted: at most {MEAN:g}), most {max(growths):.2f} (at most {MOST:g})")
    print(f"peak memory {peaks[small] / 1e6:.0f} and {peaks[large] / 1e6:.0f} MB (at most {PEAK / 1e6:.0f})")
    bench.write({"threads": args.threads, "scales": args.scales, "peak_bytes": list(peaks.values()), "seconds": {
        query: {f"{scale:g}": some for scale, some in own.items()} for query, own in times.items()
    }})


if __name__ == "__main__":
    main()
