"""plans/killbill.jmx in a real JMeter against a KillBill that fails on demand."""

from __future__ import annotations

import csv
import itertools
import json
import os
import re
import subprocess
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.plan.load.model import OpenLoad
from harness.plan.plan import effective_jmx
from tests.support.local_server import serving
from tests.support.paths import ROOT, jmeter_home

pytestmark = pytest.mark.real

SHAPE = ROOT / "plans" / "killbill.jmx"
NO_ANSWER = 0
ONCE = ("Create Account", "Visit Account", "Stripe (Default) Payment Method")
LOOP = ("Authorize Payment", "Capture Payment", "Purchase Payment")


@dataclass
class Call:
    """One request as KillBill saw it."""

    step: str
    path: str
    body: str
    has_password: bool
    code: int
    made_id: str


@dataclass
class FakeKillBill:
    """KillBill's edge: it creates what is requested, unless `codes` has other answers for a step."""

    has_tenant: bool = True
    has_config: bool = True
    codes: dict[str, Iterator[int]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, step: str) -> list[Call]:
        """The calls of one step, in their order."""
        return [call for call in self.calls if call.step == step]

    def keys(self) -> list[str]:
        """Every external key that was sent."""
        return re.findall(r'"(?:transactionE|e)xternalKey":"([^"]*)"', "\n".join(call.body for call in self.calls))


class Handler(BaseHTTPRequestHandler):
    """Answers like KillBill 0.22: the Location of a payment ends in a slash, an unknown tenant is a 500."""

    protocol_version = "HTTP/1.1"
    killbill: ClassVar[FakeKillBill]
    steps: ClassVar = (
        ("threads", "GET", r"/1\.0/threads\?pretty=true", 200, ""),
        ("metrics", "GET", r"/1\.0/metrics\?pretty=true", 200, ""),
        ("find tenant", "GET", r"/1\.0/kb/tenants\?apiKey=bob", 200, ""),
        ("create tenant", "POST", r"/1\.0/kb/tenants", 201, "tenants/{}"),
        ("find config", "GET", r"/1\.0/kb/tenants/uploadPluginConfig/killbill-stripe", 200, ""),
        ("upload config", "POST", r"/1\.0/kb/tenants/uploadPluginConfig/killbill-stripe", 201, ""),
        ("account", "POST", r"/1\.0/kb/accounts", 201, "accounts/{}"),
        ("visit", "GET", r"/1\.0/kb/accounts/[0-9a-f-]{36}", 200, ""),
        ("method", "POST", r"/1\.0/kb/accounts/[0-9a-f-]{36}/paymentMethods\?.*", 201, "paymentMethods/{}"),
        ("payment", "POST", r"/1\.0/kb/accounts/[0-9a-f-]{36}/payments(\?.*)?", 201, "payments/{}/"),
        ("capture", "POST", r"/1\.0/kb/payments/[0-9a-f-]{36}", 201, "payments/{}/"),
    )

    def do_GET(self) -> None:
        """Answer a GET."""
        self.answer()

    def do_POST(self) -> None:
        """Answer a POST."""
        self.answer()

    def answer(self) -> None:
        """Find the step, note the call, and answer with the step's code or none at all."""
        killbill = self.killbill
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        matches = (step for step in self.steps if step[1] == self.command and re.fullmatch(step[2], self.path))
        name, _, _, code, location = next(matches, ("unknown", "", "", 404, ""))
        made_id = str(uuid.uuid4())
        with killbill.lock:
            if name == "payment":
                name = json.loads(body)["transactionType"].lower()
            if name == "find tenant" and not killbill.has_tenant:
                code = 500
            code = next(killbill.codes.get(name, iter(())), code)
            killbill.has_tenant |= name == "create tenant" and code == 201
            text = {"threads": '"main" id=1', "metrics": '{"gauges":{"threads.count":{"value":66}}}'}.get(name, "")
            if name == "find config":
                text = '{"key":"PLUGIN_CONFIG_killbill-stripe","values":[%s]}' % (
                    '"a=b"' if killbill.has_config else ""
                )
            killbill.calls.append(Call(name, self.path, body, "Authorization" in self.headers, code, made_id))
        if code == NO_ANSWER:
            self.close_connection = True
            return
        self.send_response(code)
        # A 202 carries a Location too, of a payment that must not be captured.
        if location and code in (201, 202):
            self.send_header("Location", f"http://127.0.0.1:{killbill.port}/1.0/kb/{location.format(made_id)}")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def killbill() -> Iterator[FakeKillBill]:
    """A KillBill that listens on a free port of 127.0.0.1."""
    fake = FakeKillBill()
    with serving(Handler, killbill=fake) as fake.port:
        yield fake


