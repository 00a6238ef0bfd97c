#!/usr/bin/env python3
"""Statements about one record by its key, of tables in heap pages, beside SQLite: reads, and updates each of which is synced.

    python3 benchmarks/points.py                 build, fill, measure; writes to --work
    python3 benchmarks/points.py --seconds 1 --rounds 3             a quick look
    python3 benchmarks/points.py --record        into benchmarks/record/

SQLite is Python's module, with a WAL and synchronous=FULL, so that it syncs once for each commit. In each round every variant
runs once. Wanted: reads at most 20 us (median), one client at least half of SQLite's updates a second, sixteen at least twice.
"""

import json
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import time

from harness import prepare, run

LAYOUTS = ["nsm", "dsm", "pax"]
CLIENTS = 16


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="records of the table")
    parser.add_argument("--reads", type=int, default=20_000, help="reads of a round")
    parser.add_argument("--seconds", type=float, default=3, help="updates of a round, for so long")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS, choices=LAYOUTS)
    return parser.parse_args()


def ask(program, database, *words):
    """What the example prints."""
    command = [program, str(database), *(str(word) for word in words)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


class Sqlite:
    """The same table in SQLite."""

    def __init__(self, path, rows):
        for suffix in ("", "-wal", "-shm"):
            pathlib.Path(f"{path}{suffix}").unlink(missing_ok=True)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.rows = rows
        if self.connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise RuntimeError("SQLite keeps no WAL here")
        self.connection.execute("PRAGMA synchronous = FULL")
        names = "abcdefg"
        self.connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {', '.join(names)})")
        self.connection.execute("BEGIN")
        values = ([number] * 8 for number in range(rows))
        self.connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.connection.execute("COMMIT")

    def updates(self, seconds):
        """Updates a second, one after the other."""
        numbers, begin, done = random.Random(1), time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            changed = self.connection.execute("UPDATE t SET a = a + 1 WHERE id = ?", (numbers.randrange(self.rows),))
            if changed.rowcount != 1:
                raise RuntimeError(f"an update of SQLite changed {changed.rowcount} rows")
            done += 1
        return done / (time.perf_counter() - begin)


def measure(program, folder, args):
    """A list of figures, one for each round, of each variant."""
    figures = {"sqlite updates": []}
    peer = Sqlite(folder / "points.sqlite", args.rows)
    for layout in args.layouts:
        shutil.rmtree(folder / f"points-{layout}", ignore_errors=True)
        ask(program, folder / f"points-{layout}", "fill", args.rows, layout)
    for _ in range(args.rounds):
        figures["sqlite updates"].append(peer.updates(args.seconds))
        for layout in args.layouts:
            database = folder / f"points-{layout}"
            for name, words, figure in (
                ("reads p50 us", ("reads", args.reads), "p50_us"),
                ("updates", ("updates", 1, int(args.seconds)), "per_second"),
                (f"updates of {CLIENTS}", ("updates", CLIENTS, int(args.seconds)), "per_second"),
            ):
                own = figures.setdefault(f"{layout} {name}", [])
                own.append(ask(program, database, *words)[figure])
    return figures


def main():
    args = arguments()
    bench = run.Run("points", args)
    bench.facts["sqlite"] = sqlite3.sqlite_version
    program = prepare.example(run.ROOT, args.profile, "points")
    bench.begin()
    figures = measure(program, bench.folder, args)
    bench.end()

    of_peer = statistics.median(figures["sqlite updates"])
    for name, own in figures.items():
        ratio = "" if "reads" in name else f"   {statistics.median(own) / of_peer:5.2f} of SQLite's"
        print(f"{name:22} {statistics.median(own):10.1f}   ({min(own):.1f} to {max(own):.1f}){ratio}")
    bench.write({"figures": figures})


if __name__ == "__main__":
    main()
