"""What is written: a JSON with every run, and a page of tables."""

from .statistics import geometric_mean, interval, median


def record(facts, settings, engines, results):
    """The JSON record: facts, settings, and every single run."""
    entries = []
    for (engine, threads), opened in results["opened"].items():
        load = results["loads"].get((engine, threads))
        runs = {query: seconds for (e, t, query), seconds in results["times"].items() if (e, t) == (engine, threads)}
        entries.append(
            {
                "engine": engine,
                "threads": threads,
                "load": load,
                "open_seconds": opened,
                "peak_bytes_of_queries": results["peaks"][(engine, threads)],
                "queries": {query: summary(seconds) for query, seconds in runs.items()},
            }
        )
    return {
        "facts": facts,
        "settings": settings,
        "engines": {engine["name"]: engine["says"] for engine in engines},
        "differences": results["differences"],
        "machine_load": results["machine_load"],
        "starts_seconds": results["starts"],
        "results": entries,
    }


def summary(seconds):
    """Median, interval and all runs of one query."""
    low, high, coverage = interval(seconds)
    return {"median": median(seconds), "low": low, "high": high, "coverage": coverage, "seconds": seconds}


def page(data):
    """The record as Markdown."""
    facts = data["facts"]
    lines = [f"# TPC-H at scale {data['settings']['scale']:g}: {facts['date']}, {facts['processor']}", ""]
    lines += fact_lines(data)
    if data["differences"]:
        lines += ["", "## Answers that differ", ""]
        lines += [f"- {place}: {text}" for place, text in data["differences"].items()]
    else:
        lines += ["", "Every engine gave the same answer to every query."]
    lines += ["", "## Loading, size, memory", "", *load_table(data)]
    if data["starts_seconds"]:
        middle, (low, high, _) = median(data["starts_seconds"]), interval(data["starts_seconds"])
        lines += [
            "",
            f"A new process that opens Gingham's database, counts lineitem and ends: {middle * 1e3:.1f} ms "
            f"({low * 1e3:.1f} – {high * 1e3:.1f}).",
        ]
    for threads in data["settings"]["threads"]:
        lines += ["", f"## Queries, {threads} thread{'s' if threads > 1 else ''}", "", *query_table(data, threads)]
    return "\n".join(lines) + "\n"


def fact_lines(data):
    facts, settings, load = data["facts"], data["settings"], data["machine_load"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    changed = " with changes not committed" if facts["changed_files"] else ""
    lines = [
        f"- Machine: {facts['processor']}, {facts['threads']} threads, {facts['memory_bytes'] / 1e9:.1f} GB memory, "
        f"{facts['system']}, {facts['file_system']}{', virtual' if facts['virtual'] else ''}",
        f"- Build: commit {facts['commit']}{changed}, profile {facts['profile']}, {facts['rustc']}",
        f"- Engines: {versions}",
        f"- Runs: {settings['rounds']} rounds, {settings['loads']} loads. While queries were measured the processors were "
        f"busy for {load['busy']:.0%} and taken by the host for {load['stolen']:.1%} of the time; "
        f"the load average before was {facts['load_average']:.2f}.",
    ]
    return lines + [f"- {name}: {says}" for name, says in data["engines"].items()]


def load_table(data):
    lines = ["| engine | threads | load s | on disk MB | peak of load MB | peak of queries MB |", "|---|---|---|---|---|---|"]
    for entry in data["results"]:
        load = entry["load"]
        if load:
            low, high = min(load["seconds"]), max(load["seconds"])
            seconds = f"{median(load['seconds']):.2f} ({low:.2f} – {high:.2f})"
            disk, peak = f"{load['disk_bytes'] / 1e6:.0f}", f"{max(load['peak_bytes']) / 1e6:.0f}"
        else:
            seconds, disk, peak = f"{entry['open_seconds']:.2f}, each time", "", ""
        queries = entry["peak_bytes_of_queries"] / 1e6
        lines.append(f"| {entry['engine']} | {entry['threads']} | {seconds} | {disk} | {peak} | {queries:.0f} |")
    lines += ["", "Loads: median, and the range. MB are millions of bytes."]
    return lines


def query_table(data, threads):
    entries = [entry for entry in data["results"] if entry["threads"] == threads]
    names = [entry["engine"] for entry in entries]
    queries = sorted({query for entry in entries for query in entry["queries"]}, key=lambda q: (not is_tpch(q), q))
    lines = ["| query | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for query in queries:
        cells = [cell(entry["queries"].get(query)) for entry in entries]
        lines.append(f"| {query} | " + " | ".join(cells) + " |")
    lines.append("| sum of the 22 | " + " | ".join(total(entry) for entry in entries) + " |")
    first = entries[0]
    for own in entries:
        if own["engine"].startswith("gingham") and len(entries) > 1:
            cells = [mean_ratio(own, entry) for entry in entries]
            lines.append(f"| {own['engine']}'s time, as a part of this | " + " | ".join(cells) + " |")
    one = next(iter(first["queries"].values()), None)
    coverage = f"{one['coverage']:.0%}" if one else "?"
    lines += [
        "",
        f"Milliseconds from text to last row: median, and an interval that holds the true median with {coverage} "
        "probability (METHODOLOGY.md). The last lines are geometric means over TPC-H's queries.",
    ]
    return lines + best_of_duckdb(entries)


def best_of_duckdb(entries):
    """Each of Gingham's as a part of the better of DuckDB's two, query by query."""
    peers = [medians(entry) for entry in entries if entry["engine"].startswith("duckdb")]
    if len(peers) < 2:
        return []
    best = {query: min(peer[query] for peer in peers) for query in peers[0] if all(query in peer for peer in peers)}
    own = {entry["engine"]: medians(entry) for entry in entries if entry["engine"].startswith("gingham")}
    ratios = [(name, [times[query] / best[query] for query in times if query in best]) for name, times in own.items()]
    parts = [f"{name} {geometric_mean(ratio):.3f}" for name, ratio in ratios if ratio]
    return ["", "Of the better of DuckDB's two, query by query: " + ", ".join(parts) + "."] if parts else []


def is_tpch(query):
    """Whether a query is one of the 22."""
    return query[0] == "q" and query[1:].isdigit()


def cell(query, digits=1):
    if query is None:
        return "–"
    median_, low, high = (f"{query[key] * 1e3:.{digits}f}" for key in ("median", "low", "high"))
    return f"{median_} ({low} – {high})"


def medians(entry):
    return {query: result["median"] for query, result in entry["queries"].items() if is_tpch(query)}


def total(entry):
    return f"{sum(medians(entry).values()) * 1e3:.0f}"


def mean_ratio(first, entry):
    ours, theirs = medians(first), medians(entry)
    ratios = [ours[query] / theirs[query] for query in ours if query in theirs]
    return f"{geometric_mean(ratios):.2f}" if ratios else "–"
