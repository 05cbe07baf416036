# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of debuginfod's protocol with manners: debuginfod_server.py FOLDER LOG. Its port is printed. /MANNER/buildid/ID/KIND is
answered by good (FOLDER/ID.KIND or 404), other (a file of another build-id), rubbish, flood (without an end) or silent. LOG has a
line a request."""
import http.server, os, sys, time

folder, log = sys.argv[1:]


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        _, manner, _, build_id, kind = (self.path + "////").split("/")[:5]
        with open(log, "a") as out:
            print(manner, build_id, kind, file=out)
        if manner == "silent":
            time.sleep(600)  # sleeps: it never answers
        path = f"{folder}/{build_id}.{kind}" if manner == "good" else "/bin/true"
        if not os.path.exists(path):
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.end_headers()
        try:
            if manner in ("good", "other"):
                self.wfile.write(open(path, "rb").read())
            elif manner == "rubbish":
                self.wfile.write(b"\x7fELF" + os.urandom(1 << 20))
            while manner == "flood":
                self.wfile.write(bytes(1 << 20))
        except OSError:
            pass

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
print(server.server_port, flush=True)
server.serve_forever()
