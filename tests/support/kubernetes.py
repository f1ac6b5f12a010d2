"""A real Kubernetes control plane on this machine, with two nodes that run pods as processes; loopback only.

HARNESS_KUBERNETES names a folder with bin/ (etcd, kube-apiserver, kube-controller-manager, kube-scheduler) and src/,
the Go module that built the last three: it builds the nodes' `kubectl exec`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.processes import wait_for

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODES = ("node1", "node2")
HERE = Path(__file__).parent


class Cluster:
    """A control plane; `config` is a kubeconfig of its administrator."""

    def __init__(self, config: Path) -> None:
        self.config = config

    def as_user(self, user: str) -> Path:
        """Return a kubeconfig of a user who has only the rights that were given."""
        config = json.loads(self.config.read_text())
        config["users"][0]["user"]["as"] = user
        path = self.config.with_name(f"{user}.json")
        path.write_text(json.dumps(config))
        return path

    def kubectl(self, *words: str | Path, given: str = "", is_checked: bool = True) -> str:
        """Return what kubectl prints."""
        command = ["kubectl", f"--kubeconfig={self.config}", *words]
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
        assert not (is_checked and done.returncode), done.stderr
        return done.stdout

    def items(self, kinds: str, namespace: str) -> list[dict]:
        """Return the objects of some kinds in a namespace."""
        return json.loads(self.kubectl("get", kinds, f"--namespace={namespace}", "--output=json"))["items"]


def programs() -> dict[str, str]:
    """Return the paths of the programs; without them the test is skipped, or fails where HARNESS_KUBERNETES is set."""
    named = os.environ.get("HARNESS_KUBERNETES")
    path = f"{named}/bin:{os.environ['PATH']}" if named else None
    found = {
        name: shutil.which(name, path=path)
        for name in (*PROGRAMS, "kubectl", "unshare", "nsenter", "setpriv", "openssl")
    }
    lacks = [name for name, there in found.items() if not there]
    what = f"NOT CHECKED, Kubernetes is not on this machine ({', '.join(lacks) or 'HARNESS_KUBERNETES'} is missing)"
    if not named or lacks:
        (pytest.fail if named else pytest.skip)(f"{what}; HARNESS_KUBERNETES names the folder of its programs")
    server, source = Path(str(named)) / "bin" / "kubernetes_exec", HERE / "kubernetes_exec.go"
    if not server.exists() or server.stat().st_mtime < source.stat().st_mtime:
        package = server.parents[1] / "src" / "exec"
        package.mkdir(exist_ok=True)
        shutil.copy(source, package / "main.go")
        subprocess.run(["go", "build", "-o", server, "./exec"], cwd=package.parent, check=True)
    return {**found, "exec": str(server)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start the control plane and its nodes; yield it when the nodes are ready, and end all of it."""
    found = programs()
    if os.getuid():
        pytest.skip("NOT CHECKED: PID namespaces of pods need root")
    store, peer, port, token = free_port(), free_port(), free_port(), secrets.token_hex(16)
    server = f"https://127.0.0.1:{port}"
    config = folder / "admin.json"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
    }))  # fmt: skip
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    subprocess.run(["openssl", "genrsa", "-out", folder / "key.pem", "2048"], check=True, capture_output=True)
    one = Cluster(config)
    with contextlib.ExitStack() as stack:

        def start(name: str, *words: str | Path) -> None:
            log = stack.enter_context((folder / f"{name}.log").open("wb"))
            process = stack.enter_context(subprocess.Popen([*map(str, words)], stdout=log, stderr=log, cwd=ROOT))
            stack.callback(process.kill)

        url = f"http://127.0.0.1:{store}"
        own = (f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}", f"--listen-peer-urls=http://127.0.0.1:{peer}")
        start(
            "etcd", found["etcd"], f"--data-dir={folder}/etcd", f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}", *own, f"--initial-cluster=default=http://127.0.0.1:{peer}",
        )  # fmt: skip
        start(
            "apiserver", found["kube-apiserver"], f"--etcd-servers={url}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={folder}/certs",
            "--service-cluster-ip-range=10.96.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder}/key.pem", f"--service-account-signing-key-file={folder}/key.pem",
            f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
        )  # fmt: skip
        wait_for(lambda: one.kubectl("get", "--raw=/readyz", is_checked=False) == "ok", 180.0)
        for name in ("kube-controller-manager", "kube-scheduler"):
            keys = [f"--service-account-private-key-file={folder}/key.pem"] if "manager" in name else []
            ports = f"--secure-port={free_port()}"
            start(
                name,
                found[name],
                f"--kubeconfig={config}",
                "--bind-address=127.0.0.1",
                "--leader-elect=false",
                ports,
                *keys,
            )
        for name in NODES:
            (folder / name).mkdir()
            start(name, sys.executable, HERE / "kubernetes_node.py", config, name, folder / name, found["exec"])
        wait_for(lambda: one.kubectl("get", "nodes").count(" Ready") == len(NODES), 120.0)
        yield one
