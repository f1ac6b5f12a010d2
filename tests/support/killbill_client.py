"""A minimal client of KillBill for the tests: one tenant, JSON in and out, with status codes."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from uuid import uuid4


@dataclass(frozen=True)
class Answer:
    """What KillBill answered: status, body (parsed if it is JSON), and the last part of Location."""

    status: int
    body: Any
    id: str


# The first call of a plugin opens its connections: without a free core this takes longer than KillBill waits.
_PLUGIN_TIMEOUT, _TRIES = 504, 3
# What `pay_through` leaves of a payment.
STORED = {"authAmount": 50, "capturedAmount": 20, "refundedAmount": 5}


class KillBill:
    """Speaks to the KillBill at `url` as a tenant of its own."""

    def __init__(self, url: str, tenant: str | None = None) -> None:
        self.url = url
        self.tenant = tenant or uuid4().hex
        if tenant is None:
            answer = self.call("POST", "/tenants", {"apiKey": self.tenant, "apiSecret": "secret"})
            assert answer.status == 201, answer

    def call(self, method: str, path: str, body: object = None) -> Answer:
        """Return the answer to one request below /1.0/kb, whatever its status is."""
        request = urllib.request.Request(
            f"{self.url}/1.0/kb{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": "Basic " + base64.b64encode(b"admin:password").decode(),
                "X-Killbill-ApiKey": self.tenant,
                "X-Killbill-ApiSecret": "secret",
                "X-Killbill-CreatedBy": "test",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return _answer(answer.status, answer.read(), answer.headers.get("Location", ""))
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error.code, error.read(), "")

    def account(self, card: str = "pm_card_visa") -> str:
        """Return the id of a new account whose default payment method is `card`."""
        account = self.call("POST", "/accounts", {"name": "a", "externalKey": uuid4().hex, "currency": "USD"})
        assert account.status == 201, account
        method = {"pluginName": "killbill-stripe", "pluginInfo": {"externalPaymentMethodId": card}}
        for _ in range(_TRIES):
            answer = self.call("POST", f"/accounts/{account.id}/paymentMethods?isDefault=true", method)
            if answer.status != _PLUGIN_TIMEOUT:
                break
        assert answer.status == 201, answer
        return account.id

    def pay(self, account: str, kind: str, amount: float) -> Answer:
        """Return the answer to a new payment of the account, such as an AUTHORIZE of 50 dollars."""
        body = {"transactionType": kind, "amount": amount, "currency": "USD"}
        return self.call("POST", f"/accounts/{account}/payments", body)

    def pay_through(self) -> str:
        """Authorise 50, capture 20, refund 5; return the payment's id."""
        payment = self.pay(self.account(), "AUTHORIZE", 50)
        assert payment.status == 201
        assert self.call("POST", f"/payments/{payment.id}", {"amount": 20, "currency": "USD"}).status == 201
        assert self.call("POST", f"/payments/{payment.id}/refunds", {"amount": 5, "currency": "USD"}).status == 201
        return payment.id

    def amounts_of(self, payment: str) -> dict[str, float]:
        """Return the amounts that are stored of a payment; those that are 0 are left out."""
        body = self.call("GET", f"/payments/{payment}").body
        names = ("authAmount", "capturedAmount", "purchasedAmount", "refundedAmount")
        return {name: body[name] for name in names if body[name]}

    def transactions_of(self, payment: str) -> list[tuple[str, str]]:
        """Return type and status of each step of a payment."""
        body = self.call("GET", f"/payments/{payment}").body
        return [(step["transactionType"], step["status"]) for step in body["transactions"]]


def check_stored(killbill: KillBill) -> None:
    """Fail unless this KillBill stores a payment that is sent to it."""
    payment = killbill.pay_through()
    assert killbill.amounts_of(payment) == STORED
    steps = [("AUTHORIZE", "SUCCESS"), ("CAPTURE", "SUCCESS"), ("REFUND", "SUCCESS")]
    assert killbill.transactions_of(payment) == steps


def _answer(status: int, body: bytes, location: str) -> Answer:
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = body.decode(errors="replace")
    return Answer(status, parsed, location.rstrip("/").rpartition("/")[2])