@dataclass
class Run:
    """What JMeter left behind."""

    samples: list[dict[str, str]]
    log: str
    folder: Path

    def labels(self, **columns: str) -> Counter[str]:
        """How often each label is in the samples of the load whose columns have these values."""
        return Counter(
            sample["label"]
            for sample in self.samples
            if sample["threadName"].startswith("Users ") and all(sample[key] == columns[key] for key in columns)
        )


Drive = Callable[..., Run]


@pytest.fixture
def drive(killbill: FakeKillBill, tmp_path: Path) -> Drive:
    """Run plain JMeter on the plan with -J properties alone."""

    def run(properties: dict[str, Any], jmx: Path = SHAPE) -> Run:
        command = [str(jmeter_home() / "bin" / "jmeter"), "-n", "-t", str(jmx), "-l", "samples.jtl", "-j", "jmeter.log"]
        command += [f"-J{name}={value}" for name, value in ({"port": killbill.port} | properties).items()]
        environment = {**os.environ, "HEAP": "-Xms128m -Xmx256m"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        with (tmp_path / "samples.jtl").open(newline="", encoding="utf-8") as file:
            samples = list(csv.DictReader(file))
        return Run(samples, (tmp_path / "jmeter.log").read_text(encoding="utf-8"), tmp_path)

    return run


def test_loops_alone_run_the_whole_traffic_and_prepare_an_empty_killbill(killbill: FakeKillBill, drive: Drive) -> None:
    killbill.has_tenant = killbill.has_config = False
    config = "org.killbill.billing.plugin.stripe.apiKey=sk_test_123"
    run = drive(
        {
            "users": 2,
            "ramp_s": 0.5,
            "loops": 3,
            "run_id": "run-07_1",
            "plugin_config": config,
            "payment.query": "?paymentMethodId=${method_id}",
            "dump_dir": "dumps",
        }
    )
    assert all(sample["success"] == "true" for sample in run.samples)
    assert run.labels() == dict.fromkeys(ONCE, 2) | dict.fromkeys(LOOP, 6)
    assert not killbill.of("unknown")
    assert all(call.has_password for call in killbill.calls)
    # Once: what was missing.
    assert [call.body for call in killbill.of("create tenant")] == ['{"apiKey":"bob","apiSecret":"lazar"}']
    assert [call.body for call in killbill.of("upload config")] == [config]
    # Every key is of this run, and no two are the same: 2 accounts, 2 methods, 6 of each payment.
    keys = killbill.keys()
    assert len(keys) == len(set(keys)) == 2 * 2 + 3 * 6
    assert all(key.startswith("run-07_1-") for key in keys)
    # Each capture is of a payment that was authorized, each payment by the user's own method.
    authorized = [call.made_id for call in killbill.of("authorize")]
    assert sorted(call.path.rsplit("/", 1)[1] for call in killbill.of("capture")) == sorted(authorized)
    methods = {call.path.split("/")[4]: call.made_id for call in killbill.of("method")}
    for call in killbill.of("authorize") + killbill.of("purchase"):
        assert call.path.endswith(f"?paymentMethodId={methods[call.path.split('/')[4]]}")
    # KillBill's own figures, before and after.
    for name in ("threads-before.txt", "threads-after.txt"):
        assert (run.folder / "dumps" / name).read_text() == '"main" id=1'
    for name in ("metrics-before.json", "metrics-after.json"):
        assert json.loads((run.folder / "dumps" / name).read_text())["gauges"]["threads.count"]["value"] == 66


def test_only_an_authorisation_with_201_is_captured_and_a_failed_payment_method_is_retried(
    killbill: FakeKillBill, drive: Drive
) -> None:
    killbill.codes["method"] = iter([NO_ANSWER, 202])
    killbill.codes["authorize"] = itertools.cycle([201, 402, 202, NO_ANSWER, 500])
    run = drive({"users": 1, "ramp_s": 0, "loops": 12, "plugin_config": "a=b"})
    # Two of the loops end with the payment method, which is tried again with the same account.
    assert run.labels() == (
        {ONCE[0]: 1, ONCE[1]: 1, ONCE[2]: 3} | {"Authorize Payment": 10, "Capture Payment": 2, "Purchase Payment": 10}
    )
    assert run.labels(success="false") == {ONCE[2]: 2, "Authorize Payment": 8}
    assert run.labels(responseCode="202", success="false", failureMessage="expected 201") == {
        ONCE[2]: 1,
        "Authorize Payment": 2,
    }
    authorized = [call.made_id for call in killbill.of("authorize") if call.code == 201]
    assert len(killbill.of("authorize")) == 10  # none was sent twice
    assert len(authorized) == 2
    assert [call.path for call in killbill.of("capture")] == [f"/1.0/kb/payments/{made_id}" for made_id in authorized]
    assert not killbill.of("unknown")
    # The tenant and the configuration were there already.
    assert len(killbill.of("find tenant")) == len(killbill.of("find config")) == 1
    assert not killbill.of("create tenant") + killbill.of("upload config")


@pytest.mark.counterpart
def test_a_user_without_an_account_makes_no_payments_and_retries_once_a_second(
    killbill: FakeKillBill, drive: Drive
) -> None:
    killbill.codes["account"] = itertools.repeat(500)
    run = drive({"users": 2, "ramp_s": 0, "duration_s": 3.5})
    assert run.labels().keys() == {"Create Account"}
    # One attempt a second for each user, at 0, 1, 2, 3 s and perhaps 4 s; less on a slow machine.
    assert 4 <= len(killbill.of("account")) <= 10
    assert {call.step for call in killbill.calls} == {"threads", "metrics", "find tenant", "account"}
    assert (run.folder / "metrics-after.json").is_file()


def test_without_a_tenant_the_test_stops_before_the_load(killbill: FakeKillBill, drive: Drive) -> None:
    killbill.has_tenant = False
    killbill.codes["create tenant"] = itertools.repeat(500)
    run = drive({"users": 1, "ramp_s": 0, "loops": 1})
    assert run.labels() == {}
    assert not killbill.of("account")
    assert "setUp failed" in run.log


@pytest.mark.counterpart
def test_the_open_model_starts_the_users_of_its_rate_once_each(drive: Drive, tmp_path: Path) -> None:
    jmx = tmp_path / "effective.jmx"
    jmx.write_bytes(effective_jmx(SHAPE, OpenLoad(rate_per_s=5.0, ramp_s=2.0, duration_s=4.0)))
    # Its idle threads would keep JMeter alive for another minute.
    run = drive({"jmeterengine.force.system.exit": "true"}, jmx)
    # 5 a second: half of them in the 2 s of the ramp, all in the other 2 s.
    assert run.labels() == dict.fromkeys((*ONCE, *LOOP), 5 + 10)
    assert all(sample["success"] == "true" for sample in run.samples)
    assert (run.folder / "metrics-after.json").is_file()
