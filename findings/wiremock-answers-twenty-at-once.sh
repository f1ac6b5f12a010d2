#!/usr/bin/env bash
# Question: a stub of WireMock answers after a second. 60 users ask at once. When have they their answers?
# Guess: all after a second; a delay needs no CPU.
# Seen: 18 to 20 after one second, as many after two, the rest after three and four: a delay keeps one of WireMock's 25 threads,
# of which Jetty uses some itself. Nothing says that requests wait.
# Since: seen with 3.13.2. `--container-threads` or `--async-response-enabled=true` end it.
# A user notices: a service under load looks as slow as its stub with 60 users, and the service is blamed.
set -euo pipefail
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
mvn -q -B -Dstyle.color=never dependency:copy -Dartifact=org.wiremock:wiremock-standalone:3.13.2 -DoutputDirectory=jars >/dev/null
mkdir mappings
cat >mappings/slow.json <<'JSON'
{"request": {"method": "GET", "url": "/slow"}, "response": {"status": 200, "fixedDelayMilliseconds": 1000, "body": "x"}}
JSON
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
java -jar jars/wiremock-standalone-3.13.2.jar --bind-address 127.0.0.1 --port "$port" >log.txt 2>&1 &
server=$!
python3 - "$port" <<'PY'
import asyncio
import sys
import time

port = int(sys.argv[1])


async def ask() -> float:
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    await reader.read()
    writer.close()
    return time.monotonic() - began


async def main() -> None:
    for _ in range(60):
        try:
            await ask()
            break
        except OSError:
            await asyncio.sleep(0.5)
    seconds = await asyncio.gather(*(ask() for _ in range(60)))
    at_once = sum(second < 1.7 for second in seconds)
    print(f"WireMock 3.13.2, 60 requests at once: {at_once} answered within 1.7 s, the last after {max(seconds):.1f} s")
    sys.exit(0 if at_once <= 25 and max(seconds) > 2.7 else "CHANGED: more at once")


asyncio.run(main())
PY
