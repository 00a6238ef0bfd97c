"""The page of a record: tables with intervals, machine and build."""

import pathlib
import re

from harness import statistics

PLACES = {"first cache": "in the first cache", "cache": "in the second cache", "memory": "out of cache"}
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def last_level_cache():
    """Bytes of the largest cache of the first processor, or 32 MiB where the system does not tell."""
    found = [0]
    for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        size = re.fullmatch(r"(\d+)([KMG])", path.read_text(encoding="utf-8").strip())
        if size:
            found.append(int(size[1]) * UNITS[size[2]])
    return max(found) or 2**25


def figure(times):
    """The median of times with its interval."""
    low, high, _ = statistics.interval(times)
    return f"{short(statistics.median(times))} ({short(low)}–{short(high)})"


def short(number):
    """Three digits."""
    return f"{number:.4f}" if number < 0.1 else f"{number:.3f}" if number < 1 else f"{number:.3g}"


def verdict(ours, theirs):
    """How our times stand to theirs: apart only when the intervals are."""
    low, high, _ = statistics.interval(ours)
    their_low, their_high, _ = statistics.interval(theirs)
    ratio = statistics.median(theirs) / statistics.median(ours)
    if low <= their_high and their_low <= high:
        return f"×{ratio:.2f}, level"
    return f"×{ratio:.2f}"


def line(results):
    """What was just measured of a column, in a line."""
    first = results[0]
    figures = []
    for result in results:
        medians = [f"{name} {short(statistics.median(times))}" for name, times in sorted(result["times"].items())]
        figures.append(f"{result['what']}: {', '.join(medians)}")
    return f"{first['packing']} {first['width']} {PLACES[first['place']]}: {'; '.join(figures)} ns"


def table(results):
    """Rows of one table: a packing and width each."""
    ours = [name for name in sorted(results[0]["times"]) if name != "reference"]
    heads = ["packing", "bits", "authors", *[head for name in ours for head in (f"ours, {name}", "speed-up")]]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for result in results:
        theirs = result["times"]["reference"]
        cells = [result["packing"], str(result["width"]), figure(theirs)]
        for name in ours:
            cells += [figure(result["times"][name]), verdict(result["times"][name], theirs)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(data):
    """The whole page."""
    facts, settings = data["machine"], data["settings"]
    reads = sorted(facts["read_gb_per_second"])
    load = facts["machine_load"]
    huge = [cell["huge_bytes"] for cell in data["results"] if cell["place"] == "memory"]
    lines = [
        "# Packings beside the ByteSlice authors' code",
        "",
        f"{facts['date']}, {facts['processor']}, {facts['threads']} threads, {', '.join(facts['vectors'])}, "
        f"{facts['memory_bytes'] / 2**30:.0f} GiB, {facts['system']}{', virtual' if facts['virtual'] else ''}; "
        f"last-level cache {facts['last_level_cache'] / 2**20:.0f} MiB.",
        f"{facts['rustc']}, commit {facts['commit']}{' with changes' if facts['changed_files'] else ''}, release.",
        f"Authors' code: {facts['reference']['repository']}, commit {facts['reference']['commit'][:12]}, "
        f"{facts['reference']['compiler']}, `{' '.join(facts['reference']['flags'])}`.",
        f"Load while measuring: {load['busy']:.0%} of all processors' time busy, {load['stolen']:.0%} taken by the host "
        f"(one program runs at a time: {1 / facts['threads']:.0%} is a quiet machine).",
        f"Reading {settings['bytes'] / 2**20:.0f} MiB with one thread, between the measurements: "
        f"{reads[0]:.1f} to {reads[-1]:.1f} GB/s, median {statistics.median(reads):.1f}.",
        "Huge pages out of cache, least of all columns: "
        f"ours {min(cell['ours'] for cell in huge) / 2**20:.0f} MiB, "
        f"theirs {min(cell['theirs'] for cell in huge) / 2**20:.0f} MiB." if huge else "",
        "",
        f"Medians of {settings['rounds']} rounds with an interval, nanoseconds per code or per lookup. Speed-up: theirs / "
        "ours; \"level\" where the intervals overlap. All answers agreed.",
    ]
    for place, text in PLACES.items():
        for what in ("scan", "lookup random", "lookup sorted"):
            part = [cell for cell in data["results"] if cell["place"] == place and cell["what"] == what]
            if part:
                lines += ["", f"## {what[0].upper()}{what[1:]}, {text}", "", *table(part)]
    return "\n".join(lines) + "\n"
