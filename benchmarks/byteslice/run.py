#!/usr/bin/env python3
"""Scans and lookups of Gingham's packings beside those of the ByteSlice authors' code, interleaved in one run.

    python3 benchmarks/byteslice/run.py                  all of it, to --work
    python3 benchmarks/byteslice/run.py --record         the same, into benchmarks/record/
    python3 benchmarks/byteslice/run.py --quick          few widths and rounds, to see that all works
    python3 benchmarks/byteslice/run.py --reference DIR  a checkout of the authors' code, where there is no network

README.md says what is measured, and how the authors' code is built.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from harness import machine  # noqa: E402
from harness.prepare import WORK, run  # noqa: E402

import build  # noqa: E402
import page  # noqa: E402

PACKINGS = ["byteslice", "vbp", "hbp", "bit_packed", "native"]
WIDTHS = [8, 12, 16, 24, 32]
# Our instruction sets, with the processor flag that each needs, and the name of the other side.
OURS = {"avx2": "avx2", "avx512": "avx512bw"}
REFERENCE = "reference"
# Bytes of a column, at most, that is measured in the first cache: that of any processor with AVX2.
FIRST_CACHE = 2**15
# Bits of a memory word of our vertical packings, as tables have it. Theirs is 256, as in the paper.
SEGMENT_BITS = 512


class Child:
    """One of the two programs, which answers a line with a line."""

    def __init__(self, command, processor):
        environment = dict(os.environ)
        # Huge pages for both alike: the C library asks for them for its heap, takes no block from elsewhere, and gives
        # none back, so that what one column had in huge pages the next one has too.
        tunables = ["hugetlb=1", "mmap_max=0", f"trim_threshold={2**40}"]
        environment["GLIBC_TUNABLES"] = ":".join(f"glibc.malloc.{tunable}" for tunable in tunables)
        if processor is not None:
            command = ["taskset", "-c", str(processor), *command]
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )

    def ask(self, *words):
        """The words of the answer."""
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(self.command)} ended at: {' '.join(str(word) for word in words)}")
        return line.split()

    def huge_bytes(self):
        """Bytes of the program's memory that lie in huge pages."""
        text = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text(encoding="utf-8")
        return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("AnonHugePages"))

    def close(self):
        """Ends it."""
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Bench:
    """The two programs, and the variants that are measured: ours per instruction set, and theirs."""

    def __init__(self, runner, reference, processor):
        self.ours = Child([runner], processor)
        self.theirs = Child([str(reference)], processor)
        flags = machine.value_of("/proc/cpuinfo", "flags").split()
        self.variants = [isa for isa, flag in OURS.items() if flag in flags]

    def of(self, variant):
        """The program that measures a variant, set to its instruction set."""
        if variant == REFERENCE:
            return self.theirs
        self.ours.ask("isa", variant)
        return self.ours

    def column(self, packing, width, rows):
        """Makes the same column in both programs."""
        self.ours.ask("column", packing, width, rows, SEGMENT_BITS)
        self.theirs.ask("column", packing, width, rows)

    def close(self):
        """Ends both."""
        self.ours.close()
        self.theirs.close()


def rounds(bench, number, rng, request, unit):
    """Times of a request by variant, in nanoseconds per one of `unit`: in each round every variant answers once, in
    random order. The run ends when the variants' answers differ."""
    times, answers = {}, {}
    variants = [REFERENCE, *bench.variants]
    for _ in range(number):
        rng.shuffle(variants)
        for variant in variants:
            answer, seconds = bench.of(variant).ask(*request)
            answers[variant] = int(answer)
            times.setdefault(variant, []).append(float(seconds) * 1e9 / unit)
    if len(set(answers.values())) != 1:
        sys.exit(f"answers differ: {request}: {answers}")
    return times


