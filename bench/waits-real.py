#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs and services whose guilty wait is known: `record --waits` beside them, then `waits`. The guilty wait is to be row
one, and no idle row above a wait. The value is the number of programs where one of both isn't so. A case whose programs aren't
here is left out, and told. Names of cases as operands choose them."""
import contextlib, json, os, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

import lib_postgres
from lib_ahead import before_others

cyclescope = os.environ["CYCLESCOPE"]
PYTHON = os.path.realpath(shutil.which("python3", path="/usr/bin") or sys.executable)
CASES, LATER = [], []


class Missing(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


def later(function):
    LATER.append(function.__name__)
    return case(function)


def need(*names):
    for name in names:
        if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/usr/lib/postgresql/15/bin"):
            raise Missing(f"{name} isn't here")


class Scene:
    """A folder, and processes that end with it."""

    def __init__(self, folder):
        self.folder, self.children, self.after = folder, [], []

    def start(self, *command, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True, **more}
        self.children.append(subprocess.Popen(command, **more))
        return self.children[-1]

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        with open(path, "w") as f:
            f.write(text)
        return path

    def close(self):
        for end in reversed(self.after):
            with contextlib.suppress(Exception):
                end()
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def record(self, *how, load=None):
        store = self.folder + "/store"
        load = threading.Thread(target=load, daemon=True) if load else None
        child = subprocess.Popen([cyclescope, "record", "--waits", "--no-bursts", "-o", store, *how], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, preexec_fn=before_others)
        if load:
            time.sleep(1.2) # it attaches meanwhile
            load.start()
        said = child.communicate(timeout=90)[0]
        run = subprocess.run([cyclescope, "waits", "--json", "--top", "0", "--store", store], capture_output=True, text=True)
        if run.returncode:
            raise AssertionError(said + run.stderr)
        return json.loads(run.stdout)


def tcp_server(seconds, reply=b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", family=socket.AF_INET, address=("127.0.0.1", 0)):
    """In this process, which nobody records: it answers each request late."""
    s = socket.socket(family)
    s.bind(address)
    s.listen(64)

    def serve(c):
        with contextlib.suppress(OSError), c:
            while c.recv(65536):
                time.sleep(seconds)
                c.sendall(reply)
                if b"HTTP" in reply:
                    return

    def accept():
        while True:
            c, _ = s.accept()
            threading.Thread(target=serve, args=(c,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return s.getsockname()


def udp_resolver(seconds, address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, 53))

    def answer(q, who):
        time.sleep(seconds)
        end = q.index(b"\0", 12) + 5
        a = q[end - 4:end - 2] == b"\0\1"
        s.sendto(q[:2] + b"\x81\x80\0\1" + (b"\0\1" if a else b"\0\0") + b"\0\0\0\0" + q[12:end] + (b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if a else b""), who)

    def serve():
        while True:
            q, who = s.recvfrom(512)
            threading.Thread(target=answer, args=(q, who), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def tree_of(pid):
    pids = [pid]
    for p in pids:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{p}/task"):
                pids += [int(c) for c in open(f"/proc/{p}/task/{task}/children").read().split()]
    return ",".join(map(str, pids))


def wait_for(what, seconds=20):
    end = time.time() + seconds
    while not what():
        if time.time() > end:
            raise AssertionError("a service didn't start")
        time.sleep(0.1)


def is_open(port, host="127.0.0.1"):
    with socket.socket() as s:
        return s.connect_ex((host, port)) == 0


def row_is(row, kinds, **parts):
    if row["kind"] not in kinds.split("|"):
        return f"for {row['kind']}, not {kinds}"
    for key, part in parts.items():
        if not re.search(part, row.get(key) or ""):
            return f"{key} is {row.get(key)!r}, not {part!r}"
    return None


def first(said, kinds, **parts):
    return row_is(said["rows"][0], kinds, **parts) if said["rows"] else "no row"


# ---- services ----

def php(scene, script, children=3):
    need("php-fpm8.2", "cgi-fcgi")
    conf = scene.write("fpm.conf", f"""[global]
