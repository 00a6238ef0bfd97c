#!/usr/bin/env python3
"""TPC-H on Gingham, DataFusion, DuckDB and HyPer, on the same files, interleaved.

    python3 benchmarks/run.py                    everything that definitions/tpch.toml says, into benchmarks/record/
    python3 benchmarks/run.py --quick            a small scale and few runs, to see that all works
    python3 benchmarks/run.py --engines gingham,duckdb-file --threads 1 --rounds 5

The first run makes a virtual environment with the peers' packages, builds this checkout and generates the data, all in
--work. METHODOLOGY.md says what is measured and which way it is biased.
"""

import argparse
import datetime
import json
import pathlib
import sys
import tomllib

from harness import machine, measure, prepare, summary

BENCHMARKS = pathlib.Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=prepare.WORK, help="packages, data, databases")
    parser.add_argument("--profile", default="dist", help="cargo profile of this build (default: dist)")
    parser.add_argument("--quick", action="store_true", help="the definition's quick settings; written to --work")
    parser.add_argument("--scale", type=float, help="scale factor")
    parser.add_argument("--rounds", type=int, help="measured rounds")
    parser.add_argument("--loads", type=int, help="loads of every stored engine")
    parser.add_argument("--threads", help="numbers of threads, such as 1,2")
    parser.add_argument("--engines", help="engines by name, such as gingham,hyper")
    parser.add_argument("--queries", help="queries by name, such as q01,q06,count_shipdate")
    parser.add_argument("--name", help="folder under benchmarks/record (default: the date and the machine)")
    return parser.parse_args()


def settings_of(args, definition):
    """The definition's settings, with what the command line says instead."""
    settings = {"scale": definition["data"]["scale"], **definition["runs"]}
    if args.quick:
        settings |= definition["quick"]
    if args.threads:
        settings["threads"] = [int(number) for number in args.threads.split(",")]
    for name in ("scale", "rounds", "loads"):
        if getattr(args, name) is not None:
            settings[name] = getattr(args, name)
    if min(settings["rounds"], settings["loads"], *settings["threads"]) < 1 or settings["scale"] <= 0:
        sys.exit("scale, rounds, loads and threads have to be above 0")
    return settings


def chosen(names, available, what):
    """The members of `available` that a comma-separated list names."""
    if names is None:
        return list(available)
    unknown = [name for name in names.split(",") if name not in available]
    if unknown:
        sys.exit(f"no {what} '{unknown[0]}'; there are {', '.join(available)}")
    return [name for name in available if name in names.split(",")]


def query_texts(definition, args, scale):
    """Texts by name."""
    rule = definition["queries"]
    texts = {}
    for pattern in rule["files"]:
        for path in sorted((BENCHMARKS / "definitions").glob(pattern)):
            texts[path.stem] = path.read_text(encoding="utf-8")
    fraction = rule["fraction"]
    texts[fraction["query"]] = texts[fraction["query"]].replace(fraction["text"], f"{0.0001 / scale:.10f}")
    return {name: texts[name] for name in chosen(args.queries, texts, "query")}


def main():
    args = arguments()
    definition = tomllib.loads((BENCHMARKS / "definitions" / "tpch.toml").read_text(encoding="utf-8"))
    settings = settings_of(args, definition)
    all_engines = {engine["name"]: engine for engine in definition["engine"]}
    engines = [all_engines[name] for name in chosen(args.engines, all_engines, "engine")]
    queries = query_texts(definition, args, settings["scale"])

    args.work.mkdir(parents=True, exist_ok=True)
    facts = machine.facts(ROOT)
    python, versions = prepare.virtual_environment(args.work)
    programs = {name: [path] for name, path in prepare.build(ROOT, args.profile).items()}
    programs["peer"] = [str(python), str(BENCHMARKS / "harness" / "peer.py")]
    files = prepare.data(args.work, programs["runner"][0], settings["scale"])
    versions |= {package: prepare.locked_version(ROOT, package) for package in ("gingham", "datafusion", "tpchgen")}
    facts |= {"date": datetime.date.today().isoformat(), "profile": args.profile, "versions": versions}
    facts["parquet_bytes"] = sum(path.stat().st_size for path in files.glob("*.parquet"))

    bench = measure.Bench(definition, queries, engines, programs, files, args.work)
    results = measure.all_of(bench, settings, definition["queries"]["tied"])
    data = summary.record(facts, settings, engines, results)

    name = args.name or f"{facts['date']}-{machine.name(facts)}"
    folder = (args.work / "quick" if args.quick else BENCHMARKS / "record") / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tpch.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (folder / "tpch.md").write_text(summary.page(data), encoding="utf-8")
    print(f"written: {folder}/tpch.md and tpch.json")
    if data["differences"]:
        sys.exit("answers differ: see above")


if __name__ == "__main__":
    main()
