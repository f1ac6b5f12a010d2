"""Secrets that no extractor reads are moved out of the requests."""

import json

from harness.plan.har.hidden import add_secrets
from harness.plan.har.jmx import recorded_jmx
from harness.plan.har.recorded import Recorded
from tests.support.har import correlated, entry

TOKEN = "Zq8Lw0Xn4Tb7Rk2Vy6"


def test_a_secret_whose_extractor_is_dropped_is_not_sent_as_it_was_recorded(tmp_path):
    given = entry("/in", json.dumps({"access_token": TOKEN}), method="POST", body="user=ann", kind="application/json")
    first, found = correlated(tmp_path, [given, entry("/a", headers={"Authorization": f"Bearer {TOKEN}"}, at_s=3)])
    assert [one.is_secret for one in found.typed] == [False]
    assert len(found.variables) == 1
    found.variables.clear()
    add_secrets(first, found)
    plan = Recorded("shop", first, found, [0.0, 1.0])
    assert plan.secrets == {"SHOP_AUTHORIZATION": TOKEN}
    assert TOKEN.encode() not in recorded_jmx(plan, {"Users": []})


def test_a_part_of_a_secret_is_replaced_in_no_longer_word(tmp_path):
    body = json.dumps({"pin": "4711", "order": "47110", "note": "4711"})
    first, found = correlated(tmp_path, [entry("/a", method="POST", body=body, body_type="application/json")])
    jmx = recorded_jmx(Recorded("shop", first, found, [0.0]), {"Users": []}).decode()
    assert '"47110"' in jmx.replace("&quot;", '"')
    assert '"pin": "4711"' not in jmx.replace("&quot;", '"')
