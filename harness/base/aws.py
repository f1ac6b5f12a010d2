"""Creates boto3 clients for AWS and turns boto3's errors into one-line errors of the harness."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness.base.errors import HarnessError, ServiceError, UnavailableError, UsageError
from harness.base.log import stderr_log

_ATTEMPTS = 4
_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 10, 15
# A part that is sent over a slow line is in the buffers of this machine for long before it can be answered.
_SENT_TIMEOUT_S = 60
# A request that is not answered after so long is named, once per client.
_NAMED_S = 5.0
# A server that has answered nothing for so long gets no further attempt: a command gives up after a minute.
_SILENT_MOST_S = 45.0
_SIGN_IN = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run aws configure"
_BAD_CREDENTIALS = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidToken",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_NO_RIGHT = {
    "403", "AccessDenied", "AccessDeniedException", "AllAccessDisabled", "Forbidden", "NotAuthorizedException",
    "UnauthorizedOperation",
}  # fmt: skip
_FULL = {"InsufficientStorage", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull", "507"}
_BUSY = {"RequestTimeout", "SlowDown"}
_THROTTLED = {
    "RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException",
}  # fmt: skip
# What a server answers that compares what it got with the checksum of the request.
_DAMAGED = {"BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"}
_WRONG_REGION = {"301", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}
# An answer without an error of S3 or AWS: that of a web server.
_NO_SERVICE = {"", "400", "404", "405", "411"}
_HTTP_FAILED, _HTTP_FULL = 500, 507
# Operations whose permission has another name.
_RIGHTS = {
    "CompleteMultipartUpload": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "DescribeDBInstances": "rds:DescribeDBInstances",
    "DescribeDimensionKeys": "pi:DescribeDimensionKeys",
    "DescribeInstances": "ec2:DescribeInstances",
    "DescribeServices": "ecs:DescribeServices",
    "DescribeTaskDefinition": "ecs:DescribeTaskDefinition",
    "DescribeVolumes": "ec2:DescribeVolumes",
    "GetMetricData": "cloudwatch:GetMetricData",
    "GetResourceMetrics": "pi:GetResourceMetrics",
    "HeadObject": "s3:GetObject",
    "ListMetrics": "cloudwatch:ListMetrics",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "ListObjectsV2": "s3:ListBucket",
    "ListParts": "s3:ListMultipartUploadParts",
    "ListServices": "ecs:ListServices",
    "UploadPart": "s3:PutObject",
}


class NoRightError(UsageError):
    """The credentials lack a right, such as cloudwatch:GetMetricData."""

    def __init__(self, where: str, right: str) -> None:
        page = "storage" if right.startswith("s3:") else "cloudwatch"
        super().__init__(f"{where}: permission denied", f"these credentials need {right}: lth help {page}")
        self.right = right


class ThrottledError(UnavailableError):
    """The server refused every attempt because of too many requests."""


def client(service: str, endpoint_url: str | None = None, region: str | None = None, *, sends: bool = False) -> Any:
    """Return boto3's client of a service without sending a request. UsageError for an unknown profile or region.

    A client that `sends` files waits longer for each answer. A server that lets a request wait is named on standard
    error.
    """
    import boto3  # imported late: it takes 0.5 s, and few commands need it
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_SENT_TIMEOUT_S if sends else _READ_TIMEOUT_S,
    )
    with aws_errors(service):
        try:
            made = boto3.session.Session().client(service, region, endpoint_url=endpoint_url, config=config)
        except ValueError as error:
            raise UsageError(f"{service}: {error}", "see --endpoint-url and AWS_ENDPOINT_URL") from None
    _Waiting().watch(made)
    return made


class _SilentError(Exception):
    """The server answered none of the requests for too long; boto3 does not repeat a request after this error."""


class _Attempts(threading.local):
    """The attempts of a thread at a request: when the last one began, and the first one that got no answer."""

    began_s = 0.0
    silent_since_s: float | None = None


# The threads that wait until a server is named.
NAMING = "no answer yet:"


class _Naming(threading.local):
    """The timer that will name the server of a thread's request."""

    timer: threading.Timer | None = None

    def start(self, name: Callable[[str], None], server: str) -> None:
        """Name a server in a while."""
        self.stop()
        self.timer = threading.Timer(_NAMED_S, name, (server,))
        self.timer.name, self.timer.daemon = f"{NAMING} {server}", True
        self.timer.start()

    def stop(self) -> None:
        """Name no server: the request is over."""
        if self.timer:
            self.timer.cancel()
            self.timer = None


_NAMING = _Naming()


