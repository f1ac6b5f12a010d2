"""A node for tests: runs the pods that a real scheduler binds to it as processes, each in a PID namespace.

kubernetes_node.py KUBECONFIG NAME FOLDER EXEC. It is not a kubelet: images, networks, probes and limits are ignored,
but for an image that is called missing. A path that begins with a mountPath is a folder below FOLDER/POD, the working
folder is that of this program, and EXEC serves `kubectl exec`.
"""

import contextlib
import json
import os
import shlex
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

CONFIG, NAME, FOLDER = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], Path(sys.argv[3])
SERVER, TOKEN = CONFIG["clusters"][0]["cluster"]["server"], CONFIG["users"][0]["user"]["token"]
TLS = ssl._create_unverified_context()
PATCH = "application/merge-patch+json"


def call(method, path, body=None, kind="application/json"):
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    request = urllib.request.Request(SERVER + path, data, headers, method=method)
    with urllib.request.urlopen(request, context=TLS, timeout=30) as answer:
        return json.load(answer)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def register(port):
    """Keep the node ready."""
    labels = {"kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux"}
    call("POST", "/api/v1/nodes", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": NAME, "labels": labels}})
    capacity = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "20Gi"}
    while True:
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": now(),
                 "lastTransitionTime": now()}  # fmt: skip
        status = {
            "capacity": capacity, "allocatable": capacity, "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }  # fmt: skip
        try:
            call("PATCH", f"/api/v1/nodes/{NAME}/status", {"status": status}, PATCH)
        except OSError as error:
            print("node status:", error, flush=True)
        time.sleep(10)


class Pod:
    """A pod that runs here."""

    def __init__(self, item):
        meta = item["metadata"]
        self.container = item["spec"]["containers"][0]
        self.item, self.path = item, f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.folder = FOLDER / meta["name"]
        self.first = 0
        self.is_stopped = False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        if self.container["image"] == "missing":
            self.report("Pending", {"waiting": {"reason": "ErrImagePull", "message": "not found"}})
            return
        own = {}
        for mount in self.container["volumeMounts"]:
            there = self.folder / "volumes" / mount["name"]
            there.mkdir(parents=True)
            for one in self.container["env"]:
                if one.get("value", "").startswith(mount["mountPath"]):
                    own[one["name"]] = str(there) + one["value"].removeprefix(mount["mountPath"])
        ended_with_us = ("setpriv", "--pdeathsig", "KILL")
        alone = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*ended_with_us, *alone, *self.container["command"]],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **own},
            )  # fmt: skip
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (text := children.read_text().strip()):
            time.sleep(0.01)
        self.first = int(text.split()[0])
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in own.items())
        enter = f'exec nsenter --target {self.first} --pid --mount --wd="$PWD" env {variables} "$@"'
        (self.folder / "enter").write_text(f"#!/bin/sh\n{enter}\n")
        (self.folder / "enter").chmod(0o755)
        self.report("Running", {"running": {"startedAt": now()}})
        code = process.wait()
        code = 128 - code if code < 0 else code
        end = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": now()}
        self.report("Failed" if code else "Succeeded", {"terminated": end})

    def report(self, phase, state):
        is_ready = str(phase == "Running")
        container = {
            "name": self.container["name"], "image": self.container["image"], "imageID": "", "state": state,
            "ready": phase == "Running", "started": phase == "Running", "restartCount": 0,
        }  # fmt: skip
        kept = [
            one for one in call("GET", self.path)["status"].get("conditions", []) if one["type"] == "DisruptionTarget"
        ]
        conditions = (
            ("PodScheduled", "True"),
            ("Initialized", "True"),
            ("ContainersReady", is_ready),
            ("Ready", is_ready),
        )
        new = [{"type": kind, "status": status, "lastTransitionTime": now()} for kind, status in conditions]
        status = {"phase": phase, "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}], "hostIP": "127.0.0.1",
                  "conditions": kept + new, "containerStatuses": [container]}  # fmt: skip
        try:
            call("PATCH", self.path + "/status", {"status": status}, PATCH)
        except urllib.error.HTTPError as error:
            print(self.path, error, error.read()[:300], flush=True)

    def stop(self, grace_s):
        """Do what a kubelet does with a pod that was deleted: TERM, after its grace period KILL, then it is gone."""
        if not self.is_stopped:
            self.is_stopped = True
            threading.Thread(target=self.end, args=(grace_s,), daemon=True).start()

    def end(self, grace_s):
        until_s = time.monotonic() + grace_s
        number = signal.SIGTERM
        while self.first and Path(f"/proc/{self.first}").exists():
            os.kill(self.first, number)
            time.sleep(0.5)
            number = signal.SIGKILL if time.monotonic() > until_s else number
        time.sleep(1)  # the state of its container is reported first
        with contextlib.suppress(urllib.error.HTTPError):
            call("DELETE", self.path, {"gracePeriodSeconds": 0})


serving = subprocess.Popen([sys.argv[4], FOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
threading.Thread(target=register, args=(int(serving.stdout.readline()),), daemon=True).start()
pods = {}
while True:
    try:
        items = call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NAME}")["items"]
    except OSError as error:
        print("list:", error, flush=True)
        time.sleep(1)
        continue
    for item in items:
        uid, meta = item["metadata"]["uid"], item["metadata"]
        if meta.get("deletionTimestamp") and uid in pods:
            pods[uid].stop(meta["deletionGracePeriodSeconds"])
        elif uid not in pods and item["status"].get("phase") == "Pending":
            pods[uid] = Pod(item)
    time.sleep(0.5)
