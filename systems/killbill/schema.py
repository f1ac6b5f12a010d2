"""Writes KillBill's and the Stripe plugin's tables into one SQL file.

    python schema.py ARTIFACTS schema.sql

The tables come from the `ddl.sql` inside the published jars. Their DROP TABLE statements are left out: run by mistake
on a database that has the tables already, the file fails at its first statement and destroys nothing.
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

MODULES = (
    "account", "beatrix", "catalog", "entitlement", "invoice", "payment", "subscription", "tenant", "usage", "util",
)  # fmt: skip
_DROP = re.compile(r"^\s*drop\s+table\b[^;]*;", re.IGNORECASE | re.MULTILINE)


def schema(artifacts: Path) -> str:
    """Return the SQL that creates every table; KeyError or ValueError when a jar is not as expected."""
    sources = [
        ("webapp/WEB-INF/lib", f"killbill-{name}-0.*.jar", f"org/killbill/billing/{name}/ddl.sql") for name in MODULES
    ]
    sources.append(("bundles/plugins/java/killbill-stripe", "*/stripe-plugin-*.jar", "ddl.sql"))
    return "\n".join(_DROP.sub("", _member(artifacts / folder, pattern, name)) for folder, pattern, name in sources)


def _member(folder: Path, pattern: str, name: str) -> str:
    (jar,) = folder.glob(pattern)
    with zipfile.ZipFile(jar) as archive:
        return archive.read(name).decode()


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(schema(Path(sys.argv[1])), encoding="utf-8")
