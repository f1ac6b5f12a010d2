#!/usr/bin/env bash
# Question: boto3 stores "hello" with put_object on a server that speaks S3 as of before 2022, over https. What is stored?
# Guess: hello, as over http.
# Seen: "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:…": since 1.36 boto3 adds a checksum to every upload; over http it is a
# header, over https it comes behind the contents, in aws-chunked frames, which a server that does not know them stores.
# No error anywhere. With request_checksum_calculation="when_required", or a checksum of one's own, it is hello.
# Since: boto3 1.36; seen with 1.44.5.
# A user notices: results that were pushed cannot be read back, only on the server with https.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet boto3==1.44.5
cd "$work"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=127.0.0.1 \
    -addext subjectAltName=IP:127.0.0.1 2>/dev/null
venv/bin/python - <<'PY'
import hashlib
import http.server
import ssl
import threading

import boto3
from botocore.config import Config


class Store(http.server.BaseHTTPRequestHandler):
    """Keeps one object, as HTTP says it: S3's own frames are contents for it."""

    protocol_version = "HTTP/1.1"
    kept = b""

    def do_PUT(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            Store.kept = b""
            while size := int(self.rfile.readline(), 16):
                Store.kept += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            Store.kept = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.md5(Store.kept).hexdigest()}"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


def stored(is_encrypted: bool, **config: str) -> bytes:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    if is_encrypted:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("cert", "key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"{'https' if is_encrypted else 'http'}://127.0.0.1:{server.server_port}"
    keys = {"aws_access_key_id": "me", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=url, verify="cert", config=Config(**config), **keys).put_object(
        Bucket="bucket", Key="key", Body=b"hello"
    )
    server.shutdown()
    return Store.kept


plain, encrypted = stored(False), stored(True)
required = stored(True, request_checksum_calculation="when_required")
print(f"boto3 {boto3.__version__}: http {plain}, https {encrypted}, https with when_required {required}")
if (plain, required) != (b"hello", b"hello") or not encrypted.startswith(b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:"):
    raise SystemExit("CHANGED: not frames over https only")
PY
