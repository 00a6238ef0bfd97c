"""Gingham's server and PostgreSQL's, each a process of this run, asked by PostgreSQL's own clients over a socket of this machine."""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import time

POSTGRES = pathlib.Path("/usr/lib/postgresql")


def postgres_programs():
    """The folder of PostgreSQL's programs: of the newest version that Debian's packages have put there."""
    found = sorted(POSTGRES.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise RuntimeError(f"there is no PostgreSQL in {POSTGRES}: install Debian's package postgresql")
    return found[-1].parent


class Server:
    """What both have: psql and pgbench against it."""

    def __init__(self, name, folder, port, database, user):
        self.name, self.folder = name, folder
        self.where = ["-h", str(folder), "-p", str(port), "-U", user]
        self.database = database

    def psql(self, sql):
        """What statements give: rows as lines, values with | between them."""
        command = ["psql", *self.where, "-d", self.database, "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-f", "-"]
        done = subprocess.run(command, input=sql, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr}")
        return done.stdout.strip()

    def pgbench(self, *words):
        """What pgbench tells; a run that failed is an error."""
        command = ["pgbench", *self.where, "-n", *(str(word) for word in words), self.database]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = done.stdout + done.stderr
        if done.returncode or "aborted" in told:
            raise RuntimeError(f"{self.name}: {' '.join(command)}: {told}")
        return told

    def rate(self, *words):
        """(transactions, transactions a second, milliseconds of one) of a run of pgbench."""
        told = self.pgbench(*words)
        number = lambda pattern: float(re.search(pattern, told)[1])
        return (
            int(number(r"actually processed: (\d+)")),
            number(r"tps = ([0-9.]+)"),
            number(r"latency average = ([0-9.]+)"),
        )

    def started(self):
        """Waits until it answers."""
        for _ in range(300):
            ready = ["pg_isready", "-q", *self.where, "-d", self.database]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.name} did not start: see {self.folder}")


class Gingham(Server):
    """The server of this build over a database folder."""

    def __init__(self, program, database, folder):
        super().__init__("gingham", folder, 5499, "gingham", "gingham")
        folder.mkdir(parents=True, exist_ok=True)
        command = [program, "serve", str(database), "--postgres", "127.0.0.1:5499", "--socket", str(folder)]
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        self.started()

    def close(self):
        """Ends it, and wants it to end well."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=60):
            raise RuntimeError(f"gingham-server ended with {self.process.returncode}: see {self.folder / 'log'}")


class Postgres(Server):
    """PostgreSQL as Debian ships it: commits are synced. It does not run as root, who lends it the user `postgres`."""

    def __init__(self, folder):
        super().__init__("postgres", folder, 5498, "postgres", "postgres")
        self.programs = postgres_programs()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.as_user = []
        if os.geteuid() == 0:
            self.as_user = ["runuser", "-u", "postgres", "--"]
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            # Others have to pass through to its folder.
            for parent in folder.resolve().parents:
                if not parent.stat().st_mode & 0o001:
                    raise RuntimeError(f"the user postgres cannot pass {parent}: give another folder by --work")
        self.run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale", "C")
        options = f"-p 5498 -k {folder} -c listen_addresses= -c max_connections=200"
        self.run("pg_ctl", "-D", "data", "-o", options, "-l", "log", "-w", "start")
        self.started()

    def run(self, program, *words):
        """Runs one of its programs in its folder."""
        command = [*self.as_user, str(self.programs / program), *words]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")

    def version(self):
        """Its version."""
        return self.psql("SHOW server_version;")

    def close(self):
        """Ends it."""
        self.run("pg_ctl", "-D", "data", "-m", "fast", "-w", "stop")
