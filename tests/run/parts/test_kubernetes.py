"""What ended a pod, or keeps it from running, is reported as Kubernetes reports it."""

from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.plan.spec import load_profile
from harness.run.parts import kubernetes
from harness.run.parts.launchers import parse_places
from tests.support.paths import ROOT

IMAGE = "registry.example.org/load-test:1"
PROFILE = load_profile(ROOT / "env", "local")


def state(**of_container):
    return {"containerStatuses": [{"state": of_container}]}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"phase": "Running"}, ""),
        ({"phase": "Pending"}, ""),
        (
            {"phase": "Pending", **state(waiting={"reason": "ImagePullBackOff", "message": "no such tag"})},
            f"ImagePullBackOff {IMAGE} no such tag",
        ),
        ({"phase": "Failed", **state(terminated={"reason": "OOMKilled", "exitCode": 137})}, "OOMKilled: exit code 137"),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted: low on memory"),
    ],
)
def test_why_a_pod_does_not_run(status, text):
    pod = {"metadata": {}, "spec": {"containers": [{"image": IMAGE}]}, "status": status}
    assert kubernetes._why_not_running(pod, is_late=False) == text


def test_a_pod_that_no_node_can_take_is_late_with_the_reason_of_the_scheduler():
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes: Insufficient cpu"}
    pod = {"metadata": {}, "spec": {}, "status": {"phase": "Pending", "conditions": [unscheduled]}}
    assert kubernetes._why_not_running(pod, is_late=True) == "it does not run after 300 s: 0/2 nodes: Insufficient cpu"
    assert kubernetes._why_not_running(pod, is_late=False) == ""


@pytest.mark.parametrize(
    ("text", "named"), [("k8s:Perf/2", "Perf"), ("k8s:/2", "an empty text"), ("k8s:perf", "parts")]
)
def test_a_place_on_kubernetes_has_a_namespace_and_a_number_of_parts(text, named):
    with pytest.raises(UsageError, match=named):
        parse_places(text)
    assert [place.name for place in parse_places("k8s:perf/2")] == ["k8s-1", "k8s-2"]


def test_without_an_image_or_kubectl_there_is_one_line(monkeypatch):
    places = parse_places("k8s:perf/2")
    with pytest.raises(UsageError, match=r"env/local.toml has no \[kubernetes\] image"):
        kubernetes.new_pods(places, PROFILE, 60.0, print).__enter__()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="kubectl is not on PATH"):
        kubernetes.new_pods(places, replace(PROFILE, kubernetes={"image": IMAGE}), 60.0, print).__enter__()
