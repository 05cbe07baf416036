# SPDX-License-Identifier: GPL-2.0-or-later
"""A PostgreSQL server of its own for benchmarks, as the user postgres in a folder, and pgbench's tables in it."""
import glob, os, shutil, subprocess


def start(folder):
    """A server of its own: its PID and what ends it; None: none here."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found or not shutil.which("pgbench") or os.getuid() != 0:
        return None
    place = folder + "/pg"
    os.chmod(folder, 0o755)
    os.mkdir(place)
    shutil.chown(place, "postgres")
    run = lambda *c: subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *c], check=True, cwd=place,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ctl = [os.path.dirname(found[-1]) + "/pg_ctl", "-D", place + "/data", "-w", "-l", place + "/log"]
    run(found[-1], "-D", place + "/data", "-A", "trust", "-U", "root")
    run(*ctl, "-o", f"-c listen_addresses='' -k {place} -c fsync=off", "start")
    subprocess.run(["pgbench", "-h", place, "-q", "-i", "-s", "2", "postgres"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return int(open(place + "/data/postmaster.pid").readline()), lambda: run(*ctl, "-m", "immediate", "stop")
