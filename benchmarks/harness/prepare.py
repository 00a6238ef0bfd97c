"""What has to be there before measuring: the peers' packages, this build's programs, the data."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

PACKAGES = ["duckdb", "tableauhyperapi", "pyarrow", "polars"]
DEFINITIONS = pathlib.Path(__file__).resolve().parent.parent / "definitions"
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
# Packages, data and databases, unless --work says otherwise.
WORK = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gingham-bench"


def run(command, **options):
    """Runs a command, shown, and stops the benchmark when it fails."""
    print("+ " + " ".join(str(word) for word in command), flush=True)
    subprocess.run(command, check=True, **options)


def virtual_environment(work):
    """Makes the virtual environment with the peers' packages and returns its Python and the packages' versions."""
    folder = work / "python"
    python = folder / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", str(folder)])
    if subprocess.run([python, "-c", "import duckdb, polars, pyarrow, tableauhyperapi"], capture_output=True, check=False).returncode:
        run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES])
    text = subprocess.run([python, "-m", "pip", "list", "--format", "json"], capture_output=True, check=True).stdout
    return python, {entry["name"]: entry["version"] for entry in json.loads(text) if entry["name"] in PACKAGES}


def build(root, profile):
    """Builds the runner and the command with a cargo profile and returns their paths, as cargo tells them."""
    return programs(root, profile, ["runner"])


def example(root, profile, name):
    """Builds one of the lab's measuring programs and returns its path, as cargo tells it."""
    return programs(root, profile, [name])[name]


def programs(root, profile, examples):
    """Builds examples of the lab, and the command always, so that each build has the same features and shares its crates."""
    command = ["cargo", "build", "--locked", "--profile", profile, "--message-format", "json-render-diagnostics"]
    command += ["-p", "gingham-lab", "--features", "gingham-lab/runner"]
    command += [word for name in examples for word in ("--example", name)]
    command += ["-p", "gingham-cli", "--bin", "gingham"]
    print("+ " + " ".join(command), flush=True)
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    paths = {}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] in ("gingham", *examples):
            paths[message["target"]["name"]] = message["executable"]
    return paths


def data(work, runner, scale):
    """Generates the Parquet files once and returns their folder."""
    folder = work / f"tpch-{scale:g}"
    whole = folder / "whole"
    if not whole.exists():
        run([runner, "generate", str(folder), str(scale), str(os.cpu_count())])
        whole.write_text("every file is written\n", encoding="utf-8")
    return folder


def queries():
    """The texts of TPC-H's queries by their names."""
    texts = sorted((DEFINITIONS / "tpch").glob("q*.sql"))
    return {text.stem: text.read_text(encoding="utf-8") for text in texts}


def run_sql(program, database, sql):
    """What the statements print, as CSV."""
    command = [program, str(database), "--format", "csv"]
    return subprocess.run(command, input=sql, text=True, check=True, capture_output=True).stdout


def load(program, files, database, layout):
    """A new database with all tables."""
    shutil.rmtree(database, ignore_errors=True)
    schema = (DEFINITIONS / "tpch" / "schema.sql").read_text(encoding="utf-8")
    copies = "".join(f"COPY {table} FROM '{files / table}.parquet';\n" for table in TABLES)
    run_sql(program, database, f"SET gingham.layout = '{layout}';\n{schema}{copies}")


def lineitem_schema():
    """The statement that creates lineitem, without its semicolon."""
    text = (DEFINITIONS / "tpch" / "schema.sql").read_text(encoding="utf-8")
    return text[text.index("CREATE TABLE lineitem") :].split(";")[0]


def locked_version(root, package):
    """A package's version in Cargo.lock."""
    lines = (root / "Cargo.lock").read_text(encoding="utf-8").splitlines()
    place = lines.index(f'name = "{package}"')
    return lines[place + 1].split('"')[1]
