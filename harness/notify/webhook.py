"""Posts a message to the incoming webhook of a chat. Errors never show its address, which is a secret."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from harness.base.errors import HarnessError, UsageError
from harness.base.http_client import BusyError, NoAnswerError, refusal_body, retry_after_s, send, short
from harness.base.secrecy import masked
from harness.notify.message import ATTEMPT_S, CHATS, Message

# A server that is overloaded, or limits the rate, takes the same message later.
_BUSY = (408, 425, 429)
# Shorter parts of an address are no secrets, such as `hooks`.
_SECRET_LEAST = 8


@dataclass(frozen=True)
class Webhook:
    """The webhook of a chat; `variable` is the environment variable that has its address."""

    name: str
    variable: str
    address: str = field(repr=False)

    def send(self, message: Message) -> None:
        """Post a message. BusyError when the server fails or does not answer, UsageError when it refuses."""
        request = urllib.request.Request(self.address, json.dumps(CHATS[self.name](message)).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        try:
            send(request, ATTEMPT_S)
        except NoAnswerError as error:
            raise BusyError(f"{self.name} does not answer ({self._short(str(error))})", self._todo) from None
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None

    def _refusal(self, error: urllib.error.HTTPError) -> HarnessError:
        try:
            reason = refusal_body(error).decode(errors="replace")
        except (OSError, http.client.HTTPException):
            reason = ""
        reason = self._short(reason or str(error.reason))
        if error.code >= 500 or error.code in _BUSY:
            what = f"{self.name}: the server failed ({error.code} {reason})"
            return BusyError(what, "", retry_after_s(error.headers))
        if error.code < 400:
            return UsageError(f"{self.name}: the address has moved ({error.code})", self._todo)
        return UsageError(f"{self.name} refuses the message ({error.code} {reason})", self._todo)

    @property
    def _todo(self) -> str:
        return f"check the address in {self.variable}"

    def _short(self, text: str) -> str:
        # The address, its path, and the parts of it that a server may repeat.
        path = self.address.partition("://")[2].partition("/")[2]
        parts = (part for part in re.split(r"[/?&=]", path) if len(part) >= _SECRET_LEAST)
        return short(masked(text, (self.address, path, *parts)))
