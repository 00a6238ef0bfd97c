"""The two programs: the ByteSlice authors' code with `reference.cpp`, and our example `packing_runner`."""

import json
import os
import pathlib
import subprocess
import sys

from harness import machine
from harness.prepare import run

REPOSITORY = "https://github.com/JanzenLiu/ByteSlice2"
COMPILER = "g++"
# The authors' own release flags, for a Haswell processor as in the paper. Strict aliasing is off, since HBP's counts
# come out wrong with it; OpenMP is off, since one thread needs none. NEARLYSTOP, which the authors' build file defines,
# would switch early stop off.
FLAGS = ["-std=c++11", "-O3", "-DNDEBUG", "-DNPREFETCH", "-march=haswell", "-fno-strict-aliasing", "-w"]


def reference(work, checkout):
    """Builds the authors' columns with our driver. Gives the program's path, and what it was made from."""
    if checkout is None:
        checkout = work / "ByteSlice2"
        if not checkout.exists():
            run(["git", "clone", "--depth", "1", REPOSITORY, str(checkout)])
    sources = sorted((checkout / "src").glob("*.cpp"))
    if not sources:
        sys.exit(f"{checkout}/src holds no sources of the authors' code: give a checkout of {REPOSITORY} by --reference")
    source = {
        "repository": REPOSITORY,
        "commit": machine.output(["git", "rev-parse", "HEAD"], checkout),
        "compiler": machine.output([COMPILER, "--version"]),
        "flags": FLAGS,
    }
    folder = work / "byteslice-reference"
    folder.mkdir(parents=True, exist_ok=True)
    program, made = folder / "reference", folder / "made.json"
    driver = pathlib.Path(__file__).with_name("reference.cpp")
    wanted = source | {"driver": driver.read_text(encoding="utf-8")}
    if program.exists() and made.exists() and json.loads(made.read_text(encoding="utf-8")) == wanted:
        return program, source
    objects = compile_all([*sources, driver], checkout, folder)
    run([COMPILER, *FLAGS, *[str(path) for path in objects], "-o", str(program)])
    made.write_text(json.dumps(wanted), encoding="utf-8")
    return program, source


def compile_all(sources, checkout, folder):
    """Compiles each source, as many at a time as there are processors. Gives the object files."""
    waiting, running, objects = list(sources), [], []
    print(f"compiling {len(waiting)} files of the authors' code, which takes minutes", flush=True)
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            source = waiting.pop()
            objects.append(folder / f"{source.stem}.o")
            include = [f"-I{checkout}", f"-I{checkout / 'include'}"]
            command = [COMPILER, *FLAGS, *include, "-c", str(source), "-o", str(objects[-1])]
            running.append((source, subprocess.Popen(command)))
        source, process = running.pop(0)
        if process.wait():
            sys.exit(f"{source} does not compile")
    return objects


def runner(root):
    """Builds our example in release and gives its path, as cargo tells it."""
    command = ["cargo", "build", "--locked", "--release", "--message-format", "json-render-diagnostics"]
    command += ["-p", "gingham-kernels", "--example", "packing_runner"]
    print("+ " + " ".join(command), flush=True)
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(message["executable"] for message in messages if message.get("executable"))
