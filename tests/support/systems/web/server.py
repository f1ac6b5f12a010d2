"""A web server for the tests of the supervisor: `server.py PORT MODE` behaves well or badly as MODE says."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every GET with the server's own state."""

    def do_GET(self) -> None:
        body = f"state: {MODE}; cpus: {len(os.sched_getaffinity(0))}".encode()
        self.send_response(503 if MODE == "unhealthy" else 200)
        self.end_headers()
        while MODE == "drips":
            self.wfile.write(b" ")
            time.sleep(0.2)
        self.wfile.write(body)


PORT, MODE = int(sys.argv[1]), sys.argv[2]
print(f"mode is {MODE}", flush=True)
if MODE == "dies":
    print("cannot read the licence file", flush=True)
    sys.exit(3)
if MODE == "silent":
    print("waiting for a database that never comes", flush=True)
    time.sleep(600)
if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if MODE == "scattering":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
host = "0.0.0.0" if MODE == "exposed" else "127.0.0.1"
http.server.ThreadingHTTPServer((host, PORT), Handler).serve_forever()