def measure(bench, settings):
    """Every figure, and the bandwidth of reading before and after them."""
    rng = random.Random(settings["seed"])
    results, bandwidths = [], []

    def bandwidth():
        _, seconds = bench.ours.ask("read", settings["bytes"], settings["seconds"])
        bandwidths.append(settings["bytes"] / float(seconds) / 1e9)

    for place in page.PLACES:
        for packing in settings["packings"]:
            for width in settings["widths"]:
                if place == "memory":
                    rows = settings["bytes"] * 8 // width // 2**20 * 2**20
                    bandwidth()
                else:
                    rows = settings["rows"][place]
                if place == "first cache" and rows * width > FIRST_CACHE * 8:
                    continue
                bench.column(packing, width, rows)
                cell = {"packing": packing, "width": width, "rows": rows, "place": place}
                constant = max(2**width // 10, 1)
                # A scan of memory is long enough by itself.
                seconds = 0 if place == "memory" else settings["seconds"]
                cell["huge_bytes"] = {"ours": bench.ours.huge_bytes(), "theirs": bench.theirs.huge_bytes()}
                times = rounds(bench, settings["rounds"], rng, ("scan", constant, seconds), rows)
                results.append({**cell, "what": "scan", "times": times})
                for order in ("random", "sorted"):
                    request = ("lookup", order, settings["lookups"])
                    times = rounds(bench, settings["rounds"], rng, request, settings["lookups"])
                    results.append({**cell, "what": f"lookup {order}", "times": times})
                print(page.line(results[-3:]), flush=True)
    bandwidth()
    return results, bandwidths


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=WORK, help="the authors' code, built")
    parser.add_argument("--reference", type=pathlib.Path, help="a checkout of the authors' code")
    parser.add_argument("--packings", default=",".join(PACKINGS))
    parser.add_argument("--widths", default=",".join(str(width) for width in WIDTHS), help="bits of a code, up to 32")
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each variant")
    parser.add_argument("--processor", type=int, help="number of the processor that both programs keep to")
    parser.add_argument("--quick", action="store_true", help="two widths, six rounds, less memory")
    parser.add_argument("--record", action="store_true", help="write to benchmarks/record/DATE-MACHINE-byteslice")
    return parser.parse_args()


def settings_of(args):
    """What is measured."""
    settings = {
        "packings": args.packings.split(","),
        "widths": [int(width) for width in args.widths.split(",")],
        "rounds": args.rounds,
        "rows": {"first cache": 2**15, "cache": 2**17},
        "bytes": max(4 * page.last_level_cache(), 2**27),
        "seconds": 0.02,
        "lookups": 10**6,
        "seed": 1,
    }
    if args.quick:
        settings |= {"widths": [8, 12], "rounds": 6, "bytes": settings["bytes"] // 4}
    if not set(settings["packings"]) <= set(PACKINGS) or not all(1 <= width <= 32 for width in settings["widths"]):
        sys.exit(f"packings are {', '.join(PACKINGS)}; widths go from 1 to 32")
    return settings


def main():
    args = arguments()
    settings = settings_of(args)
    args.work.mkdir(parents=True, exist_ok=True)
    facts = machine.facts(ROOT)
    reference, source = build.reference(args.work, args.reference)
    runner = build.runner(ROOT)
    bench = Bench(runner, reference, args.processor)
    before = machine.processor_times()
    results, bandwidths = measure(bench, settings)
    busy, stolen, idle = (after - b for after, b in zip(machine.processor_times(), before))
    bench.close()
    every = max(busy + stolen + idle, 1e-9)
    facts |= {"date": datetime.date.today().isoformat(), "reference": source}
    facts |= {"last_level_cache": page.last_level_cache(), "read_gb_per_second": bandwidths}
    facts |= {"machine_load": {"busy": busy / every, "stolen": stolen / every}}
    data = {"machine": facts, "settings": settings, "results": results}
    name = f"{facts['date']}-{machine.name(facts)}-byteslice"
    folder = (HERE.parent / "record" if args.record else args.work) / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "byteslice.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (folder / "byteslice.md").write_text(page.page(data), encoding="utf-8")
    print(f"written: {folder}/byteslice.md and byteslice.json")


if __name__ == "__main__":
    main()
