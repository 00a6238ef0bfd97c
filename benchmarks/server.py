#!/usr/bin/env python3
"""The server beside PostgreSQL, by PostgreSQL's clients over a socket: records by their key, TPC-B, rows in bulk, short queries
beside long ones.

    python3 benchmarks/server.py                 build, fill, measure; writes to --work
    python3 benchmarks/server.py --seconds 1 --rounds 3 --scale 0.1         a quick look
    python3 benchmarks/server.py --record        into benchmarks/record/

PostgreSQL is Debian's, with its own settings: both sync each commit. In each round every measurement is made of both, one after the
other. Wanted: records at its rate, one client and sixteen; lineitem in binary at its rate; a short query beside seven long ones at
most four times as long as alone.
"""

import os
import pathlib
import subprocess
import time

from harness import prepare, run, servers, statistics

CLIENTS = [1, 16]
SCANS = 7
READ = "\\set id random(1, {rows})\nSELECT a, b FROM records WHERE id = :id;\n"
UPDATE = "\\set id random(1, {rows})\nUPDATE records SET a = a + 1 WHERE id = :id;\n"
SHORT = "SELECT count(*), sum(l_quantity) FROM lineitem WHERE l_shipdate = DATE '1995-03-15';\n"
LONG = "SELECT l_partkey, sum(l_extendedprice * (1 - l_discount)) AS s FROM lineitem GROUP BY l_partkey ORDER BY s DESC LIMIT 1;\n"
COPY = "COPY lineitem TO STDOUT (FORMAT binary)"


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="records that are read and updated by their key")
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor of lineitem and, times ten, of TPC-B")
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement of a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--program", type=pathlib.Path, help="a server that is built already")
    parser.add_argument("--command", type=pathlib.Path, help="a command that is built already, which makes the data")
    return parser.parse_args()


def build(args):
    """The paths of the server and the command."""
    command = ["cargo", "build", "--locked", "--profile", args.profile]
    for package, program in (("gingham-cli", args.command), ("gingham-server", args.program)):
        if program is None:
            prepare.run([*command, "-p", package], cwd=run.ROOT)
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", run.ROOT / "target")) / args.profile
    return args.program or folder / "gingham-server", args.command or folder / "gingham"


def fill(gingham, postgres, args):
    """The same tables in both."""
    rows = f"INSERT INTO records SELECT n, 0, 'record ' || n FROM generate_series(1, {args.rows}) AS g(n);"
    table = "CREATE TABLE records (id BIGINT PRIMARY KEY, a BIGINT NOT NULL, b TEXT NOT NULL)"
    gingham.psql(f"SET client_min_messages = error; DROP TABLE IF EXISTS records; {table} WITH (layout = 'nsm'); {rows}")
    postgres.psql(f"{table}; {rows}")
    postgres.psql(prepare.lineitem_schema().replace("VARCHAR", "varchar") + ";")
    give = ["psql", *gingham.where, "-d", gingham.database, "-X", "-q", "-c", COPY]
    take = ["psql", *postgres.where, "-d", postgres.database, "-X", "-q", "-c", COPY.replace("TO STDOUT", "FROM STDIN")]
    with subprocess.Popen(give, stdout=subprocess.PIPE) as giving:
        subprocess.run(take, stdin=giving.stdout, check=True)
    for server in (gingham, postgres):
        server.pgbench("-i", "-I", "dtgvp", "-q", "-s", max(1, int(args.scale * 10)))
    postgres.psql("VACUUM ANALYZE;")
    for table in ("records", "lineitem", "pgbench_accounts"):
        counts = {server.psql(f"SELECT count(*) FROM {table};") for server in (gingham, postgres)}
        if len(counts) != 1:
            raise RuntimeError(f"the tables {table} differ: {counts} records")


def copied(server):
    """Records a second of lineitem in binary, to a client that drops them."""
    command = ["psql", *server.where, "-d", server.database, "-X", "-q", "-c", COPY]
    begin, size = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while piece := process.stdout.read(1 << 20):
            size += len(piece)
    if process.returncode:
        raise RuntimeError(f"{server.name}: COPY failed")
    return size, time.perf_counter() - begin