class _Waiting:
    """Names the server of a client, once, while a request waits for its answer, and ends the attempts at a silent one.

    Requests may be in several threads.
    """

    def __init__(self) -> None:
        self._is_named = False
        self._own = _Attempts()
        self._answered_s = 0.0  # any request

    def watch(self, watched: Any) -> None:
        """Watch the requests of a client."""
        service = watched.meta.service_model.service_id.hyphenize()
        watched.meta.events.register(f"before-send.{service}", self._sent)
        watched.meta.events.register(f"response-received.{service}", self._answered)

    def _sent(self, request: Any, **_: object) -> None:
        own = self._own
        own.began_s = time.monotonic()
        since_s = own.began_s if own.silent_since_s is None else own.silent_since_s
        if own.began_s - max(self._answered_s, since_s) >= _SILENT_MOST_S:
            raise _SilentError
        address = request.url.split("?")[0]
        _NAMING.start(self._name, "/".join(address.split("/")[:3]))

    def _answered(self, exception: Exception | None = None, **_: object) -> None:
        from botocore.exceptions import ReadTimeoutError

        own = self._own
        if isinstance(exception, ReadTimeoutError):
            own.silent_since_s = own.began_s if own.silent_since_s is None else own.silent_since_s
        else:
            own.silent_since_s = None
            self._answered_s = self._answered_s if exception else time.monotonic()
        _NAMING.stop()

    def _name(self, server: str) -> None:
        if not self._is_named:
            self._is_named = True
            stderr_log("")(f"{server}: no answer for {_NAMED_S:.0f} s, still waiting")


@contextmanager
def aws_errors(where: str) -> Iterator[None]:
    """Turn boto3's errors within the block into ours. Messages start with `where` and show no credentials."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    try:
        yield
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError):
        raise UsageError(f"{where}: no credentials found", _SIGN_IN) from None
    except exceptions.ProfileNotFound as error:
        raise UsageError(f"{where}: {error}", "correct AWS_PROFILE, or run aws configure") from None
    except exceptions.NoRegionError:
        raise UsageError(f"{where}: no region is set", "set AWS_DEFAULT_REGION") from None
    except (exceptions.CredentialRetrievalError, exceptions.TokenRetrievalError, exceptions.SSOError):
        raise UsageError(f"{where}: cannot obtain the credentials", "sign in again: aws sso login") from None
    except exceptions.ClientError as error:
        raise _client_error(where, error.response, error.operation_name) from None
    except (exceptions.ReadTimeoutError, _SilentError):
        what = f"{where}: the server takes requests and does not answer"
        raise ServiceError(what, "check that it works, then repeat the command") from None
    except (exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.IncompleteReadError) as error:
        what = f"{where}: the server does not answer or disconnects ({type(error).__name__}, {_ATTEMPTS} attempts)"
        raise UnavailableError(what, "check that it is up and reachable, then repeat the command") from None
    except ResponseParserError:
        raise no_service(where) from None
    except exceptions.BotoCoreError as error:
        raise ServiceError(f"{where}: {error}", "check the AWS_* variables and ~/.aws/config") from None
    finally:
        _NAMING.stop()  # boto3 tells of no answer that it cannot read


def _client_error(where: str, response: Any, operation: str) -> HarnessError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "NoSuchBucket":
        return UsageError(f"{where}: the bucket does not exist", "correct its name, or create it")
    if code in _BAD_CREDENTIALS:
        return UsageError(f"{where}: the server rejects the credentials ({code})", _SIGN_IN)
    if code in _FULL or status == _HTTP_FULL:
        what = f"{where}: the bucket is full ({code})"
        return ServiceError(what, "free some space or raise its quota, then repeat the command")
    if code in _NO_RIGHT:
        return NoRightError(where, _RIGHTS.get(operation, f"s3:{operation}"))
    if code in _THROTTLED:
        what = f"{where}: the server refused too many requests ({code}, {_ATTEMPTS} attempts)"
        return ThrottledError(what, "repeat the command later")
    if code in _WRONG_REGION:
        return UsageError(
            f"{where}: the bucket is in another region ({code})", "set AWS_DEFAULT_REGION to the bucket's region"
        )
    if code in _DAMAGED:
        what = f"{where}: the server got different contents from those sent ({code})"
        return ServiceError(what, "repeat the command to send it again")
    if code == "NoSuchUpload":
        return UsageError(f"{where}: another process ended this upload", "repeat the command")
    if code in _NO_SERVICE and status < _HTTP_FAILED:
        return no_service(where, f" (HTTP {status})")
    if status >= _HTTP_FAILED or code in _BUSY:
        return UnavailableError(
            f"{where}: the server failed ({code}, {_ATTEMPTS} attempts)", "repeat the command later"
        )
    return ServiceError(f"{where}: {operation} was refused ({code})", "check the server's log")


def no_service(where: str, answer: str = "") -> HarnessError:
    """Return the error for an answer that no server of S3 or AWS gives, such as that of a web server."""
    kind = "S3" if where.startswith("s3://") else "AWS"
    return UsageError(f"{where}: the server does not answer as one of {kind} does{answer}", "check its address")
