#!/usr/bin/env python3
"""Tables larger than memory: TPC-H cold under a memory limit, past the caches and through them, beside DuckDB; and scans past the
caches beside fio on the same files.

    python3 benchmarks/direct_io.py               scale 10, 2 GB; writes to --work
    python3 benchmarks/direct_io.py --scale 1 --limit 256MB --rounds 1   a quick look
    python3 benchmarks/direct_io.py --record      into benchmarks/record/

Each query runs in a process of its own, after the system's cache was dropped (which needs root); systems take turns, in either order.
Answers are compared. Told are seconds of the whole process, of DuckDB those of the query alone, and the most anonymous memory
(RssAnon) that the process held. Wanted: a scan past the caches at 95 % of fio's rate; all queries in 0.7 of DuckDB's time; no more
memory than the limit and a quarter; `column` past the caches no slower than through them.
"""

import csv
import io
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

from harness import answers, prepare, run, statistics

LAYOUTS = ["column", "dense_column"]
THREADS = 2
FIO = "fio --name=scan --rw=read --bs=128k --iodepth=48 --ioengine=io_uring --direct=1 --readonly --minimal"
DUCKDB = """
import duckdb, sys, time
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute(f"SET memory_limit = '{sys.argv[2]}'; SET threads = {sys.argv[3]}; SET enable_progress_bar = false")
sql, start = sys.stdin.read(), time.time()
rows = connection.execute(sql).fetchall()
print(time.time() - start)
import csv
csv.writer(sys.stdout).writerows([["" if cell is None else str(cell) for cell in row] for row in rows])
"""


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--scale", type=float, default=10)
    parser.add_argument("--limit", default="2GB", help="memory limit of each system")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def drop_caches():
    """Writes what is dirty and empties the system's cache."""
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")


def anonymous_bytes(process, peak):
    """Notes the most anonymous memory of a process until it ends."""
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            break
        found = re.search(r"RssAnon:\s+(\d+) kB", status)
        peak[0] = max(peak[0], int(found.group(1)) * 1024 if found else 0)
        time.sleep(0.01)


def cold(command, text):
    """Runs a command on a cold system: what it printed (None when it failed), its seconds, and its most anonymous bytes."""
    drop_caches()
    start, peak = time.time(), [0]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watch = threading.Thread(target=anonymous_bytes, args=(process, peak))
    watch.start()
    out, error = process.communicate(text)
    seconds = time.time() - start
    watch.join()
    if process.returncode != 0:
        print(error.strip()[-300:], file=sys.stderr)
    return out if process.returncode == 0 else None, seconds, peak[0]


def rows(text):
    """Rows of CSV; an empty cell is NULL or an empty string."""
    return [[cell or None for cell in row] for row in csv.reader(io.StringIO(text))]


class Systems:
    """What is compared, by name."""

    def __init__(self, args, program, folder, python):
        self.limit, self.program, self.folder, self.python = args.limit, program, folder, python
        self.names = [f"{layout}, {way}" for layout in LAYOUTS for way in ("direct", "cached")] + ["duckdb"]

    def answer(self, name, sql):
        """Rows (None when it failed), seconds and anonymous bytes of a query on a cold system."""
        if name == "duckdb":
            command = [self.python, "-c", DUCKDB, f"{self.folder}.duckdb", self.limit, str(THREADS)]
            out, _, peak = cold(command, sql)
            if out is None:
                return None, None, peak
            seconds, _, rest = out.partition("\n")
            return rows(rest), float(seconds), peak
        layout, way = name.split(", ")
        settings = f"SET gingham.memory_limit = '{self.limit}'; SET gingham.threads = {THREADS}; SET gingham.io = '{way}';\n"
        out, seconds, peak = cold([self.program, f"{self.folder}-{layout}", "--format", "csv"], settings + sql)
        return (None if out is None else rows(out)[1:]), seconds, peak


def make(args, programs, files, folder, python):
    """Loads every database that is not there."""
    for layout in LAYOUTS:
        if not pathlib.Path(f"{folder}-{layout}").exists():
            prepare.load(programs["gingham"], files, pathlib.Path(f"{folder}-{layout}"), layout)
    database = pathlib.Path(f"{folder}.duckdb")
    if not database.exists():
        tables = "; ".join(f"CREATE TABLE {table} AS SELECT * FROM '{files / table}.parquet'" for table in prepare.TABLES)
        load = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.argv[2])"
        limit = f"SET memory_limit = '{args.limit}'; SET preserve_insertion_order = false; "
        prepare.run([python, "-c", load, str(database), limit + tables])


