#!/usr/bin/env python3
"""What people bring besides TPC-H: H2O.ai's group-by and join questions, the star schema benchmark, and a wide table of web analytics; beside DuckDB
in memory and in a file, HyPer and Polars.

    python3 benchmarks/workloads.py                        build, generate, load, measure; writes to --work
    python3 benchmarks/workloads.py --only h2o --rows 1000000 --rounds 3        a quick look
    python3 benchmarks/workloads.py --plans kept           Gingham keeps plans; it makes them anew otherwise
    python3 benchmarks/workloads.py --only h2o --rows 1000000 --nulls 5        a twentieth of all values is NULL
    python3 benchmarks/workloads.py --record               into benchmarks/record/

Tables and queries are those of definitions/workloads. Seconds of Gingham are those that `--timing` tells, of the others those around a call that gives
all rows. A query whose answer differs from DuckDB's ends the run; but HyPer and Polars go without a query that they refuse or answer otherwise, which is
printed and recorded.
"""

import subprocess
import sys
import tomllib

from harness import answers, measure, prepare, run, statistics
from harness.children import Child, Failed
from harness.shell import Shell

SEED = 20_261_128
FOLDER = prepare.DEFINITIONS / "workloads"
NAMES = sorted(text.stem for text in FOLDER.glob("*.toml"))
FLAGS = "".join(f", (hash(i * 101 + {n}) % {3 + n} = 0)::SMALLINT AS f{n}" for n in range(1, 82))
NATIONS = {
    "AFRICA": ["ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"],
    "AMERICA": ["ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"],
    "ASIA": ["CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"],
    "EUROPE": ["FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"],
    "MIDDLE EAST": ["EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"],
}
PAIRS = [[nation, region] for region, nations in NATIONS.items() for nation in nations]
PEERS = ["duckdb-memory", "duckdb-file", "hyper", "polars"]
MAKE = "import duckdb, sys; duckdb.connect().execute(sys.stdin.read())"


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="WORKLOAD")
    parser.add_argument("--queries", nargs="+", metavar="QUERY", help="some queries alone")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--nulls", type=int, default=0, metavar="PERCENT", help="of all values, how many are NULL")
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS, metavar="PEER")
    parser.add_argument("--plans", choices=["kept", "cold"], default="cold")
    args = parser.parse_args()
    if "duckdb-memory" not in args.peers:
        parser.error("--peers: answers are compared with those of duckdb-memory, which has to be one")
    return args


def title(name, rows, nulls):
    """The name of a workload's data."""
    return f"{name}-{rows}-{nulls}" if nulls else f"{name}-{rows}"


def files_of(work, python, name, tables, rows, nulls=0):
    """The tables as Parquet files, made once."""
    folder = work / title(name, rows, nulls)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for table, text in tables.items():
        file = folder / f"{table}.parquet"
        if not file.exists():
            # DuckDB's braces are its own.
            query = text.replace("{rows}", str(rows)).replace("{flags}", FLAGS).replace("{nations}", str(PAIRS))
            if nulls:
                is_null = f"hash(COLUMNS(*)::VARCHAR || place) % 100 < {nulls}"
                numbered = f"SELECT *, row_number() OVER () AS place FROM ({query})"
                query = f"SELECT * EXCLUDE (place) FROM (SELECT CASE WHEN {is_null} THEN NULL ELSE COLUMNS(*) END FROM ({numbered}))"
            part = folder / f"{table}.part"
            subprocess.run([python, "-c", MAKE], input=f"COPY ({query}) TO '{part}' (FORMAT parquet)", text=True, check=True)
            part.rename(file)
        files.append(file)
    return files


