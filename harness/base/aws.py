"""Creates boto3 clients for AWS and turns boto3's errors into one-line errors of the harness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.base.errors import HarnessError, ServiceError, UsageError

_ATTEMPTS = 4
_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 10, 60
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
_NO_RIGHT = {"403", "AccessDenied", "AccessDeniedException", "AllAccessDisabled", "Forbidden", "UnauthorizedOperation"}
_WRONG_REGION = {"301", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}
# Operations whose permission has another name.
_RIGHTS = {
    "CompleteMultipartUpload": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "DescribeDBInstances": "rds:DescribeDBInstances",
    "DescribeInstances": "ec2:DescribeInstances",
    "DescribeServices": "ecs:DescribeServices",
    "DescribeTaskDefinition": "ecs:DescribeTaskDefinition",
    "DescribeVolumes": "ec2:DescribeVolumes",
    "GetMetricData": "cloudwatch:GetMetricData",
    "HeadObject": "s3:GetObject",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "ListObjectsV2": "s3:ListBucket",
    "ListParts": "s3:ListMultipartUploadParts",
    "UploadPart": "s3:PutObject",
}


def client(service: str, endpoint_url: str | None = None, region: str | None = None) -> Any:
    """Return boto3's client of a service without sending a request. UsageError for an unknown profile or region."""
    import boto3  # imported late: it takes 0.5 s, and few commands need it
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
    )
    with aws_errors(service):
        try:
            return boto3.session.Session().client(service, region, endpoint_url=endpoint_url, config=config)
        except ValueError as error:
            raise UsageError(f"{service}: {error}", "see --endpoint-url and AWS_ENDPOINT_URL") from None


@contextmanager
def aws_errors(where: str) -> Iterator[None]:
    """Turn boto3's errors within the block into ours. Messages start with `where` and show no credentials."""
    from botocore import exceptions

    try:
        yield
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError):
        raise UsageError(f"{where}: no AWS credentials found", _SIGN_IN) from None
    except exceptions.ProfileNotFound as error:
        raise UsageError(f"{where}: {error}", "correct AWS_PROFILE, or run aws configure") from None
    except exceptions.NoRegionError:
        raise UsageError(f"{where}: no region is set", "set AWS_DEFAULT_REGION") from None
    except (exceptions.CredentialRetrievalError, exceptions.TokenRetrievalError, exceptions.SSOError):
        raise UsageError(f"{where}: cannot obtain the AWS credentials", "sign in again: aws sso login") from None
    except exceptions.ClientError as error:
        raise _client_error(where, error.response, error.operation_name) from None
    except (exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.IncompleteReadError) as error:
        what = f"{where}: the server does not answer or disconnects ({type(error).__name__}, {_ATTEMPTS} attempts)"
        raise ServiceError(what, "check that it is up and reachable, then repeat the command") from None
    except exceptions.BotoCoreError as error:
        raise ServiceError(f"{where}: {error}", "check the AWS_* variables and ~/.aws/config") from None


def _client_error(where: str, response: Any, operation: str) -> HarnessError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "NoSuchBucket":
        return UsageError(f"{where}: the bucket does not exist", "correct its name, or create it: aws s3 mb")
    if code in _BAD_CREDENTIALS:
        return UsageError(f"{where}: AWS rejects the credentials ({code})", _SIGN_IN)
    if code in _NO_RIGHT:
        right = _RIGHTS.get(operation, f"s3:{operation}")
        page = "storage" if right.startswith("s3:") else "cloudwatch"
        return UsageError(f"{where}: permission denied", f"these credentials need {right}: see docs/{page}.md")
    if code in _WRONG_REGION:
        return UsageError(
            f"{where}: the bucket is in another region ({code})", "set AWS_DEFAULT_REGION to the bucket's region"
        )
    if code == "NoSuchUpload":
        return UsageError(f"{where}: another process ended this upload", "repeat the command")
    if status >= 500 or code in ("SlowDown", "Throttling", "ThrottlingException", "RequestTimeout"):
        return ServiceError(f"{where}: the server failed ({code}, {_ATTEMPTS} attempts)", "repeat the command later")
    return ServiceError(f"{where}: {operation} was refused ({code})", "check the server's log")
