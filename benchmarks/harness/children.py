"""Child processes, one per engine and thread count, that answer JSON requests line by line."""

import json
import os
import subprocess


class Failed(Exception):
    """An engine answered with an error, or ended."""


class Child:
    """A running engine."""

    def __init__(self, command, log):
        self.log = open(log, "a", encoding="utf-8")
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, bufsize=1
        )

    def ask(self, **request):
        """Sends a request and waits for the answer."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{' '.join(self.command)} ended; see {self.log.name}")
        reply = json.loads(line)
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def peak_bytes(self):
        """Most memory that the process and its children have held at once, as the kernel counts it."""
        return sum(peak_of(process) for process in family(self.process.pid))

    def close(self):
        """Ends the engine and waits for it."""
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()
        self.log.close()


def family(root):
    """The process and all its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    # The name, in brackets, may hold blanks.
                    parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue  # it has ended since
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def peak_of(process):
    """VmHWM of one process in bytes."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
