"""Parts on a real Kubernetes control plane: pods are killed, evicted or left behind, and nothing stays there."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.plan.spec import load_profile
from harness.report.files import stored_summary
from harness.run.directory import RunDirectory
from harness.run.parts.kubernetes import manifest
from tests.support.kubernetes import NODES, cluster
from tests.support.off_host import ALIAS, element, jmx, request, text
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JAVA, wait_for
from tests.support.shop_runs import make_home

pytestmark = pytest.mark.counterpart

ROWS = 400
SPACE, USER = "perf", "load-tester"
PROFILE = """\
format_version = 1
allowed_targets = ["http://{alias}"]
[generator]
heap_mb = 128
[kubernetes]
image = "{image}"
cpu = "100m"
memory = "256Mi"
"""


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.got.append(self.path.lstrip("/"))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory):
    """The control plane with a namespace; a user has the rights of docs/kubernetes/parts.yaml in it."""
    with cluster(tmp_path_factory.mktemp("kubernetes")) as one:
        one.kubectl("create", "namespace", SPACE)
        one.kubectl("apply", f"--namespace={SPACE}", "--filename", ROOT / "docs" / "kubernetes" / "parts.yaml")
        binding = ("create", "rolebinding", "parts", "--role=load-test-parts", f"--user={USER}")
        one.kubectl(*binding, f"--namespace={SPACE}")
        role = ("create", "role", "no-exec", "--resource=jobs,pods", "--verb=create,get,list,watch,delete")
        one.kubectl(*role, f"--namespace={SPACE}")
        one.kubectl("create", "rolebinding", "few", "--role=no-exec", "--user=no-exec", f"--namespace={SPACE}")
        yield one


@pytest.fixture(scope="module")
def shop():
    """A server at an address that is not this machine's loopback by our rules, which pods could not reach."""
    subprocess.run(["ip", "address", "add", f"{ALIAS}/32", "dev", "lo"], check=False, capture_output=True)
    server = ThreadingHTTPServer((ALIAS, 0), Shop)
    server.got = []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    subprocess.run(["ip", "address", "del", f"{ALIAS}/32", "dev", "lo"], check=False, capture_output=True)


class Runs:
    """Runs of the shop on Kubernetes, as the user with few rights."""

    def __init__(self, kubernetes, shop, folder):
        self.kubernetes, self.shop, self.folder = kubernetes, shop, folder
        self.config, self.out = kubernetes.as_user(USER), folder / "out.txt"
        shop.got.clear()
        rows = element(
            "CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "row"), text("recycle", "false"),
            text("stopThread", "true"), text("shareMode", "shareMode.all"),
        )  # fmt: skip
        pause = element("ConstantTimer", "Pause", text("ConstantTimer.delay", "${__P(pause_ms,20)}"))
        plan = jmx(request(path="/${row}", name="${row}", below=pause), beside=rows)
        make_home(folder, plan, profile=PROFILE.format(alias=f"{ALIAS}:{shop.server_address[1]}", image="load-test"))
        (folder / "plans" / "rows.csv").write_text("".join(f"r{number}\n" for number in range(ROWS)))

    def start(self, on, *arguments):
        command = [
            sys.executable, ROOT / "harness" / "__main__.py", "run", "shop", f"--on=k8s:{on}", f"--home={self.folder}",
            f"--target=http://{ALIAS}:{self.shop.server_address[1]}", f"--reports={self.folder / 'reports'}",
            "--users=8", "--compare=0", *arguments,
        ]  # fmt: skip
        environment = {**os.environ, **QUICK_JAVA, "KUBECONFIG": str(self.config)}
        with self.out.open("w") as out:
            return subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=self.folder)

    def to_the_end(self, on, *arguments):
        code = self.start(on, *arguments).wait(timeout=580)
        return code, self.out.read_text()

    def runs(self):
        return [
            RunDirectory(path) for path in sorted((self.folder / "reports" / "shop").glob("run-*")) if path.is_dir()
        ]

    def pods(self):
        return self.kubernetes.items("pods", SPACE)

    def is_empty(self):
        left = self.kubernetes.items("jobs,pods,configmaps,secrets", SPACE)
        return {one["metadata"]["name"] for one in left} <= {"kube-root-ca.crt"}  # each namespace has it


@pytest.fixture
def runs(kubernetes, shop, tmp_path):
    one = Runs(kubernetes, shop, tmp_path)
    yield one
    wait_for(one.is_empty, 60.0)


def rows_of(directory):
    return [line for path in directory.all_samples for line in path.read_text().splitlines()[1:]]


