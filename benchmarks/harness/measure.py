"""The measurements: loads, answers, interleaved rounds of queries, new processes."""

import random
import shutil
import subprocess
import time

from . import answers, machine
from .children import Child, Failed


class Bench:
    """Engines and queries of one record, and how to start a child."""

    def __init__(self, definition, queries, engines, programs, files, work):
        self.definition = definition
        self.queries = queries
        self.engines = engines
        self.programs = programs
        self.files = files
        self.databases = work / "databases"
        self.log = work / "children.log"
        self.log.write_text("", encoding="utf-8")

    def database(self, engine, threads):
        """Folder of an engine's database."""
        return self.databases / f"{engine['name']}-{threads}"

    def child(self, engine, threads):
        """Starts an engine."""
        database = self.database(engine, threads)
        program = self.programs[engine["child"]]
        return Child([*program, engine["name"], str(self.files), str(database), str(threads)], self.log)

    def pairs(self, threads, stored_only=False):
        """Engines with each number of threads."""
        return [(engine, t) for t in threads for engine in self.engines if engine["stored"] or not stored_only]


def loads(bench, threads, repetitions, rng):
    """Loads every stored engine several times, each in a new process into an empty folder, in random order. Gives lists
    of seconds and peak bytes, and bytes on disk of the last, for each (engine, threads)."""
    results = {}
    for repetition in range(repetitions):
        pairs = bench.pairs(threads, stored_only=True)
        rng.shuffle(pairs)
        for engine, t in pairs:
            folder = bench.database(engine, t)
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            child = bench.child(engine, t)
            seconds = child.ask(do="load")["seconds"]
            peak = child.peak_bytes()
            child.close()
            entry = results.setdefault((engine["name"], t), {"seconds": [], "peak_bytes": []})
            entry["seconds"].append(seconds)
            entry["peak_bytes"].append(peak)
            entry["disk_bytes"] = database_bytes(engine, folder)
            print(f"load {repetition + 1}: {engine['name']}, {t} threads: {seconds:.2f} s, {peak / 1e6:.0f} MB", flush=True)
    return results


def database_bytes(engine, folder):
    """Bytes of the database; HyPer's logs are not part of it."""
    shutil.rmtree(folder / "tpch.hyper.logs", ignore_errors=True)
    return machine.folder_bytes(folder)


def start_all(bench, threads):
    """Starts every engine and opens its data. Gives children and the seconds of opening."""
    children, opened = {}, {}
    for engine, t in bench.pairs(threads):
        key = (engine["name"], t)
        children[key] = bench.child(engine, t)
        opened[key] = children[key].ask(do="open")["seconds"]
        print(f"open: {engine['name']}, {t} threads: {opened[key]:.3f} s", flush=True)
    return children, opened


def check_answers(bench, children, tied):
    """Runs every query on every engine once, as warm-up too, and compares its answer with that of the first engine.
    Gives the differences as text; a query that an engine refuses counts as one."""
    differences = {}
    for query, sql in bench.queries.items():
        expected = None
        for key, child in children.items():
            try:
                rows = child.ask(do="answer", sql=sql)["rows"]
            except Failed as error:
                differences[f"{query} on {key[0]}, {key[1]} threads"] = str(error)
                continue
            if expected is None:
                expected = (key, rows)
                continue
            difference = answers.difference(expected[1], rows, query in tied)
            if difference:
                place = f"{query} on {key[0]}, {key[1]} threads"
                differences[place] = f"not the answer of {expected[0][0]}: {difference}"
    return differences


def rounds(bench, children, number, rng, failed):
    """Measured rounds: in each, every query runs once on every child, in random order over both. Gives seconds for each
    (engine, threads, query), and how busy others kept the processors."""
    times = {}
    before, start = machine.processor_times(), time.time()
    for turn in range(number):
        visits = [(key, query) for key in children for query in bench.queries if (key[0], query) not in failed]
        rng.shuffle(visits)
        began = time.time()
        for key, query in visits:
            reply = children[key].ask(do="query", sql=bench.queries[query])
            times.setdefault((*key, query), []).append(reply["seconds"])
        print(f"round {turn + 1} of {number}: {time.time() - began:.1f} s", flush=True)
    busy, stolen, idle = (after - b for after, b in zip(machine.processor_times(), before))
    every = max(busy + stolen + idle, 1e-9)
    measured = sum(sum(runs) for runs in times.values())
    return times, {
        "seconds": time.time() - start,
        "seconds_in_queries": measured,
        "busy": busy / every,
        "stolen": stolen / every,
    }


def interleaved(children, queries, number, seed, uncounted=1, text=lambda sql, child: sql, without=frozenset()):
    """Seconds of each query on each child, by query and child: in each of `number` rounds, after the `uncounted` ones, all
    of them in random order. `text` gives a query as a child is to have it; `without` has queries and children that do not
    come together."""
    rng, times = random.Random(seed), {}
    for turn in range(-uncounted, number):
        visits = [(child, query) for child in children for query in queries if (query, child) not in without]
        rng.shuffle(visits)
        for child, query in visits:
            seconds = children[child].ask(do="query", sql=text(queries[query], child))["seconds"]
            if turn >= 0:
                times.setdefault(query, {}).setdefault(child, []).append(seconds)
    return times


def starts(bench, threads, number):
    """Seconds from starting a new process on Gingham's database to its end, having counted lineitem."""
    gingham = next((engine for engine in bench.engines if engine["name"] == "gingham"), None)
    if gingham is None:
        return []
    database = bench.database(gingham, threads)
    command = [*bench.programs["gingham"], str(database), "-c", "SELECT count(*) FROM lineitem", "--format", "csv"]
    seconds = []
    for _ in range(number):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return seconds


def all_of(bench, settings, tied):
    """Everything, in the order of METHODOLOGY.md. Gives what the record holds besides facts."""
    rng = random.Random(settings["seed"])
    threads = settings["threads"]
    loaded = loads(bench, threads, settings["loads"], rng)
    started = starts(bench, threads[0], settings["starts"])
    children, opened = start_all(bench, threads)
    try:
        differences = check_answers(bench, children, tied)
        for place, difference in differences.items():
            print(f"ANSWERS DIFFER: {place}: {difference}", flush=True)
        failed = {(place.split(" on ")[1].split(",")[0], place.split(" on ")[0]) for place in differences}
        times, load_of_machine = rounds(bench, children, settings["rounds"], rng, failed)
        peaks = {key: child.peak_bytes() for key, child in children.items()}
    finally:
        for child in children.values():
            child.close()
    return {
        "loads": loaded,
        "starts": started,
        "opened": opened,
        "differences": differences,
        "times": times,
        "peaks": peaks,
        "machine_load": load_of_machine,
    }
