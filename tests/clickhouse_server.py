# SPDX-License-Identifier: GPL-2.0-or-later
"""A ClickHouse server of one's own: on loopback, a free port, a directory of its own; killed, started again, asked."""
import os, shutil, signal, socket, subprocess, time, urllib.error, urllib.request

EXECUTABLE = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    def __init__(self, folder):
        self.folder, self.process = folder, None
        self.http, self.tcp, self.interserver = free_ports(3)
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/config.xml", "w") as f:
            f.write(f"""<yandex><logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{self.http}</http_port><tcp_port>{self.tcp}</tcp_port>
<interserver_http_port>{self.interserver}</interserver_http_port><path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>
<users_config>{folder}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>""")
        with open(folder + "/users.xml", "w") as f:
            f.write("""<yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>""")

    def url(self, database):
        return f"http://127.0.0.1:{self.http}/{database}"

    def start(self, patience_s=60):
        self.process = subprocess.Popen([EXECUTABLE, f"--config-file={self.folder}/config.xml"], stdout=subprocess.DEVNULL,
                                        stderr=open(self.folder + "/stderr", "ab"), cwd=self.folder)
        end = time.time() + patience_s
        while time.time() < end:
            if self.process.poll() is not None:
                raise RuntimeError("clickhouse-server ended: " + open(self.folder + "/stderr", errors="replace").read()[-500:])
            try:
                if self.ask("SELECT 1") == "1\n":
                    return
            except (OSError, urllib.error.URLError):
                time.sleep(0.05)  # sleeps: between two looks
        raise RuntimeError("clickhouse-server did not answer in time")

    def ask(self, sql, database="default"):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/?database={database}", data=sql.encode(), timeout=120) as answer:
            return answer.read().decode()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
