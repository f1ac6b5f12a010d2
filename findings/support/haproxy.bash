# haproxy of Debian for the findings, and how Python starts it; source this file in a temporary folder.
apt-get -qq -o APT::Sandbox::User=root download haproxy
dpkg -x haproxy_*.deb .
usr/sbin/haproxy -v | sed -n 1p
cat >balancer.py <<'PY'
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def balancer(setting: str, *servers: int) -> Iterator[int]:
    """Run haproxy with a line of settings before servers at these ports of this machine; its value is its own port."""
    port = free_port()
    with open("haproxy.cfg", "w") as out:
        out.write(f"defaults\n mode http\n {setting}\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n")
        out.write(f"listen all\n bind 127.0.0.1:{port}\n")
        out.writelines(f" server s{index} 127.0.0.1:{server}\n" for index, server in enumerate(servers))
    process = subprocess.Popen(["usr/sbin/haproxy", "-db", "-f", "haproxy.cfg"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()
PY