error_log = {scene.folder}/fpm.log
daemonize = no
[www]
user = nobody
group = nogroup
listen = {scene.folder}/fpm.sock
listen.mode = 0666
pm = static
pm.max_children = {children}
""")
    os.chmod(scene.folder, 0o755)
    path = scene.write("slow.php", script)
    master = scene.start("/usr/sbin/php-fpm8.2", "-n", "-y", conf, "-F")
    wait_for(lambda: os.path.exists(scene.folder + "/fpm.sock"))
    time.sleep(0.3)
    env = {**os.environ, "SCRIPT_FILENAME": path, "SCRIPT_NAME": "/slow.php", "REQUEST_METHOD": "GET"}

    def load():
        for _ in range(4):
            subprocess.run(["cgi-fcgi", "-bind", "-connect", scene.folder + "/fpm.sock"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return master.pid, load


@case
def php_fpm_slow_backend(scene):
    host, port = tcp_server(0.5)
    pid, load = php(scene, f"<?php file_get_contents('http://127.0.0.1:{port}/'); echo 'ok';")
    return first(scene.record("-p", tree_of(pid), "-t", "4", load=load), "socket", object=f"127.0.0.1:{port}")


def nginx(scene, location):
    need("nginx")
    port = 18080 + os.getpid() % 1000
    conf = scene.write("nginx.conf", f"""worker_processes 2; daemon off; pid {scene.folder}/pid; error_log {scene.folder}/log;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; location / {{ {location} }} }} }}""")
    pid = scene.start("/usr/sbin/nginx", "-c", conf, "-e", scene.folder + "/log").pid
    wait_for(lambda: is_open(port))
    return pid, port


@case
def nginx_slow_backend(scene):
    need("curl")
    _, behind = tcp_server(0.6)
    pid, port = nginx(scene, f"proxy_pass http://127.0.0.1:{behind};")
    load = lambda: [subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/"], stdout=subprocess.DEVNULL) for _ in range(4)]
    return first(scene.record("-p", tree_of(pid), "-t", "4", load=load), "socket", object=f"127.0.0.1:{behind}")


@case
def nginx_idle(scene):
    pid, port = nginx(scene, "return 204;")
    def load():
        for _ in range(10):
            is_open(port)
            time.sleep(0.1)
    rows = scene.record("-p", tree_of(pid), "-t", "3", load=load)["rows"]
    waits = [r for r in rows if r["reading"] != "idle" and r["kind"] != "run-queue" and r["seconds"] > 0.1]
    return f"a wait, though all is idle: {waits[0]}" if waits else None


@case
def dns_in_python(scene):
    if os.path.exists("/run/systemd/resolve"):
        raise Missing("another resolver is in charge")
    udp_resolver(0.6, "127.0.0.77")
    conf = scene.write("resolv.conf", "nameserver 127.0.0.77\noptions timeout:5\n")
    script = scene.write("dns.py", "import socket\nfor i in range(3): socket.gethostbyname(f'host{i}.example.com')\n")
    return first(scene.record("--", "unshare", "-m", "sh", "-c", f"mount --bind {conf} /etc/resolv.conf && exec {PYTHON} {script}"), "resolver", object="127.0.0.77:53")


@case
def dns_by_dig(scene):
    need("dig")
    udp_resolver(0.7, "127.0.0.78")
    return first(scene.record("--", "dig", "+tries=1", "@127.0.0.78", "a.example.com", "b.example.com", "c.example.com"), "resolver", object="127.0.0.78:53")


@case
def pipeline_of_four(scene):
    need("gawk")
    pipe = "seq 300000 | cat | gawk '{ s = 0; for (i = 0; i < 40; i++) s += i * $1; print s }' | wc -l"
    said = scene.record("--", "sh", "-c", pipe)
    return first(said, "child|pipe", meanwhile="gawk: running")


def mariadb(scene):
    need("mariadbd", "mariadb-install-db")
    os.chmod(scene.folder, 0o777)
    data, sock = scene.folder + "/data", scene.folder + "/maria.sock"
    subprocess.run(["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={data}", "--auth-root-authentication-method=normal", "--skip-test-db"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = scene.start("/usr/sbin/mariadbd", "--no-defaults", "--user=mysql", f"--datadir={data}", f"--socket={sock}", "--skip-networking", "--innodb-buffer-pool-size=32M").pid
    client = ["mariadb", "--no-defaults", "-u", "root", f"--socket={sock}"]
    wait_for(lambda: subprocess.run(client + ["-e", "select 1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0, 60)
    return pid, client


@case
def mariadb_row_lock(scene):
    pid, client = mariadb(scene)
    sql = lambda text: subprocess.run(client + ["-e", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sql("create database d; create table d.t (a int primary key, b int) engine=innodb; insert into d.t values (1, 0)")
    def load():
        holder = threading.Thread(target=sql, args=("begin; update d.t set b = 1 where a = 1; do sleep(3); commit",), daemon=True)
        holder.start()
        time.sleep(1)
        sql("update d.t set b = 2 where a = 1")
        holder.join()
    said = scene.record("-p", str(pid), "-t", "6", load=load)
    wrong = first(said, "condition", ended_by="^mariadbd: ", meanwhile=r"^mariadbd: (lock|condition|sleep|timer) in ")
    seconds = said["rows"][0]["seconds"] # the other client waits from its start on, a second before the holder wakes up
    return wrong or (None if 1.5 < seconds < 2.5 else f"{seconds} s for a lock that was held for 2")


@case
def mariadb_client(scene):
    _, client = mariadb(scene)
    return first(scene.record("--", *client, "-e", "do sleep(2)"), "socket", object="maria.sock")


@case
def postgres_client(scene):
    server = lib_postgres.start(scene.folder)
    if not server:
        raise Missing("no PostgreSQL")
    scene.after.append(server[1])
    return first(scene.record("--", "psql", "-h", scene.folder + "/pg", "postgres", "-c", "select pg_sleep(2)"), "socket", object="PGSQL")


@case
def postgres_row_lock(scene):
    server = lib_postgres.start(scene.folder)
    if not server:
        raise Missing("no PostgreSQL")
    scene.after.append(server[1])
    sql = lambda text: subprocess.Popen(["psql", "-h", scene.folder + "/pg", "postgres", "-c", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    holder = sql("begin; update pgbench_branches set bbalance = 1 where bid = 1; select pg_sleep(5); commit")
    time.sleep(0.5)
    waiter = sql("update pgbench_branches set bbalance = 2 where bid = 1")
    time.sleep(0.5)
    said = scene.record("-p", tree_of(server[0]), "-t", "6")
    holder.wait(), waiter.wait()
    return first(said, "events", where="WaitEventSetWait", object="event from postgres")


def idle_client(*client, after, **more):
    """Holds a row's lock while it asks nothing."""
    with subprocess.Popen(client, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, **more) as holder:
        for text in after:
            if isinstance(text, str):
                print(text, file=holder.stdin, flush=True)
            else:
                time.sleep(text)


