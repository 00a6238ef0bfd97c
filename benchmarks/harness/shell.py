"""Gingham's command as a child process that is asked one statement after the other."""

import csv
import io
import re
import subprocess

from . import children

# A timestamp's text, which others write with a blank.
MOMENT = re.compile(r"^(\d{4}-\d\d-\d\d)T(?=\d\d:)")


def rows_of(text):
    """Rows of the command's CSV without its header; NULL is None, and so is the empty text."""
    rows = list(csv.reader(io.StringIO(text)))
    return [[MOMENT.sub(r"\1 ", value) or None for value in row] for row in rows[1:]]


class Shell:
    """A command that runs statements as they arrive, and tells the time of each."""

    def __init__(self, program, database, threads, log, keep_plans):
        self.log = open(log, "a", encoding="utf-8")
        command = [str(program), str(database), "--timing", "--format", "csv"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, bufsize=1, **pipes)
        for setting in (f"SET gingham.threads = {threads}", f"SET gingham.cache_plans = {str(keep_plans).lower()}"):
            self.run(setting)

    def run(self, sql):
        """Seconds and rows of a statement, as text; NULL is None."""
        self.process.stdin.write(f"{sql};\nSELECT 'end' AS end_of_answer;\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) != "end_of_answer\n":
            if not line:
                self.process.wait()
                raise children.Failed(f"the command ended: {self.process.stderr.read()}")
            lines.append(line)
        self.process.stdout.readline()
        times = []
        while len(times) < 2:
            told = self.process.stderr.readline()
            if told.startswith("Time:"):
                times.append(float(told.split()[1]) / 1000)
            else:
                self.log.write(told)
        return times[0], rows_of("".join(lines))

    def ask(self, do, sql):
        """As children are asked."""
        seconds, rows = self.run(sql.rstrip().rstrip(";"))
        return {"seconds": seconds, "rows": rows if do == "answer" else len(rows)}

    def peak_bytes(self):
        """Most memory that the process has held at once."""
        return children.peak_of(self.process.pid)

    def close(self):
        """Ends it."""
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.log.close()
