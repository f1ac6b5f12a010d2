"""What is seen from outside of a process and its programs: real sockets, in a network namespace of the test's own."""

import re
from collections import Counter
from pathlib import Path

import pytest

from harness.base.install import toolchain
from harness.run.jmeter.connections import agent_argument
from harness.run.network.watch import pause_s
from tests.support.java_program import java_command
from tests.support.network_namespace import in_namespace

pytestmark = pytest.mark.real

# Watches the program of argv[3], which prints "ready" when its sockets are open and ends when its input ends;
# prints what was found. argv[1] is the way: "refuse" or "list"; argv[2] the allowed addresses.
WATCH = """
import os, socket, subprocess, sys, tempfile, time
from pathlib import Path
from harness.run.network import watch
from harness.run.network.kernel_guard import group_path
way, allowed, code = sys.argv[1:4]
folder = Path(tempfile.mkdtemp())
group = group_path(f"lth-test-{folder.name}") if way == "refuse" else None
watched = watch.Watch(folder / "list.txt", allowed.split(), group)
time.sleep(float(sys.argv[4]) if len(sys.argv) > 4 else 0)
process = subprocess.Popen(
    [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    env={**os.environ, watch.RUN_VARIABLE: folder.name}, preexec_fn=watched.before,
)
watched.begin(process.pid)
for line in process.stdout:
    if line == "ready\\n":
        break
    print(line, end="")
if way == "list":
    # Lists are made until all that is open was seen often enough; nothing is open that is never seen.
    until_s = time.monotonic() + 1.5
    while time.monotonic() < until_s:
        time.sleep(0.05)
process.stdin.close()
process.wait()
watched.end()
print(*sorted((folder / watch.OUTSIDE_NAME).read_text().splitlines()), sep="\\n")
if group:
    assert not group.exists(), "the cgroup is left"
"""
HEAD = """
import os, socket, subprocess, sys
T, U, F, S = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_INET, socket.AF_INET6
kept = []
def server(address, family=F):
    one = socket.socket(family)
    one.bind((address, 0)); one.listen(100)
    kept.append(one)
    return one.getsockname()[1]
def connect(address, port, kind=T, family=F, blocking=True):
    one = socket.socket(family, kind)
    one.setblocking(blocking)
    kept.append(one)
    try:
        one.connect((address, port))
        return "connected"
    except BlockingIOError:
        return "waits"
    except OSError as error:
        return error.strerror
def send(address, port, family=F):
    with socket.socket(family, U) as one:
        try:
            one.sendto(b"x", (address, port))
            return "sent"
        except OSError as error:
            return error.strerror
"""
READY = """
print("ready", flush=True)
sys.stdin.read()
"""


def found(way: str, allowed: str, code: str, hosts: Path | None = None, *more: str) -> list[str]:
    """Return what the program printed, and the list without its line about how it was watched."""
    return [
        line
        for line in in_namespace(WATCH, way, allowed, HEAD + code + READY, *more, hosts=hosts)
        if line and not line.startswith("other addresses: ")
    ]


def test_the_kernel_refuses_each_address_that_is_not_allowed_and_counts_each_attempt():
    code = """
port = server("10.99.0.1")
print([connect("10.99.0.1", port) for _ in range(50)].count("Operation not permitted"))
print(connect("fd00::7", server("fd00::7", S), family=S), connect("::ffff:10.99.0.1", port, family=S))
print(send("10.99.0.1", 99), send("fd00::7", 99, S), connect("10.99.0.1", 99, U), send("255.255.255.255", 9))
print(connect("10.99.0.2", 81), connect("10.99.0.2", 82), connect("10.99.0.3", 83))
print(send("10.99.0.2", 81), send("10.99.0.2", 82))
for address in ("10.99.0.1", "10.99.0.2"):
    with socket.socket(F, socket.SOCK_RAW, socket.IPPROTO_ICMP) as ping:
        try:
            ping.sendto(bytes([8, 0, 247, 255, 0, 0, 0, 0]), (address, 0))
            print("pinged")
        except OSError as error:
            print(error.strerror)
"""
    lines = found("refuse", "10.99.0.2:81 10.99.0.3:0", code)
    no = "Operation not permitted"
    assert lines[:3] == ["50", f"{no} {no}", f"{no} {no} connected Network is unreachable"]
    assert lines[3:5] == [f"Connection refused {no} Connection refused", f"sent {no}"]
    assert lines[5:7] == [no, "pinged"]
    listed = [line.partition(" (")[0] for line in lines[7:]]
    places = Counter(re.sub(r":\d{4,}$", ":server", place) for place in listed)
    once = (
        "10.99.0.1 ping",
        "10.99.0.1:99 udp",
        "10.99.0.2:82",
        "10.99.0.2:82 udp",
        "[fd00::7]:99 udp",
        "[fd00::7]:server",
    )
    assert places == {"10.99.0.1:server": 51, **dict.fromkeys(once, 1)}
    assert all(line.endswith("(JMeter)") for line in lines[7:])


