"""What the benchmarks of one file each share: their options, what is told beside the figures, and where both are written."""

import argparse
import datetime
import json
import pathlib

from harness import machine, prepare

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCHMARKS.parent


def options(description):
    """A parser of the options that each of them takes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=prepare.WORK, help="packages, data, databases, results")
    parser.add_argument("--profile", default="dist", help="cargo profile of this build (default: dist)")
    parser.add_argument("--record", action="store_true", help="write into benchmarks/record/")
    return parser


class Run:
    """One run of the benchmark of that name."""

    def __init__(self, name, args):
        self.name = name
        self.to = BENCHMARKS / "record" if args.record else args.work
        self.folder = args.work / "databases"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.facts = machine.facts(ROOT) | {"date": datetime.date.today().isoformat(), "profile": args.profile}
        self.before = self.busy = None

    def begin(self):
        """What is measured begins."""
        self.before = machine.processor_times()

    def end(self):
        """It is over: notes how busy the processors were meanwhile."""
        self.busy = [after - start for start, after in zip(self.before, machine.processor_times(), strict=True)]

    def write(self, figures, variant=""):
        """Writes the figures, and what is told beside them, into a folder of the date, the machine and the name."""
        data = {"machine": self.facts, "seconds_busy_stolen_idle": self.busy} | figures
        to = self.to / f"{self.facts['date']}-{machine.name(self.facts)}-{self.name}{variant}"
        to.mkdir(parents=True, exist_ok=True)
        file = to / f"{self.name.replace('-', '_')}.json"
        file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(f"written: {file}")
