#!/usr/bin/env python3
"""A count under three conditions over TPC-H's lineitem in ByteSlice: kernels alone, SQL, and DuckDB, interleaved.

    python3 benchmarks/conjunction.py             all of definitions/conjunction.toml, to --work
    python3 benchmarks/conjunction.py --record    the same, into benchmarks/record/
    python3 benchmarks/conjunction.py --rounds 5 --threads 1

Needs the packages, the build and the data of run.py in --work, and makes what is not there. METHODOLOGY.md says what is
measured.
"""

import datetime
import json
import pathlib
import random
import shutil
import sys
import tomllib

from harness import answers, machine, prepare, run, summary
from harness.children import Child

BENCHMARKS = pathlib.Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent


def arguments():
    parser = run.options(__doc__)
    parser.add_argument("--runner", help="a runner built before, instead of building")
    parser.add_argument("--rounds", type=int, help="measured rounds")
    parser.add_argument("--threads", help="numbers of threads, such as 1,2")
    return parser.parse_args()


def query_of(definition):
    """The text of the query."""
    between = [f"{c['column']} BETWEEN {c['sql'][0]} AND {c['sql'][1]}" for c in definition["condition"]]
    return "SELECT count(*) AS records FROM lineitem WHERE " + " AND ".join(between)


def start(engine, threads, programs, files, databases, log):
    """Starts an engine, with its data in place."""
    own = engine.get("own", False)
    folder = databases / (f"conjunction-{threads}-{engine['name']}" if own else f"{engine['program']}-{threads}")
    fresh = own or not folder.exists()
    if own:
        shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [*programs[engine["child"]], engine["program"], str(files), str(folder), str(threads)]
    child = Child(command, log)
    if engine["program"] == "kernels":
        return child
    if fresh and engine["program"] == "duckdb-file":
        child.ask(do="load")
        return child
    child.ask(do="open")
    if own:
        child.ask(do="execute", sql=prepare.lineitem_schema() + " WITH (layout = 'byteslice')")
        child.ask(do="execute", sql=f"COPY lineitem FROM '{files}/lineitem.parquet'")
    if "settings" in engine:
        child.ask(do="execute", sql=engine["settings"])
    return child


def rounds(children, number, rng, request):
    """Seconds of each engine in each round, and how busy others kept the processors."""
    times = {key: [] for key in children}
    before = machine.processor_times()
    for _ in range(number):
        visits = list(children)
        rng.shuffle(visits)
        for key in visits:
            times[key].append(children[key].ask(do="query", **request)["seconds"])
    busy, stolen, idle = (after - b for after, b in zip(machine.processor_times(), before))
    every = max(busy + stolen + idle, 1e-9)
    return times, {"busy": busy / every, "stolen": stolen / every}


def measure(definition, settings, programs, files, work):
    """Answers compared, then the rounds. Gives the answer's count, times and load."""
    log = work / "children.log"
    log.write_text("", encoding="utf-8")
    request = {
        "sql": query_of(definition),
        "conditions": [[c["column"], *c["unscaled"]] for c in definition["condition"]],
    }
    children = {}
    try:
        for threads in settings["threads"]:
            for engine in definition["engine"]:
                key = (engine["name"], threads)
                children[key] = start(engine, threads, programs, files, work / "databases", log)
        expected = None
        for _ in range(settings["warm"]):
            for key, child in children.items():
                rows = child.ask(do="answer", **request)["rows"]
                expected = expected or rows
                difference = answers.difference(expected, rows, False)
                if difference:
                    sys.exit(f"{key[0]}, {key[1]} threads, gives another answer: {difference}")
        times, load = rounds(children, settings["rounds"], random.Random(settings["seed"]), request)
    finally:
        for child in children.values():
            child.close()
    return int(expected[0][0]), times, load


def page(data):
    """The record as Markdown."""
    facts, settings, load = data["facts"], data["settings"], data["machine_load"]
    changed = " with changes not committed" if facts["changed_files"] else ""
    lines = [
        f"# Three conditions over lineitem at scale {settings['scale']:g} in ByteSlice: {facts['date']}, "
        f"{facts['processor']}",
        "",
        "```sql",
        data["sql"],
        "```",
        "",
        f"{data['records']} records, which every engine counts.",
        "",
        f"- Machine: {facts['processor']}, {facts['threads']} threads, {facts['memory_bytes'] / 1e9:.1f} GB memory, "
        f"{facts['system']}{', virtual' if facts['virtual'] else ''}",
        f"- Build: commit {facts['commit']}{changed}, profile {facts['profile']}, {facts['rustc']}; "
        + ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
        f"- {settings['rounds']} rounds. Meanwhile the processors were busy for {load['busy']:.0%} and taken by the host "
        f"for {load['stolen']:.1%} of the time; the load average before was {facts['load_average']:.2f}.",
        *(f"- {name}: {says}" for name, says in data["engines"].items()),
    ]
    for threads in settings["threads"]:
        of = {entry["engine"]: entry for entry in data["results"] if entry["threads"] == threads}
        lines += ["", f"## {threads} thread{'s' if threads > 1 else ''}", ""]
        lines += ["| engine | ms | over the kernels, ms | times as long as gingham |", "|---|---|---|---|"]
        for name, entry in of.items():
            over = (entry["median"] - of["kernels"]["median"]) * 1e3
            ratio = entry["median"] / of["gingham"]["median"]
            lines.append(f"| {name} | {summary.cell(entry, 3)} | {over:.3f} | {ratio:.2f} |")
    coverage = data["results"][0]["coverage"]
    lines += ["", f"Medians, and intervals that hold the true median with {coverage:.0%} probability (METHODOLOGY.md)."]
    return "\n".join(lines) + "\n"


def main():
    args = arguments()
    definition = tomllib.loads((BENCHMARKS / "definitions" / "conjunction.toml").read_text(encoding="utf-8"))
    settings = {name: definition[name] for name in ("scale", "threads", "rounds", "warm", "seed")}
    if args.rounds:
        settings["rounds"] = args.rounds
    if args.threads:
        settings["threads"] = [int(number) for number in args.threads.split(",")]

    args.work.mkdir(parents=True, exist_ok=True)
    facts = machine.facts(ROOT)
    python, versions = prepare.virtual_environment(args.work)
    runner = args.runner or prepare.build(ROOT, args.profile)["runner"]
    programs = {"runner": [runner], "peer": [str(python), str(BENCHMARKS / "harness" / "peer.py")]}
    files = prepare.data(args.work, runner, settings["scale"])
    versions = {"duckdb": versions["duckdb"], "gingham": prepare.locked_version(ROOT, "gingham")}
    facts |= {"date": datetime.date.today().isoformat(), "profile": args.profile, "versions": versions}

    records, times, load = measure(definition, settings, programs, files, args.work)
    data = {
        "facts": facts,
        "settings": settings,
        "sql": query_of(definition),
        "records": records,
        "engines": {engine["name"]: engine["says"] for engine in definition["engine"]},
        "machine_load": load,
        "results": [{"engine": e, "threads": t, **summary.summary(seconds)} for (e, t), seconds in times.items()],
    }
    name = f"{facts['date']}-{machine.name(facts)}-conjunction"
    folder = (BENCHMARKS / "record" if args.record else args.work) / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conjunction.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (folder / "conjunction.md").write_text(page(data), encoding="utf-8")
    print(page(data))
    print(f"written: {folder}/conjunction.md and conjunction.json")


if __name__ == "__main__":
    main()