# What is no traffic to another machine: this machine in all spellings, and what only looks like a connection.
HARMLESS = """
for host in ("127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"):
    family = S if ":" in host else F
    connect(host, server(host, family), family=family)
    connect(host, 9, U, family)
    send(host, 9, family)
elsewhere = server("10.99.0.1")
outside = socket.socket(F, U)
outside.bind(("10.99.0.1", 0))
socket.socket(F, U).connect(("127.0.0.1", 9))
connect("10.99.0.2", server("10.99.0.2"))
socket.getaddrinfo("far.test", 80)
print("done")
"""


@pytest.mark.parametrize("way", ["refuse", "list"])
def test_nothing_of_this_machine_is_called_foreign(tmp_path, way):
    hosts = tmp_path / "hosts"
    # Looking up a name with several addresses connects a datagram socket to each of them, and sends nothing.
    hosts.write_text("127.0.0.1 localhost\n10.99.0.1 far.test\n10.99.0.3 far.test\nfd00::7 far.test\n")
    assert found(way, "10.99.0.2:0", HARMLESS, hosts) == ["done"]


LASTING = '''
port = server("10.99.0.3")
subprocess.Popen(["sleep", "0"])
child = """
import os, socket, sys, time
one = socket.create_connection(("10.99.0.3", int(sys.argv[1])))
open(sys.argv[2], "w").close()
time.sleep(2.5)
"""
daemon = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", sys.argv[3], *sys.argv[1:3]], {})
    os._exit(0)
"""
import tempfile, time
folder = tempfile.mkdtemp()
subprocess.Popen([sys.executable, "-c", child, str(port), folder + "/a"])
subprocess.Popen([sys.executable, "-c", daemon, str(port), folder + "/b", child]).wait()
while len(os.listdir(folder)) < 2:
    time.sleep(0.01)
full = socket.create_server(("10.99.0.3", 0), backlog=0)
print([connect(*full.getsockname(), blocking=False) for _ in range(4)].count("waits"))
print(connect("fd00::7", server("fd00::7", S), family=S))
print(connect("::ffff:10.99.0.1", server("10.99.0.1"), family=S), connect("10.99.0.1", 53, U))
print(connect("10.99.0.2", server("10.99.0.2")))
'''


def test_lists_of_sockets_name_what_lasts_with_its_program():
    lines = found("list", "10.99.0.2:0", LASTING)
    assert lines[:4] == ["4", "connected", "connected connected", "connected"]
    places = sorted(line.replace(":", " ").split(" ")[1] for line in lines[4:] if "[" not in line)
    assert places == ["10.99.0.1"] * 2 + ["10.99.0.3"] * 6  # four of these are not accepted, some not even answered
    assert sum("made [fd00::7]:" in line for line in lines) == 1
    assert "made 10.99.0.1:53 udp (JMeter)" in lines
    assert sum(line.startswith("made 10.99.0.3:") and line.endswith("(python)") for line in lines) == 2


def test_connections_of_other_programs_are_not_those_of_the_run():
    code = "print('done')"
    other = (
        """
import socket
server = socket.create_server(("10.99.0.1", 0))
mine = socket.create_connection(server.getsockname())
"""
        + WATCH
    )
    lines = in_namespace(other, "list", "10.99.0.2:0", HEAD + code + READY)
    assert [line for line in lines if "made" in line] == []


