"""What KillBill stores, and what it answers to each behaviour of its gateway. Most tests change the gateway."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.support.killbill_client import KillBill, check_stored
from tests.support.killbill_instance import Instance, Shared

pytestmark = [pytest.mark.real, pytest.mark.counterpart]


def last_status_of(killbill: KillBill, account: str) -> str:
    (payment,) = killbill.call("GET", f"/accounts/{account}/payments").body
    return str(payment["transactions"][-1]["status"])


def test_killbill_stores_what_was_sent(killbill: KillBill) -> None:
    check_stored(killbill)


def test_a_purchase_is_stored_as_purchased(killbill: KillBill) -> None:
    payment = killbill.pay(killbill.account(), "PURCHASE", 10)
    assert payment.status == 201
    assert killbill.amounts_of(payment.id) == {"purchasedAmount": 10}


def test_a_voided_authorisation_has_no_amount_left(killbill: KillBill) -> None:
    payment = killbill.pay(killbill.account(), "AUTHORIZE", 30)
    assert killbill.call("DELETE", f"/payments/{payment.id}", {}).status == 204
    assert killbill.amounts_of(payment.id) == {}
    assert killbill.transactions_of(payment.id) == [("AUTHORIZE", "SUCCESS"), ("VOID", "SUCCESS")]


def test_a_declined_card_is_402_and_is_stored_as_a_failure(killbill: KillBill) -> None:
    account = killbill.account("pm_card_chargeDeclined")
    answer = killbill.pay(account, "AUTHORIZE", 50)
    assert answer.status == 402
    assert "Your card was declined." in answer.body["message"]
    assert last_status_of(killbill, account) == "PAYMENT_FAILURE"


@pytest.mark.parametrize("settings", [{"gateway": "decline"}, {"decline_ratio": 1.0}], ids=str)
def test_a_profile_can_decline_every_card(killbill: KillBill, instance: Instance, settings: dict[str, object]) -> None:
    instance.set_gateway(**settings)
    account = killbill.account()
    assert [killbill.pay(account, kind, 10).status for kind in ("AUTHORIZE", "PURCHASE")] == [402, 402]


def test_a_decline_ratio_declines_about_that_share(killbill: KillBill, instance: Instance) -> None:
    instance.set_gateway(decline_ratio=0.3)
    accounts = [killbill.account() for _ in range(4)]
    with ThreadPoolExecutor(len(accounts)) as pool:
        count = Counter(pool.map(lambda number: killbill.pay(accounts[number % 4], "PURCHASE", 1).status, range(200)))
    assert set(count) == {201, 402}
    # Mean 60, standard deviation sqrt(200 * 0.3 * 0.7) = 6.5: five of them either way, once in a million runs outside.
    assert 28 <= count[402] <= 92


def test_a_slow_gateway_within_the_plugin_timeout_delays_a_successful_payment(
    killbill: KillBill, instance: Instance
) -> None:
    account = killbill.account()
    instance.set_gateway(gateway="slow", gateway_slow_factor=100, gateway_sigma=0)
    begin_s = time.monotonic()
    assert killbill.pay(account, "PURCHASE", 10).status == 201
    assert time.monotonic() - begin_s >= 0.5  # 100 times 5 ms


def test_a_gateway_slower_than_the_plugin_timeout_is_504_and_the_payment_is_unknown(
    killbill: KillBill, instance: Instance
) -> None:
    account = killbill.account()
    instance.set_gateway(gateway="slow", gateway_slow_factor=1400, gateway_sigma=0)  # 7 s; the time-out is 5 s
    answer = killbill.pay(account, "PURCHASE", 10)
    assert (answer.status, answer.body["code"]) == (504, 7100)
    assert last_status_of(killbill, account) == "UNKNOWN"


def test_a_failing_gateway_is_400_with_code_7199_and_the_payment_is_unknown(
    killbill: KillBill, instance: Instance
) -> None:
    instance.set_gateway(gateway="failing")
    account = killbill.account()
    answers = [killbill.pay(account, "PURCHASE", 10) for _ in range(8)]
    assert {(answer.status, answer.body["code"]) for answer in answers} == {(400, 7199)}
    payments = killbill.call("GET", f"/accounts/{account}/payments").body
    assert {payment["transactions"][0]["status"] for payment in payments} == {"UNKNOWN"}


@pytest.mark.parametrize(
    "url",
    [
        "https://api.stripe.com/v1/unknown",
        "https://api.stripe.com/v2/customers",
        "https://example.org/v1/unknown",
        "https://example.org/",
        "http://example.org/",
    ],
)
def test_unknown_requests_to_the_stand_in_get_501_and_are_never_forwarded(instance: Instance, url: str) -> None:
    status, body = instance.ask_through_proxy(url)
    assert (status, "nothing was forwarded" in body) == (501, True)


def test_killbill_reaches_the_stand_in_over_tls_with_its_own_ca(instance: Instance) -> None:
    status, body = instance.ask_through_proxy("https://api.stripe.com/v1/customers/cus_1", Authorization="Bearer sk_x")
    assert (status, json.loads(body)["id"]) == (200, "cus_1")
    listeners = psutil.Process(instance.processes["killbill"]).net_connections(kind="tcp")
    peers = {connection.raddr.ip for connection in listeners if connection.raddr}
    assert {peer.removeprefix("::ffff:") for peer in peers} <= {"127.0.0.1"}


def test_delayed_answers_do_not_wait_for_each_other(instance: Instance) -> None:
    instance.set_gateway(gateway="slow", gateway_slow_factor=600, gateway_sigma=0)  # reads: a third of 3 s
    begin_s = time.monotonic()
    with ThreadPoolExecutor(40) as pool:
        url = "https://api.stripe.com/v1/customers/cus_1"
        statuses = list(pool.map(lambda _: instance.ask_through_proxy(url, Authorization="Bearer sk_x")[0], range(40)))
    assert statuses == [200] * 40
    assert time.monotonic() - begin_s < 10  # one after the other they would take 40 s


def test_a_gateway_that_fails_from_the_start_fails_the_first_payments(shared: Shared) -> None:
    assert shared.statuses == [400] * 3