def tpch(args, systems):
    """Seconds and anonymous bytes by query and system, in rounds."""
    seconds, peaks = {}, dict.fromkeys(systems.names, 0)
    for number in range(args.rounds):
        for query, sql in prepare.queries().items():
            known = None
            for name in systems.names if number % 2 == 0 else reversed(systems.names):
                found, took, peak = systems.answer(name, sql)
                seconds.setdefault(query, {}).setdefault(name, []).append(took if found is not None else None)
                peaks[name] = max(peaks[name], peak)
                known = found if known is None else known
                wrong = None if found is None else answers.difference(known, found, True)
                if wrong:
                    sys.exit(f"{query}, {name}: {wrong}")
            shown = ", ".join(f"{name} {own[-1]:.2f}" if own[-1] else f"{name} failed" for name, own in seconds[query].items())
            print(f"{query}: {shown}", flush=True)
    return seconds, peaks


def scans(args, program, folder):
    """Bytes a second of fio and of scans, on lineitem's segments, by turns."""
    files = {layout: sorted(pathlib.Path(f"{folder}-{layout}", "segments").glob("*/*.seg"), key=lambda file: file.stat().st_size)[-24:]
             for layout in LAYOUTS}
    columns = ["l_partkey", "l_suppkey", "l_extendedprice"]
    sql = "EXPLAIN ANALYZE FORMAT indent SELECT " + ", ".join(f"max({column})" for column in columns) + " FROM lineitem WHERE l_linenumber < 9"
    rates = {}
    for _ in range(max(args.rounds, 3)):
        for layout in LAYOUTS:
            drop_caches()
            names = ":".join(str(file) for file in files[layout])
            out = subprocess.run([*FIO.split(), f"--filename={names}"], stdout=subprocess.PIPE, text=True, check=True).stdout
            rates.setdefault(f"fio, {layout}", []).append(int(out.split(";")[6]) * 1024)
            text = f"SET gingham.threads = {THREADS}; SET gingham.io = 'direct';\n{sql}"
            out, _, _ = cold([program, f"{folder}-{layout}", "--format", "csv"], text)
            rates.setdefault(f"scan, {layout}", []).append(told(out, "read_mb_per_s") * 1e6)
    return rates


def told(text, metric):
    """A number that EXPLAIN ANALYZE tells, such as 930 or 1.47 K."""
    number, unit = re.search(rf"{metric}=([\d.]+)( [KMB])?", text).groups()
    return float(number) * {None: 1, " K": 1e3, " M": 1e6, " B": 1e9}[unit]


def show(seconds, peaks, rates, names):
    """Prints medians with intervals, and what is wanted of them."""
    for name, own in rates.items():
        low, high, _ = statistics.interval(own)
        print(f"{name:22} {statistics.median(own) / 1e6:8.0f} MB/s ({low / 1e6:.0f} to {high / 1e6:.0f})")
    whole = [query for query, of in seconds.items() if all(None not in own for own in of.values())]
    print(f"{len(whole)} of {len(seconds)} queries are answered by all systems")
    sums = {name: sum(statistics.median(seconds[query][name]) for query in whole) for name in names}
    for name in names:
        print(f"{name:22} {sums[name]:8.2f} s, {sums[name] / sums['duckdb']:.2f} of DuckDB's, at most {peaks[name] / 1e6:.0f} MB")


def main():
    args = arguments()
    bench = run.Run("direct-io", args)
    programs = prepare.programs(run.ROOT, args.profile, ["runner"])
    python, versions = prepare.virtual_environment(args.work)
    files = prepare.data(args.work, programs["runner"], args.scale)
    folder = bench.folder / f"direct-io-{args.scale:g}"
    make(args, programs, files, folder, str(python))
    systems = Systems(args, programs["gingham"], folder, str(python))
    bench.begin()
    rates = scans(args, programs["gingham"], folder) if shutil.which("fio") else {}
    seconds, peaks = tpch(args, systems)
    bench.end()
    show(seconds, peaks, rates, systems.names)
    bench.write({"scale": args.scale, "limit": args.limit, "versions": versions, "seconds": seconds, "anonymous_bytes": peaks,
                 "bytes_per_second": rates})


if __name__ == "__main__":
    main()