def beside_scans(server, scripts, args):
    """Milliseconds of a short query alone, and beside long ones."""
    short = ["-M", "prepared", "-f", scripts / "short.sql", "-c", 1, "-T", args.seconds]
    alone = server.rate(*short)[2]
    long = ["pgbench", *server.where, "-n", "-f", scripts / "long.sql", "-c", SCANS, "-j", 1, "-T", args.seconds + 4, server.database]
    with subprocess.Popen([str(word) for word in long], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as scans:
        time.sleep(1)
        beside = server.rate(*short)[2]
        if scans.poll() is not None:
            raise RuntimeError(f"{server.name}: the long queries ended before the short ones")
        scans.wait()
    return alone, beside


def measure(both, scripts, args):
    """A list of figures, one for each round, of each measurement of each server."""
    figures, updated = {}, {server.name: 0 for server in both}
    note = lambda server, name, value: figures.setdefault(name, {}).setdefault(server.name, []).append(value)
    for number in range(args.rounds):
        for name in ("read", "update"):
            for clients in CLIENTS:
                for server in both:
                    words = ["-M", "prepared", "-f", scripts / f"{name}.sql", "-c", clients, "-T", args.seconds]
                    done, rate, _ = server.rate(*words)
                    note(server, f"{name}s a second, {clients} clients", rate)
                    updated[server.name] += done if name == "update" else 0
        for server in both:
            note(server, "TPC-B a second, 8 clients", server.rate("-M", "prepared", "-c", 8, "-T", args.seconds)[1])
        for server in both:
            size, seconds = copied(server)
            note(server, "lineitem in binary, MB/s", size / seconds / 1e6)
            note(server, "lineitem in binary, s", seconds)
        for server in both:
            alone, beside = beside_scans(server, scripts, args)
            note(server, "a short query alone, ms", alone)
            note(server, f"a short query beside {SCANS} long ones, ms", beside)
        print(f"round {number + 1} of {args.rounds}", flush=True)
    return figures, updated


def verify(both, updated, args):
    """Every update that was acknowledged is there, once; both give the same answers."""
    for server in both:
        total = int(server.psql("SELECT sum(a) FROM records;"))
        if total != updated[server.name]:
            raise RuntimeError(f"{server.name}: {updated[server.name]} updates were acknowledged, {total} are there")
        sums = server.psql(
            "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)"
            " AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history);"
        )
        if sums != "t":
            raise RuntimeError(f"{server.name}: TPC-B's balances are not the sums of its history")
    keys = ", ".join(str(key) for key in range(1, args.rows, max(1, args.rows // 1000)))
    for sql in (SHORT, LONG, f"SELECT id, b FROM records WHERE id IN ({keys}) ORDER BY id;", "SELECT count(*) FROM lineitem;"):
        answers = {server.psql(sql) for server in both}
        if len(answers) != 1:
            raise RuntimeError(f"the answers differ: {sql}: {answers}")


def main():
    args = arguments()
    bench = run.Run("server", args)
    program, command = build(args)
    data = bench.folder / f"server-tpch-{args.scale:g}"
    if not (data / "report.html").exists():
        prepare.run([command, "demo", "--scale", str(args.scale), "--dir", str(data)], stdout=subprocess.DEVNULL)
    scripts = bench.folder / "server-scripts"
    scripts.mkdir(exist_ok=True)
    for name, text in (("read", READ), ("update", UPDATE), ("short", SHORT), ("long", LONG)):
        (scripts / f"{name}.sql").write_text(text.format(rows=args.rows), encoding="utf-8")
    postgres = servers.Postgres(bench.folder / "server-postgres")
    bench.facts["postgres"] = postgres.version()
    gingham = servers.Gingham(program, data / "tpch.gingham", bench.folder / "server-gingham")
    try:
        fill(gingham, postgres, args)
        bench.begin()
        figures, updated = measure([gingham, postgres], scripts, args)
        bench.end()
        verify([gingham, postgres], updated, args)
    finally:
        gingham.close()
        postgres.close()
    print(f"{'':42} {'gingham':>12} {'postgres':>12}   gingham / postgres, with its interval")
    for name, own in figures.items():
        ratios = [ours / theirs for ours, theirs in zip(own["gingham"], own["postgres"], strict=True)]
        low, high, _ = statistics.interval(ratios)
        medians = [statistics.median(own[server]) for server in ("gingham", "postgres")]
        print(f"{name:42} {medians[0]:12.2f} {medians[1]:12.2f}   {statistics.median(ratios):6.2f} [{low:.2f}, {high:.2f}]")
    bench.write({"scale": args.scale, "rows": args.rows, "figures": figures})


if __name__ == "__main__":
    main()