def test_eight_pods_on_two_nodes_are_one_run_with_each_row_once(runs):
    code, out = runs.to_the_end(f"{SPACE}/8", "--duration=120")
    assert code == 0, out
    (directory,) = runs.runs()
    run = directory.read_run()
    assert Counter(runs.shop.got) == {f"r{number}": 1 for number in range(ROWS)}
    assert len(rows_of(directory)) == ROWS
    assert [one.name for one in run.generators] == [f"k8s-{number}" for number in range(1, 9)]
    job = run.generators[0].pod.rsplit("-", 2)[0]
    assert all(re.fullmatch(rf"{job}-{index}-\w{{5}}", one.pod) for index, one in enumerate(run.generators))
    assert f"Job {job} in {SPACE}: 8 pods, 4 on {NODES[0]}, 4 on {NODES[1]}" in out
    assert "sending tool" not in out  # their image has it
    assert run.stop_reasons == ()
    assert runs.is_empty()  # at once, not after some time


def killed(runs, pod):
    """Kill the first process of its container, as the kernel does when its memory is full."""
    (script,) = {*runs.kubernetes.config.parent.glob(f"node*/{pod}/enter")}
    os.kill(int(re.search(r"--target (\d+)", script.read_text())[1]), signal.SIGKILL)


def evicted(runs, pod):
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": SPACE}}
    path = f"/api/v1/namespaces/{SPACE}/pods/{pod}/eviction"
    runs.kubernetes.kubectl("create", f"--raw={path}", "--filename=-", given=json.dumps(eviction))


@pytest.mark.parametrize(("end", "reason"), [(killed, "Error: exit code "), (evicted, "EvictionByEvictionAPI")])
def test_a_pod_that_ends_is_named_and_the_run_is_invalid_with_the_rows_of_the_others(runs, end, reason):
    process = runs.start(f"{SPACE}/3", "--duration=300", "--properties=pause_ms=600")
    wait_for(lambda: len(runs.shop.got) > 20, 400.0)
    pod = sorted(one["metadata"]["name"] for one in runs.pods())[1]
    end(runs, pod)
    code, out = process.wait(timeout=400), runs.out.read_text()
    assert code == 3, out
    (directory,) = runs.runs()
    (lost,) = directory.read_run().stop_reasons
    assert lost.startswith(f"part k8s-2 was lost: pod {pod} on node") and reason in lost
    assert stored_summary(directory).verdict.state == "INVALID"
    assert all(len(path.read_text().splitlines()) > 2 for path in directory.all_samples)
    assert len(directory.all_samples) == 3


def test_a_launcher_that_was_killed_and_started_again_fetches_the_run_and_leaves_nothing(runs):
    arguments = (f"{SPACE}/2", "--duration=60", "--properties=pause_ms=300")
    process = runs.start(*arguments)
    wait_for(lambda: len(runs.shop.got) > 20, 400.0)
    process.kill()
    process.wait()
    left = {one["metadata"]["name"] for one in runs.pods()}
    served = 0
    while served != len(runs.shop.got):  # without the launcher the load ends by itself
        served = len(runs.shop.got)
        time.sleep(8.0)
    code, out = runs.to_the_end(*arguments)
    assert code == 0, out
    former, new = runs.runs()
    run = former.read_run()
    assert f"{run.id}: its launcher was killed; fetching what its parts have" in out
    assert {one.pod for one in run.generators} == left
    assert run.interrupted
    assert len(rows_of(former)) == served
    assert not left & {one.pod for one in new.read_run().generators}


def test_pods_without_a_launcher_end_by_themselves_and_their_job_is_removed(runs):
    job = manifest("left", 2, load_profile(runs.folder / "env", "local"), 60.0, keep_s=5)
    runs.kubernetes.kubectl("create", f"--namespace={SPACE}", "--filename=-", given=json.dumps(job))
    wait_for(lambda: runs.kubernetes.items("jobs", SPACE)[0]["status"].get("succeeded") == 2, 60.0)
    wait_for(runs.is_empty, 120.0)


@pytest.mark.parametrize(
    ("user", "on", "image", "message"),
    [
        (USER, "nowhere/2", "load-test", 'jobs.batch is forbidden: User "load-tester" cannot create resource "jobs"'),
        (USER, f"{SPACE}/2", "missing", "ErrImagePull missing not found"),
        ("no-exec", f"{SPACE}/2", "load-test", 'User "no-exec" cannot'),
    ],
)
def test_what_cannot_run_is_one_line_before_any_load(runs, user, on, image, message):
    runs.config = runs.kubernetes.as_user(user)
    profile = runs.folder / "env" / "local.toml"
    profile.write_text(profile.read_text().replace('image = "load-test"', f'image = "{image}"'))
    code, out = runs.to_the_end(on)
    *before, problem = out.splitlines()
    assert (code, [line for line in before if not line.startswith("Job load-test-")]) == (2, []), out
    assert message in problem
    assert runs.shop.got == []


def test_a_namespace_that_does_not_exist_is_named(runs):
    runs.config = runs.kubernetes.config
    code, out = runs.to_the_end("nowhere/2")
    assert (code, len(out.splitlines())) == (2, 1), out
    assert 'namespaces "nowhere" not found' in out