@later
def postgres_idle_in_transaction(scene):
    server = lib_postgres.start(scene.folder)
    if not server:
        raise Missing("no PostgreSQL")
    scene.after.append(server[1])
    client = ["psql", "-h", scene.folder + "/pg", "postgres"]
    holder = threading.Thread(target=idle_client, args=client, kwargs={"after": ("begin; update pgbench_branches set bbalance = 1 where bid = 1;", 5, "commit;")}, daemon=True)
    holder.start()
    time.sleep(0.7)
    waiter = subprocess.Popen(client + ["-c", "update pgbench_branches set bbalance = 2 where bid = 1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    said = scene.record("-p", tree_of(server[0]), "-t", "6")
    holder.join(), waiter.wait()
    return first(said, "events", where="WaitEventSetWait", object="event from postgres")


@later
def mariadb_idle_in_transaction(scene):
    pid, client = mariadb(scene)
    sql = lambda text: subprocess.run(client + ["-e", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sql("create database d; create table d.t (a int primary key, b int) engine=innodb; insert into d.t values (1, 0)")
    def load():
        holder = threading.Thread(target=idle_client, args=client, kwargs={"after": ("begin; update d.t set b = 1 where a = 1;", 3, "commit;")}, daemon=True)
        holder.start()
        time.sleep(1)
        sql("update d.t set b = 2 where a = 1")
        holder.join()
    said = scene.record("-p", str(pid), "-t", "6", load=load)
    wrong = first(said, "condition", ended_by="^mariadbd: ")
    return wrong or (None if 1.5 < said["rows"][0]["seconds"] < 2.5 else f"{said['rows'][0]['seconds']} s for a lock that was held for 2")


@case
def java_monitor(scene):
    need("java", "javac")
    source = scene.write("M.java", """
public class M { static final Object lock = new Object();
    static void work() throws Exception { for (int i = 0; i < 6; i++) synchronized (lock) { Thread.sleep(250); } }
    public static void main(String[] a) throws Exception { Thread[] t = new Thread[3];
        for (int i = 0; i < 3; i++) { t[i] = new Thread(() -> { try { work(); } catch (Exception e) {} }, "worker-" + i); t[i].start(); }
        for (Thread x : t) x.join(); } }""")
    subprocess.run(["javac", "-d", scene.folder, source], check=True)
    return first(scene.record("--", "java", "-Xshare:auto", "-cp", scene.folder, "M"), "monitor", thread="worker")


@case
def go_slow_backend(scene):
    need("go")
    _, port = tcp_server(0.5)
    source = scene.write("g.go", f"""package main
import ("io"; "net/http")
func main() {{ for i := 0; i < 4; i++ {{ r, e := http.Get("http://127.0.0.1:{port}/"); if e == nil {{ io.ReadAll(r.Body); r.Body.Close() }} }} }}""")
    subprocess.run(["go", "build", "-o", scene.folder + "/g", source], check=True, env={**os.environ, "GOFLAGS": "-mod=mod", "HOME": scene.folder, "GOCACHE": "/tmp/cyclescope-go-cache"})
    return first(scene.record("--", scene.folder + "/g"), "socket", object=f"127.0.0.1:{port}")


C_DEAD_LOCK = r"""
#include <mutex>
#include <thread>
#include <chrono>
static std::mutex a, b;
__attribute__((noinline)) void transfer(std::mutex &from, std::mutex &to) {
    std::lock_guard<std::mutex> x(from); std::this_thread::sleep_for(std::chrono::milliseconds(100)); std::lock_guard<std::mutex> y(to); }
int main() { std::thread t([]{ transfer(a, b); }), u([]{ transfer(b, a); }); t.join(); u.join(); }
"""


@case
def dead_lock(scene):
    need("g++")
    subprocess.run(["g++", "-O1", "-g", "-pthread", "-o", scene.folder + "/d", scene.write("d.cc", C_DEAD_LOCK)], check=True)
    pid = scene.start(scene.folder + "/d").pid
    time.sleep(0.5)
    return first(scene.record("-p", str(pid), "-t", "2"), "dead-lock", where="transfer", object="holds, dead lock")


@case
def child(scene):
    script = scene.write("child.py", "import subprocess\nsubprocess.run(['gzip', '-9c', '/usr/bin/gdb' if __import__('os').path.exists('/usr/bin/gdb') else '/bin/bash'], stdout=subprocess.DEVNULL)\nsubprocess.run(['sha512sum'] + ['/bin/bash'] * 300, stdout=subprocess.DEVNULL)\n")
    return first(scene.record("--", PYTHON, script), "child", ended_by="sha512sum|gzip", meanwhile="(sha512sum|gzip): running")


C_FSYNC = r"""
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int f;
__attribute__((noinline)) static void commit(void) { char b[4096] = {1};
    pthread_mutex_lock(&m); if (write(f, b, sizeof b) < 0) _exit(1); fsync(f); pthread_mutex_unlock(&m); }
static void *work(void *x) { for (int i = 0; i < 400; i++) commit(); return x; }
int main(int n, char **v) { pthread_t t[4]; f = open(v[1], O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0); for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return n - 2; }
"""


@case
def fsync_under_a_lock(scene):
    """At a real-time priority, as sqlite below: in the run queue a holder doesn't wait for its file."""
    need("gcc", "chrt")
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", scene.folder + "/f", scene.write("f.c", C_FSYNC)], check=True)
    return first(scene.record("--", "chrt", "-f", "1", scene.folder + "/f", scene.folder + "/file"), "mutex", where="commit", meanwhile="f: file in commit")


@case
def sqlite_commits(scene):
    """At a real-time priority: what the disk is waited for is short beside what a busy machine's run queues take."""
    need("sqlite3", "chrt")
    sql = scene.write("s.sql", "pragma journal_mode=wal; pragma synchronous=full; create table t(a);" + "insert into t values (1);" * 600)
    return first(scene.record("--", "chrt", "-f", "1", "sqlite3", scene.folder + "/s.db", f".read {sql}"), "file", object="s.db")


@case
def throttled(scene):
    for group, limit in ((f"/sys/fs/cgroup/cpu/cs-{os.getpid()}", "v1"), (f"/sys/fs/cgroup/cs-{os.getpid()}", "v2")):
        with contextlib.suppress(OSError):
            os.mkdir(group)
            if limit == "v1":
                open(group + "/cpu.cfs_quota_us", "w").write("20000")
                open(group + "/cpu.shares", "w").write("262144") # else other groups' programs keep it from its limit
            else:
                open(group + "/cpu.max", "w").write("20000 100000")
                open(group + "/cpu.weight", "w").write("10000")
            break
    else:
        raise Missing("no cgroup with a CPU limit can be made")
    scene.after.append(lambda: os.rmdir(group))
    return first(scene.record("--", "sh", "-c", f"echo $$ >{group}/cgroup.procs; exec sha512sum " + "/bin/bash " * 250), "throttled")


@case
def python_gil(scene):
    script = scene.write("gil.py", """import threading
def work():
    n = 0
    for i in range(8000000): n += i
t = [threading.Thread(target=work) for _ in range(3)]
[x.start() for x in t]; [x.join() for x in t]
""")
    return first(scene.record("--", PYTHON, script), "condition", thread="python", via="cond_timedwait", where=r"^(?!PyThread_acquire)") # take_gil, which Debian's Python has no name for


@case
def redis_slow(scene):
    need("redis-server", "redis-cli")
    port = 17000 + os.getpid() % 1000
    scene.start("redis-server", "--port", str(port), "--save", "", "--enable-debug-command", "yes", "--dir", scene.folder)
    wait_for(lambda: is_open(port))
    return first(scene.record("--", "redis-cli", "-p", str(port), "debug", "sleep", "2"), "socket", object=f"127.0.0.1:{port}, redis-server")


@case
def curl_slow(scene):
    need("curl")
    _, port = tcp_server(1.5)
    return first(scene.record("--", "curl", "-s", f"http://127.0.0.1:{port}/"), "socket", object=f"127.0.0.1:{port}")


@case
def node_slow_backend(scene):
    need("node")
    _, port = tcp_server(0.5)
    script = scene.write("n.js", f"const h=require('http');let n=0;function f(){{h.get('http://127.0.0.1:{port}/',r=>{{r.resume();r.on('end',()=>++n<4&&f())}})}}f();")
    return first(scene.record("--", "node", script), "socket", object=f"127.0.0.1:{port}")


@case
def file_lock(scene):
    need("flock")
    scene.start("flock", scene.folder + "/lock", "sleep", "3")
    time.sleep(0.3)
    return first(scene.record("--", "flock", scene.folder + "/lock", "true"), "file-lock", object="lock$")


@case
def named_pipe(scene):
    os.mkfifo(scene.folder + "/fifo")
    scene.start("sh", "-c", f"exec 3>{scene.folder}/fifo; sleep 1; echo a >&3; sleep 1; echo b >&3")
    return first(scene.record("--", "cat", scene.folder + "/fifo"), "pipe|file", object="fifo")


@case
def unix_socket(scene):
    tcp_server(0.5, b"ok", socket.AF_UNIX, scene.folder + "/u.sock")
    script = scene.write("u.py", f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{scene.folder}/u.sock')\nfor _ in range(4): s.sendall(b'x'); s.recv(10)\n")
    return first(scene.record("--", PYTHON, script), "socket", object="u.sock")


@case
def pool_and_future(scene):
    host, port = tcp_server(0.4, b"ok")
    script = scene.write("pool.py", f"""import socket, threading, time
from concurrent.futures import ThreadPoolExecutor
def ask(n):
    s = socket.create_connection(('127.0.0.1', {port})); s.sendall(b'x'); return s.recv(10)
threading.Thread(target=lambda: [time.sleep(0.5) for _ in range(100)], daemon=True).start()
with ThreadPoolExecutor(2) as pool:
    for f in [pool.submit(ask, n) for n in range(8)]: f.result()
""")
    return first(scene.record("--", PYTHON, script), "socket", object=f"127.0.0.1:{port}")


# ---- situations that came after the rules ----

@later
def redis_blocking_pop(scene):
    need("redis-server", "redis-cli")
    port = 19000 + os.getpid() % 1000
    scene.start("redis-server", "--port", str(port), "--save", "", "--dir", scene.folder)
    wait_for(lambda: is_open(port))
    push = lambda: (time.sleep(0.5), subprocess.run(["redis-cli", "-p", str(port), "rpush", "jobs", "a"], stdout=subprocess.DEVNULL))
    return first(scene.record("--", "redis-cli", "-p", str(port), "blpop", "jobs", "5", load=push), "socket", object=f"127.0.0.1:{port}, redis-server")


@later
def rsync_slow_shell(scene):
    """What stands for ssh computes for each block that it hands on."""
    need("rsync")
    os.mkdir(scene.folder + "/from")
    with open(scene.folder + "/from/data", "wb") as f:
        f.write(os.urandom(2 << 20))
    slow = scene.write("slow.py", """import hashlib, os, subprocess, sys, threading
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
threading.Thread(target=lambda: os._exit(server.wait()), daemon=True).start()
while b := os.read(0, 32768):
    hashlib.pbkdf2_hmac('sha256', b[:64], b's', 1 + len(b) // 2)
    server.stdin.write(b)
    server.stdin.flush()
""")
    shell = scene.write("shell", f"#!/bin/sh\nshift\nexec {PYTHON} {slow} \"$@\"\n")
    os.chmod(shell, 0o755)
    return first(scene.record("--", "rsync", "-a", "-e", shell, scene.folder + "/from/", f"host:{scene.folder}/to/"), "pipe|socket", meanwhile=r"python\S*: running")


@later
def go_channel_pool(scene):
    """Workers take jobs from a channel; who fills it reads them from a slow program."""
    need("go")
    source = scene.write("pool.go", """package main
import ("bufio"; "os"; "sync")
func main() {
	jobs := make(chan string)
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ { wait.Add(1); go func() { defer wait.Done(); for j := range jobs { n := 0; for k := 0; k < 1000000; k++ { n += len(j) * k } } }() }
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() { jobs <- lines.Text() }
	close(jobs); wait.Wait()
}""")
    subprocess.run(["go", "build", "-o", scene.folder + "/pool", source], check=True, env={**os.environ, "GOFLAGS": "-mod=mod", "HOME": scene.folder, "GOCACHE": "/tmp/cyclescope-go-cache"})
    os.mkfifo(scene.folder + "/jobs")
    scene.start("sh", "-c", f"exec 3>{scene.folder}/jobs; for i in 1 2 3 4 5 6 7; do sleep 0.3; echo job >&3; done")
    return first(scene.record("--", "sh", "-c", f"exec {scene.folder}/pool <{scene.folder}/jobs"), "pipe", object="jobs", ended_by="^sh")


@later
def java_reentrant_lock(scene):
    need("java", "javac")
    source = scene.write("R.java", """
import java.util.concurrent.locks.ReentrantLock;
public class R { static final ReentrantLock lock = new ReentrantLock();
    static void work() throws Exception { for (int i = 0; i < 5; i++) { lock.lock(); try { Thread.sleep(200); } finally { lock.unlock(); } } }
    public static void main(String[] a) throws Exception { Thread[] t = new Thread[3];
        for (int i = 0; i < 3; i++) { t[i] = new Thread(() -> { try { work(); } catch (Exception e) {} }, "worker-" + i); t[i].start(); }
        for (Thread x : t) x.join(); } }""")
    subprocess.run(["javac", "-d", scene.folder, source], check=True)
    return first(scene.record("--", "java", "-Xshare:auto", "-cp", scene.folder, "R"), "condition|lock|monitor", where="Park", thread="worker", ended_by="worker")


@later
def python_pool_slow_worker(scene):
    script = scene.write("mp.py", """import hashlib, multiprocessing
def work(n): hashlib.pbkdf2_hmac('sha256', b'x', b's', 4000000 if n == 2 else 20000)
if __name__ == '__main__':
    with multiprocessing.Pool(3) as pool: pool.map(work, range(8), 1)
""")
    return first(scene.record("--", PYTHON, script), "pipe|lock|condition|semaphore", meanwhile=r"python\S*: running")


@later
def flock_of_scripts(scene):
    need("flock")
    a = scene.write("a.sh", f"exec 9>{scene.folder}/lock; flock 9; sleep 2\n")
    b = scene.write("b.sh", f"exec 9>{scene.folder}/lock; flock 9; echo b\n")
    return first(scene.record("--", "sh", "-c", f"sh {a} & sleep 0.3; sh {b}; wait"), "file-lock", thread="flock", object="lock$")


@later
def memcached_idle(scene):
    need("memcached")
    port = 21000 + os.getpid() % 1000
    pid = scene.start("memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)).pid
    wait_for(lambda: is_open(port))
    def load():
        with socket.create_connection(("127.0.0.1", port)) as s:
            for i in range(8):
                s.sendall(b"set a 0 0 1\r\nx\r\nget a\r\n")
                time.sleep(0.2)
    rows = scene.record("-p", str(pid), "-t", "3", load=load)["rows"]
    waits = [r for r in rows if r["reading"] == "wait" and r["kind"] != "run-queue" and r["seconds"] > 0.1] # its threads for maintenance are "either"
    return f"a wait, though all is idle: {waits[0]}" if waits else None


@later
def nginx_kept_upstream(scene):
    """Four requests of half a second over a kept connection, and 0.3 s between them in which nobody asks."""
    need("curl")
    _, behind = tcp_server(0.5, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    pid, port = nginx(scene, f"proxy_pass http://127.0.0.1:{behind}; proxy_http_version 1.1; proxy_set_header Connection '';")
    def load():
        for _ in range(4):
            subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/"], stdout=subprocess.DEVNULL)
            time.sleep(0.3)
    said = scene.record("-p", tree_of(pid), "-t", "5", load=load)
    return first(said, "socket", object=f"127.0.0.1:{behind}") or (None if said["rows"][0]["seconds"] < 2.3 else f"{said['rows'][0]['seconds']} s of 2.0")


@later
def xz_threads(scene):
    need("xz")
    with open(scene.folder + "/data", "wb") as f:
        f.write(bytes(i * i % 251 for i in range(1 << 16)) * 40 + os.urandom(2 << 20))
    return first(scene.record("--", "xz", "-9kT2", "--block-size=4MiB", scene.folder + "/data"), "condition", thread="xz", meanwhile="xz: running")


@later
def make_slow_compile(scene):
    need("make", "g++")
    scene.write("slow.cc", "#include <regex>\n#include <map>\n#include <iostream>\nint main(int n, char **v) { std::map<std::string, int> m; for (int i = 0; i < n; i++) m[v[i]] += std::regex_match(v[i], std::regex(\"a+b\")); std::cout << m.size(); }\n")
    scene.write("Makefile", "all: a b\na: slow.cc\n\tg++ -O2 -o a slow.cc\nb:\n\tsleep 0.2; touch b\n")
    return first(scene.record("--", "make", "-j2", "-C", scene.folder), "child|pipe", meanwhile=r"cc1plus: running")


def idle_above(said):
    """An idle row above a wait."""
    seen = False
    for r in said["rows"]:
        if r["reading"] == "idle":
            seen = True
        elif seen:
            return f"idle above {r['kind']}"
    return None


def main():
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    results, left_out = {}, {}
    for function in CASES:
        if wanted and function.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            scene, shown = Scene(folder), {}
            record = scene.record
            def keep(*how, **more):
                shown.update(record(*how, **more))
                return shown
            scene.record = keep
            try:
                wrong = function(scene) or idle_above(shown)
            except Missing as e:
                left_out[function.__name__] = str(e)
                print(function.__name__, "left out:", e, file=sys.stderr)
                continue
            except (AssertionError, subprocess.CalledProcessError, subprocess.TimeoutExpired) as e:
                wrong = f"{type(e).__name__}: {e}"
            finally:
                scene.close()
        results[function.__name__] = wrong
        print(function.__name__, wrong or "ok", file=sys.stderr)
        if wrong or "-v" in sys.argv:
            for r in shown.get("rows", [])[:9]:
                print("   ", f"{r['seconds']:.3f}", r["reading"], r["kind"], r["where"], "|", r["via"], "|", r["thread"], "|", r["object"], "|", r["ended_by"], "|", r["meanwhile"], file=sys.stderr)
    bad = [name for name, wrong in results.items() if wrong]
    print(json.dumps({"name": "waits-real", "value": len(bad), "unit": f"wrong of {len(results)} programs", "target": 0, "noise": None,
                      "detail": {"wrong": {name: results[name] for name in bad}, "wrong_of_later": f"{len([n for n in bad if n in LATER])} of {len([n for n in results if n in LATER])}",
                                 "right": [n for n in results if n not in bad], "left_out": left_out}}))


main()