def verify(children, queries):
    """Ends the run where an answer is not DuckDB's. Gives what HyPer and Polars refuse or answer otherwise, and what they say."""
    left = {}
    for name, sql in queries.items():
        expected = None
        # DuckDB's is the first.
        for child in sorted(children, key=lambda child: child != "duckdb-memory"):
            optional = child in ("hyper", "polars")
            try:
                asked = children[child].ask(do="answer", sql=sql)["rows"]
            except Failed as error:
                if not optional:
                    raise
                left[f"{name}, {child}"] = str(error).split("\n")[0]
                continue
            # In the command's CSV an empty text and NULL are one to Python's reader.
            rows = [[cell or None for cell in row] for row in asked]
            if expected is None:
                expected = rows
            difference = answers.difference(expected, rows, False)
            if difference and not optional:
                sys.exit(f"{name}: {child} has not DuckDB's answer: {difference}")
            if difference:
                left[f"{name}, {child}"] = difference
    return left


def measured(bench, args, python, program, name, threads):
    """Seconds of each query and child, most bytes of each child, and what peers are left out of."""
    definition = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    files = files_of(args.work, python, name, definition["tables"], args.rows, args.nulls)
    queries = {key: sql for key, sql in definition["queries"].items() if not args.queries or key in args.queries}
    data = title(name, args.rows, args.nulls)
    own = bench.folder / f"gingham-{data}"
    if not own.exists():
        loads = "".join(f"CREATE TABLE {file.stem} AS SELECT * FROM '{file}';\n" for file in files)
        prepare.run_sql(program, own, loads)
    log = args.work / "children.log"
    tables = [str(python), str(run.BENCHMARKS / "harness" / "tables.py")]
    children = {"gingham": Shell(program, own, threads, log, args.plans == "kept")}
    try:
        for peer in args.peers:
            place = bench.folder / f"{data}.{peer.removesuffix('-file')}"
            children[peer] = Child([*tables, peer, str(place), str(threads), *map(str, files)], log)
        left = verify(children, queries)
        for place, why in left.items():
            print(f"left out: {place}: {why}")
        without = {tuple(place.split(", ")) for place in left}
        times = measure.interleaved(children, queries, args.rounds, SEED, without=without)
        return times, {child: children[child].peak_bytes() for child in children}, left
    finally:
        for child in children.values():
            child.close()


def tell(times, peaks, peers):
    """Prints milliseconds, and Gingham's share of those of DuckDB's better half, and of each peer in the mean."""
    print(f"{'':18} {'gingham':>10}", *(f"{peer:>13}" for peer in peers), f"{'share':>6}")
    shares = {peer: [] for peer in ["duckdb", *peers]}
    for query, own in times.items():
        all_times = {child: statistics.median(own[child]) for child in own}
        all_times["duckdb"] = min((all_times[peer] for peer in peers if peer.startswith("duckdb")), default=None)
        for peer, kept in shares.items():
            if all_times.get(peer):
                kept.append(all_times["gingham"] / all_times[peer])
        cells = (f"{1000 * all_times[peer]:13.2f}" if peer in all_times else f"{'-':>13}" for peer in peers)
        share = f"{shares['duckdb'][-1]:6.2f}" if all_times["duckdb"] else ""
        print(f"{query:18} {1000 * all_times['gingham']:10.2f}", *cells, share)
    means = (f"{peer} {statistics.geometric_mean(kept):.2f}" for peer, kept in shares.items() if kept)
    print("geometric mean of shares:", ", ".join(means))
    print("most memory:", ", ".join(f"{child} {peak / 1e9:.2f} GB" for child, peak in peaks.items()), flush=True)


def main():
    args = arguments()
    bench = run.Run("workloads", args)
    python, versions = prepare.virtual_environment(args.work)
    bench.facts["versions"] = versions
    program = prepare.build(run.ROOT, args.profile)["gingham"]
    all_times, all_peaks, all_left = {}, {}, {}
    bench.begin()
    for name in args.only:
        for threads in args.threads:
            times, peaks, left = measured(bench, args, python, program, name, threads)
            place = f"{name}, {threads}"
            all_times[place], all_peaks[place], all_left[place] = times, peaks, left
            print(f"\n{name}, {threads} threads, milliseconds:")
            tell(times, peaks, args.peers)
    bench.end()
    facts = {"rows": args.rows, "nulls": args.nulls, "plans": args.plans, "left_out": all_left}
    bench.write({**facts, "seconds": all_times, "peak_bytes": all_peaks})


if __name__ == "__main__":
    main()
