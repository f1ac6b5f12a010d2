"""Ask KillBill's JVM for the statements of the H2 inside it.

    python statements.py PORT reset|look|read

H2Statements.java answers. The table of `look` and `read` goes to standard output; with code 1 the last line has the
reason.
"""

from __future__ import annotations

import socket
import sys

_DEADLINE_S = 30.0
_ERROR = "error: "


def main(port: int, order: str) -> int:
    """Print the answer to an order; return the exit code."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_DEADLINE_S) as connection:
            connection.sendall(f"{order}\n".encode())
            with connection.makefile(encoding="utf-8", errors="replace") as answer:
                text = answer.read()
    except OSError as error:
        text = f"{_ERROR}{error.strerror or error}\n"
    if not text.endswith("\n"):
        text += f"\n{_ERROR}the answer ends early\n"
    print(text, end="")
    return int(text.splitlines()[-1].startswith(_ERROR))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
