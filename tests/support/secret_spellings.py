"""How other programs write a text: each function is that of a library, none is ours."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import re
from pathlib import Path
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape, quoteattr


def csv_row(*fields: str) -> str:
    """A row as a program writes it that knows RFC 4180, without its line end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(fields)
    return out.getvalue()


def every_spelling(secret: str, user: str = "bob") -> dict[str, str]:
    """The spellings by name."""
    pair = f"{user}:{secret}".encode()
    return {
        "plain": secret,
        "xml text": escape(secret),
        "xml attribute": quoteattr(secret)[1:-1],
        "html": html.escape(secret),
        "decimal references": "".join(f"&#{ord(character)};" for character in secret),
        "hexadecimal references": "".join(f"&#x{ord(character):X};" for character in secret),
        "ascii xml": secret.translate({38: "&amp;", 60: "&lt;"}).encode("ascii", "xmlcharrefreplace").decode(),
        "quote": quote(secret, safe=""),
        "path": quote(secret),
        "lower-case quote": re.sub("%..", lambda escaped: escaped[0].lower(), quote(secret, safe="")),
        "quote plus": quote_plus(secret),
        "quoted twice": quote(quote(secret, safe=""), safe=""),
        "json": json.dumps(secret, ensure_ascii=False)[1:-1],
        "ascii json": json.dumps(secret)[1:-1],
        "json in json": json.dumps(json.dumps(secret))[3:-3],
        "every character escaped": re.sub("(....)", r"\\u\1", secret.encode("utf-16-be").hex()),
        "basic": base64.b64encode(pair).decode(),
        "basic without padding": base64.b64encode(pair).decode().rstrip("="),
        "url-safe basic": base64.urlsafe_b64encode(pair).decode(),
        "base64": base64.b64encode(secret.encode()).decode(),
        "basic in a url": quote(base64.b64encode(pair).decode(), safe=""),
        "json in xml": escape(json.dumps(secret), {'"': "&quot;"})[6:-6],
        "xml in json": json.dumps(escape(secret))[1:-1],
        "csv": csv_row(secret + ",")[1:-2],
    }


def assert_no_secret(folder: Path, secrets: list[str]) -> None:
    """Assert that no file holds a spelling; letters and digits alone are no spelling where they are a word of ours."""
    spelt = [(secret, text.encode()) for secret in secrets for text in every_spelling(secret).values()]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        assert [secret for secret, text in spelt if text in data] == [], path.name