def test_all_addresses_of_an_allowed_name_are_allowed_and_no_other(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n10.99.0.1 shop.test\n10.99.0.2 shop.test\nfd00::7 shop.test\n")
    code = """
for host, family in (("10.99.0.1", F), ("10.99.0.2", F), ("fd00::7", S), ("10.99.0.3", F)):
    print(connect(host, server(host, family), family=family))
"""
    lines = found("refuse", "shop.test:0", code, hosts, "0.5")
    assert lines[:4] == ["connected"] * 3 + ["Operation not permitted"]
    (listed,) = lines[4:]
    assert listed.startswith("10.99.0.3:")


def test_a_new_address_of_an_allowed_name_makes_no_run_invalid(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("10.99.0.1 shop.test\n")
    code = f"""
import time
port = server("10.99.0.2")
open({str(hosts)!r}, "w").write("10.99.0.2 shop.test\\n")
until_s = time.monotonic() + 5
print(connect("10.99.0.2", port))
while connect("10.99.0.2", port) != "connected" and time.monotonic() < until_s:
    time.sleep(0.02)
print(connect("10.99.0.2", port))
"""
    assert found("refuse", "shop.test:0", code, hosts, "0.5") == ["Operation not permitted", "connected"]


JAVA = """
import java.net.*;
public class Connects {
    public static void main(String[] arguments) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 10, InetAddress.getByName("10.99.0.3"))) {
            for (int number = 0; number < 3; number++) {
                new Socket("shop.test", server.getLocalPort());
                System.out.println("connected");
            }
            try { new Socket("10.99.0.1", server.getLocalPort()); }
            catch (ConnectException error) { System.out.println(error.getMessage().substring(0, 24)); }
        }
        System.out.println("ready");
        System.in.read();
    }
}
"""


def test_java_reaches_each_address_that_it_resolves_an_allowed_name_to(tmp_path):
    """A balancer gives Java another address than the harness; the first connection waits until it is allowed."""
    hosts, of_java = tmp_path / "hosts", tmp_path / "hosts of java"
    hosts.write_text("10.99.0.2 shop.test\n")
    of_java.write_text("10.99.0.3 shop.test\nfd00::7 shop.test\n")
    agent = agent_argument(toolchain.ensure_agent(), Path("LIST"), ("shop.test:0",))
    command = java_command("Connects", JAVA, f"-Djdk.net.hosts.file={of_java}", agent)
    code = f"""
folder = os.path.join(tempfile.gettempdir(), os.environ["HARNESS_LOAD"])
command = [word.replace("LIST", folder + "/list.txt") for word in {command!r}]
os.execvp(command[0], command)
"""
    lines = found("refuse", "shop.test:0", "import tempfile\n" + code, hosts)
    assert lines == ["connected"] * 3 + ["refused by the load test"]


@pytest.mark.parametrize("look_s", [0.0005, 0.02, 0.3, 2.0])
def test_lists_of_sockets_take_one_percent_of_a_core_however_long_each_takes(look_s):
    now_s = spent_s = 0.0
    for _ in range(1000):
        spent_s += look_s
        now_s += look_s + pause_s(spent_s, now_s + look_s)
        assert spent_s <= 0.01 * now_s + 0.05


# Both ends of many connections, and what another program opens and closes all the time.
MANY = """
import threading
port = server("10.99.0.2")
def accept():
    while True:
        kept.append(kept[0].accept())
threading.Thread(target=accept, daemon=True).start()
print({connect("10.99.0.2", port) for _ in range(1000)})
"""
COST = """
def seconds(until_s):
    own_s = 0
    with socket.create_server(("10.99.0.1", 0)) as server:
        while time.monotonic() < until_s:
            before_s = time.thread_time()
            mine = socket.create_connection(server.getsockname())
            own_s += time.thread_time() - before_s
            time.sleep(0.2)
            mine.close()
    return own_s
seconds(time.monotonic() + 3)
before_s, began_s = time.process_time(), time.monotonic()
own_s = seconds(began_s + 8)
print((time.process_time() - before_s - own_s) / (time.monotonic() - began_s))
process.stdin.close()
"""


@pytest.mark.parametrize("way", ["refuse", "list"])
@pytest.mark.counterpart
def test_watching_many_connections_takes_one_percent_of_a_core(way):
    begun, _, rest = WATCH.partition('if way == "list":')
    measured = begun + COST + rest.partition("process.stdin.close()\n")[2]
    connected, cpu_ratio, *made = in_namespace(measured, way, "10.99.0.2:0", HEAD + MANY + READY)
    assert connected == "{'connected'}"
    assert 0 < float(cpu_ratio) < 0.01
    assert [line for line in made if not line.startswith("other addresses: ")] == []
