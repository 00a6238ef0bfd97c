"""Facts of the machine, and how much others used it meanwhile."""

import os
import platform
import re
import subprocess
import time


def value_of(path, key):
    """The value on the first line `key : value` of a file, or an empty text."""
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        pass
    return ""


def output(command, folder=None):
    """First line that a command prints, or an empty text."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip().split("\n")[0]


def facts(root):
    """What stands beside every figure."""
    flags = value_of("/proc/cpuinfo", "flags").split()
    return {
        "processor": value_of("/proc/cpuinfo", "model name") or platform.processor(),
        "threads": os.cpu_count(),
        "cache": value_of("/proc/cpuinfo", "cache size"),
        "vectors": [flag for flag in ("avx2", "avx512f", "avx512bw", "avx512vbmi2") if flag in flags],
        "memory_bytes": int((value_of("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) * 1024,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "file_system": output(["stat", "-f", "-c", "%T", str(root)]),
        "virtual": "hypervisor" in flags,
        "rustc": output(["rustc", "--version"], root),
        "commit": output(["git", "rev-parse", "--short=12", "HEAD"], root),
        "changed_files": bool(output(["git", "status", "--porcelain"], root)),
        "load_average": os.getloadavg()[0],
    }


def name(facts_):
    """A short name of the machine for a folder."""
    processor = re.sub(r"\(R\)|\(TM\)|CPU|Processor|@.*|\d+-Core", "", facts_["processor"])
    words = re.findall(r"[a-z0-9]+", processor.lower())
    return "-".join(words[:4] + [f"{facts_['threads']}threads"])


def processor_times():
    """(busy, stolen, idle) seconds of all processors since the machine started."""
    with open("/proc/stat", encoding="utf-8") as file:
        numbers = [int(text) for text in file.readline().split()[1:]]
    ticks = os.sysconf("SC_CLK_TCK")
    user, nice, system, idle, wait, irq, soft, stolen = numbers[:8]
    return (user + nice + system + irq + soft) / ticks, stolen / ticks, (idle + wait) / ticks


def folder_bytes(folder):
    """Bytes that a folder's files take on disk; holes in sparse files take none."""
    total = 0
    for place, _, names in os.walk(folder):
        for file in names:
            total += os.stat(os.path.join(place, file)).st_blocks * 512
    return total


def synced_write(path, size):
    """Seconds that a file of so many bytes takes to be written and synced."""
    block = os.urandom(1 << 20)
    begin = time.perf_counter()
    with open(path, "wb", buffering=0) as file:
        for start in range(0, size, len(block)):
            file.write(block[: size - start])
        os.fsync(file.fileno())
    seconds = time.perf_counter() - begin
    path.unlink()
    return seconds
