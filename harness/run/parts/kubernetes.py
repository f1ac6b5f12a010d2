"""Runs the machines of a run's parts on Kubernetes: the pods of an Indexed Job, which are reached by `kubectl exec`.

The plan, its data and its secrets are sent to the pods; nothing of them is stored in the cluster.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from harness.base import units
from harness.base.errors import UsageError
from harness.base.log import Log
from harness.base.secrecy import AWS_VARIABLES
from harness.plan.spec import Profile
from harness.run.parts.places import HERE, PYTHON_THERE, Place

# A pod without a launcher ends after this time: until then another launcher can fetch what it has.
KEEP_S = 600
# Then Kubernetes removes the Job.
_TTL_S = 60
# For a load that only loops or requests end.
_DAY_S = 86_400
_START_S = 300.0
_POLL_S = 1.0
_CALL_S = 30.0
_STATE_S = 6.0
_USER = 10001  # of our image
_CONTAINER = "part"
_LABELS = {"app": "load-test", "role": "part"}
# It ends by itself when no relay has touched the file for so long, and at once when it is asked to.
_WAIT = """\
trap 'exit 143' TERM; touch "$HOME/alive"
while [ $(($(date +%s) - $(stat -c %Y "$HOME/alive"))) -lt {keep_s} ]; do sleep 5 & wait $!; done"""
_RELAY = (
    '(while kill -0 $$; do touch "$HOME/alive"; sleep 5; done) </dev/null >/dev/null 2>&1 & '
    f'PATH="$PWD/.venv/bin:$PATH"; {PYTHON_THERE}'
)
# A pod that waits for one of these needs a person.
_BROKEN = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_BROKEN_SETUP = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff")
Pod = Mapping[str, Any]
# A pod of our Jobs: no other name becomes a word of a command that executes in pods, or deletes a Job.
_POD = re.compile(r"(load-test-[0-9a-f]{8})-\d{1,5}-[a-z0-9]{1,10}")


def manifest(name: str, count: int, profile: Profile, limit_s: float, keep_s: int = KEEP_S) -> dict[str, Any]:
    """Return the Job whose pods are the machines of `count` parts; no pod runs longer than `limit_s`."""
    given = profile.kubernetes
    resources = {"cpu": str(given.get("cpu", 2)), "memory": given.get("memory", "2Gi")}
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 10,
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"job-name": name}},
        }],
        "containers": [{
            "name": _CONTAINER,
            "image": given["image"],
            "command": ["sh", "-c", _WAIT.format(keep_s=keep_s)],
            "env": [{"name": variable, "value": "/tmp"} for variable in ("HOME", "TMPDIR")],
            "resources": {"requests": resources, "limits": resources},
            "securityContext": {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        }],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }  # fmt: skip
    stays = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": _LABELS},
        "spec": {
            "completions": count,
            "parallelism": count,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 0,  # without one part the others still have their rows
            "activeDeadlineSeconds": round(limit_s + _START_S + keep_s),
            "ttlSecondsAfterFinished": _TTL_S,
            "template": {
                "metadata": {"labels": _LABELS, "annotations": stays},
                "spec": {**pod, **given.get("pod", {})},
            },
        },
    }


@contextmanager
def new_pods(
    places: Sequence[Place], profile: Profile, duration_s: float | None, log: Log
) -> Iterator[tuple[Place, ...]]:
    """Yield the places with the pods of a new Job, which is deleted when the block ends; UsageError without them."""
    if not profile.kubernetes.get("image"):
        what = f"--on=k8s: env/{profile.name}.toml has no [kubernetes] image"
        raise UsageError(what, 'add it, such as image = "registry.example.org/load-test:1"; see lth help containers')
    namespace, name = places[0].namespace, f"load-test-{uuid.uuid4().hex[:8]}"
    job = manifest(name, len(places), profile, (duration_s or _DAY_S) + profile.overrun_s)
    _kubectl(namespace, "create", "--filename=-", given=json.dumps(job))
    try:
        pods = _running_pods(namespace, name, len(places))
        nodes = Counter(pod["spec"]["nodeName"] for pod in pods)
        on = ", ".join(f"{count} on {node}" for node, count in sorted(nodes.items()))
        log(f"Job {name} in {namespace}: {units.plural(len(pods), 'pod')}, {on}")
        yield tuple(_at(place, pod["metadata"]["name"]) for place, pod in zip(places, pods, strict=True))
    finally:
        _delete(namespace, name, log)


@contextmanager
def former_pods(places: Sequence[Place], names: Sequence[str], log: Log) -> Iterator[tuple[Place, ...]]:
    """Yield the places with the pods that another launcher left; their Job is deleted when the block ends.

    Instead of a pod that does not run any more there is this machine, which has nothing of a run.
    """
    namespace, jobs = places[0].namespace, {match[1] for name in names if (match := _POD.fullmatch(name))}
    if len(jobs) != 1 or not all(map(_POD.fullmatch, names)):
        raise UsageError(f"--on=k8s: {', '.join(names)}: no pods of a run", "see the pods in run.json of the last runs")
    (job,) = jobs
    running = {pod["metadata"]["name"] for pod in _pods(namespace, job) if _phase(pod) == "Running"}
    yield tuple(
        _at(place, name) if name in running else replace(place, argv=HERE, has_tool=True)
        for place, name in zip(places, names, strict=True)
    )
    _delete(namespace, job, log)


def _at(place: Place, pod: str) -> Place:
    words = ("kubectl", f"--namespace={place.namespace}", "exec", pod, f"--container={_CONTAINER}")
    return replace(
        place,
        argv=(*words, "--stdin", "--", "sh", "-c", _RELAY),
        by_hand=" ".join([*words, "--", "python3", "-V"]),
        environment={name: os.environ[name] for name in AWS_VARIABLES if name in os.environ},  # EKS needs them
        pod=pod,
        why_lost=partial(_why_lost, place.namespace, pod),
    )


def _kubectl(namespace: str, *words: str, given: str = "") -> str:
    """Return what kubectl prints; a UsageError has its reason."""
    if shutil.which("kubectl") is None:
        raise UsageError("--on=k8s: kubectl is not on PATH", "install it, and check it: kubectl get nodes")
    command = ["kubectl", f"--namespace={namespace}", f"--request-timeout={_CALL_S:.0f}s", *words]
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            timeout=2 * _CALL_S,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"--on=k8s: kubectl {words[0]} had no answer for {2 * _CALL_S:.0f} s") from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        todo = f"check kubectl --namespace={namespace} get pods; lth help containers names the rights that it needs"
        raise UsageError(f"--on=k8s: kubectl {words[0]}: {reason}", todo)
    return done.stdout


def _pods(namespace: str, job: str) -> list[Pod]:
    text = _kubectl(namespace, "get", "pods", f"--selector=job-name={job}", "--output=json")
    found: list[Pod] = json.loads(text)["items"]
    index = "batch.kubernetes.io/job-completion-index"
    return sorted(found, key=lambda pod: int(pod["metadata"]["annotations"][index]))


def _running_pods(namespace: str, job: str, count: int) -> list[Pod]:
    """Return the pods in the order of the parts as soon as all run; UsageError when one cannot, or does not in time."""
    until_s = time.monotonic() + _START_S
    while True:
        pods = _pods(namespace, job)
        waiting = [pod for pod in pods if _phase(pod) != "Running"]
        if len(pods) == count and not waiting:
            return pods
        for pod in waiting:
            if problem := _why_not_running(pod, is_late=time.monotonic() > until_s):
                raise UsageError(
                    f"--on=k8s: pod {pod['metadata']['name']}: {problem}", "see [kubernetes] of the profile"
                )
        if time.monotonic() > until_s:
            what = f"--on=k8s: after {_START_S:.0f} s there are {len(pods)} of {count} pods"
            raise UsageError(what, f"see whether a quota allows them: kubectl --namespace={namespace} get quota")
        time.sleep(_POLL_S)


def _phase(pod: Pod) -> str:
    """Return the phase of a pod; one that ends does not run."""
    phase: str = pod["status"].get("phase", "Pending")
    return "Ending" if pod["metadata"].get("deletionTimestamp") else phase


def _why_not_running(pod: Pod, *, is_late: bool) -> str:
    """Return why a pod will not run, "" while it may."""
    states = [one["state"] for one in pod["status"].get("containerStatuses", ())]
    for waiting in (state["waiting"] for state in states if "waiting" in state):
        if waiting.get("reason") in (*_BROKEN, *_BROKEN_SETUP):
            image = pod["spec"]["containers"][0]["image"] if waiting["reason"] in _BROKEN else ""
            return " ".join(filter(None, [waiting["reason"], image, waiting.get("message", "")]))
    if _phase(pod) in ("Failed", "Succeeded", "Ending"):
        return _end_of(pod)
    late = [one.get("message", "") for one in pod["status"].get("conditions", ()) if one["status"] == "False"]
    return f"it does not run after {_START_S:.0f} s: {', '.join(filter(None, late)) or _phase(pod)}" if is_late else ""


def _why_lost(namespace: str, name: str) -> str:
    """Return how a pod ended, "" while it runs; its state is known some seconds later than its connection ends."""
    until_s = time.monotonic() + _STATE_S
    while time.monotonic() < until_s:
        try:
            text = _kubectl(namespace, "get", "pod", name, "--ignore-not-found", "--output=json")
        except UsageError:
            return ""
        if not text:
            return f"pod {name} was deleted"
        pod = json.loads(text)
        if _phase(pod) != "Running":
            return f"pod {name} on {pod['spec'].get('nodeName')}: {_end_of(pod)}"
        time.sleep(_POLL_S)
    return ""


def _end_of(pod: Pod) -> str:
    """Return how a pod ended: why it had to, else the end of its container."""
    status = pod["status"]
    states = [one["state"] for one in status.get("containerStatuses", ())]
    found = [one for one in status.get("conditions", ()) if one["type"] == "DisruptionTarget"]
    found += [status, *([{"reason": "it was deleted"}] if _phase(pod) == "Ending" else [])]
    for one in (*found, *(state["terminated"] for state in states if "terminated" in state)):
        if reason := one.get("reason"):
            detail = one.get("message") or (f"exit code {one['exitCode']}" if "exitCode" in one else "")
            return f"{reason}: {detail}" if detail else str(reason)
    return f"it is {_phase(pod)}"


def _delete(namespace: str, job: str, log: Log) -> None:
    """Delete the Job with its pods; when that fails Kubernetes does it later."""
    words = ("delete", "job", job, "--ignore-not-found", "--cascade=foreground", f"--timeout={_CALL_S:.0f}s")
    try:
        _kubectl(namespace, *words)
    except UsageError as error:
        log(f"warning: Job {job} is left; it ends {KEEP_S / 60:.0f} minutes after its last launcher: {error.what}")
