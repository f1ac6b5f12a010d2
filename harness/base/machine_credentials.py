"""Knows the environment variables with credentials of this machine, which no request may carry, and those of programs.

A load test sends what its system asks for, which its user puts into a variable of its own. These variables open
something else (a cloud account, a repository, a cluster, a login by SSH), and many machines have them set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from harness.base.errors import UsageError

_NAMES = re.compile(
    # Clouds: their keys, and the files that contain keys.
    r"AWS_(?!(DEFAULT_)?REGION$|PAGER$|EXECUTION_ENV$).+|AMAZON_.*(KEY|TOKEN)|.+_SECRET_ACCESS_KEY|.*AWS_?(ACCESS_?KEY|SECRET|SESSION).*|BOTO_.*|S3_SECRET_?KEY"
    r"|GOOGLE_(APPLICATION_CREDENTIALS|CREDENTIALS|OAUTH.*|CLOUD_KEYFILE.*)|GCLOUD_.*KEY.*|CLOUDSDK_.*|GCP_.*KEY.*"
    r"|AZURE_(.*SECRET.*|.*PASSWORD|.*TOKEN.*|.*KEY|.*CERTIFICATE.*|CREDENTIALS|STORAGE_.*)|ARM_(CLIENT_.*|ACCESS_KEY|SAS_TOKEN)"
    r"|(DIGITALOCEAN|DO|HCLOUD|LINODE|VULTR|SCW|HEROKU|FLY|NETLIFY|VERCEL|CLOUDFLARE|CF|FASTLY|OVH|OS|OCI|IBMCLOUD|IC"
    r"|ALICLOUD|ALIBABA_CLOUD|TENCENTCLOUD|YC|RAILWAY|RENDER)_(.*_)?(API_?)?(TOKEN|KEY|SECRET|PASSWORD|ACCESS_TOKEN|ACCESS_KEY"
    r"|SECRET_KEY|API_KEY|SECRET_ACCESS_KEY|ACCESS_KEY_SECRET)"
    # Clusters, secret stores and infrastructure.
    r"|KUBECONFIG|KUBE_?TOKEN|VAULT_.*(TOKEN|SECRET_ID)|CONSUL_HTTP_TOKEN|NOMAD_TOKEN|TF_TOKEN_.+|TFE_TOKEN|PULUMI_(ACCESS_TOKEN"
    r"|CONFIG_PASSPHRASE)|ANSIBLE_VAULT_PASSWORD.*|SOPS_.*KEY.*|OP_SERVICE_ACCOUNT_TOKEN|OP_SESSION.*|BW_SESSION|DOPPLER_TOKEN"
    r"|INFISICAL_TOKEN|AKEYLESS_.*(KEY|TOKEN)"
    # Logins of this machine, and files with passwords.
    r"|SSH_(AUTH_SOCK|AGENT_PID|ASKPASS|.*KEY.*|PASSPHRASE)|GPG_(AGENT_INFO|PASSPHRASE|PRIVATE_KEY)|GNUPGHOME|SUDO_PASSWORD"
    r"|PGPASSWORD|PGPASSFILE|MYSQL_PWD|NETRC"
    # Code hosts, build servers and registries of packages.
    r"|(GH|GITHUB|GITLAB|GITEA|FORGEJO|BITBUCKET|CODEBERG)_(.*_)?(TOKEN|PAT|PASSWORD|PRIVATE_KEY|APP_PASSWORD)|GH_TOKEN|GIT_ASKPASS"
    r"|CI_(.*_)?(TOKEN|PASSWORD|JWT.*)|ACTIONS_(ID_TOKEN_REQUEST|RUNTIME|CACHE|RESULTS)_?.*|SYSTEM_ACCESSTOKEN|CIRCLE_.*TOKEN.*"
    r"|BUILDKITE_AGENT_.*TOKEN|DRONE_.*(TOKEN|SECRET)|TRAVIS_.*TOKEN|JENKINS_.*(TOKEN|PASSWORD|SECRET)|CODECOV_TOKEN|SONAR_TOKEN"
    r"|NPM_.*TOKEN|NODE_AUTH_TOKEN|YARN_.*TOKEN|NUGET_.*KEY|PYPI_.*(TOKEN|PASSWORD)|TWINE_.*|POETRY_PYPI_TOKEN.*|UV_PUBLISH_.*"
    r"|CARGO_REGISTR(Y|IES)_.*|GEM_HOST_API_KEY|RUBYGEMS_.*KEY|MAVEN_.*(PASSWORD|TOKEN|PASSPHRASE)|GRADLE_PUBLISH_.*"
    r"|SONATYPE_.*|OSSRH_.*|DOCKER_(.*PASSWORD|.*TOKEN|AUTH_CONFIG|CONFIG)|DOCKERHUB_.*|REGISTRY_(PASSWORD|AUTH.*|TOKEN)|COSIGN_.*"
    r"|ARTIFACTORY_.*|JFROG_.*(TOKEN|KEY|PASSWORD)|SLACK_.*TOKEN|SENTRY_AUTH_TOKEN|HF_TOKEN|HUGGING_?FACE.*TOKEN",
    re.IGNORECASE,
)

# What loaders, JVMs, shells and other programs that a run may start read by themselves: where code is, and options.
_OF_PROGRAMS = re.compile(
    r"LD_(PRELOAD|LIBRARY_PATH|AUDIT|DEBUG.*|BIND_\w+|ORIGIN_PATH|PROFILE.*|ASSUME_KERNEL|HWCAP_MASK|TRACE_.*|VERBOSE|SHOW_AUXV)"
    r"|DYLD_(INSERT_LIBRARIES|\w+_PATH|FORCE_.+|IMAGE_SUFFIX|PRINT_.+)|GLIBC_TUNABLES|MALLOC_(ARENA|CHECK|TRACE|PERTURB|TOP|MMAP|TRIM)_?.*"
    r"|GCONV_PATH|LOCPATH|NLSPATH|LANG|LANGUAGE|LC_(ALL|CTYPE|COLLATE|MESSAGES|NUMERIC|TIME|MONETARY)|TZ|TZDIR|TMPDIR|TEMP|TMP"
    r"|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS|(HTTPS?|ALL|NO|FTP)_PROXY|SSL_CERT_(FILE|DIR)|SSLKEYLOGFILE|(CURL|REQUESTS)_CA_BUNDLE|CURL_HOME"
    r"|_?JAVA_(TOOL_OPTIONS|OPTIONS|OPTS|HOME)|JDK_JAVAC?_OPTIONS|(JDK|JRE)_HOME|(IBM|OPENJ9)_JAVA_OPTIONS|JAVACMD|CLASSPATH"
    r"|JVM_ARGS|HEAP|GC_ALGO|JMETER_(HOME|OPTS|COMPLETE_ARGS|CMD_.+|LANGUAGE|BIN)|MAVEN_(OPTS|ARGS)|MAKEFLAGS"
    r"|PATH|HOME|USER|LOGNAME|SHELL|ENV|IFS|CDPATH|PS[0-4]|BASH_(ENV|FUNC_.+|XTRACEFD|LOADABLES_PATH|COMPAT)|BASHOPTS|SHELLOPTS"
    r"|PROMPT_COMMAND|ZDOTDIR|EDITOR|VISUAL|PAGER|LESSOPEN|DISPLAY|PYTHON[A-Z0-9]+|PERL5?(LIB|OPT|DB)|RUBY(LIB|OPT)"
    r"|NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED)|XDG_\w+_(HOME|DIRS?)"
    r"|GIT_(SSH|SSH_COMMAND|EXEC_PATH|DIR|WORK_TREE|CONFIG.*|EDITOR|PAGER|EXTERNAL_DIFF|PROXY_COMMAND|TEMPLATE_DIR|INDEX_FILE|TRACE.*)"
    r"|PG(HOST|HOSTADDR|PORT|OPTIONS|SERVICE|SERVICEFILE|SYSCONFDIR|SSL\w+)|LTH_TRUST|HARNESS_(RUN_ID|RUNS|GUARDIAN|LIFELINE|CI)",
    re.IGNORECASE,
)


def check_name(name: str, who: str) -> None:
    """Raise a UsageError for a variable that programs read themselves, which no file of a project may set, and for a
    text that is no name of a variable.
    """
    if not name or "=" in name or "\0" in name:
        raise UsageError(f"{who}: {name!r} is no name of a variable", "give a name such as SHOP_TOKEN")
    if _OF_PROGRAMS.fullmatch(name):
        what = f"{who} sets {name}, which programs read themselves"
        raise UsageError(what, "give it a name of its own, such as SHOP_TOKEN")


def is_of_the_machine(name: str) -> bool:
    """Return whether a variable has a credential of this machine or its user, not of a system under test."""
    return bool(_NAMES.fullmatch(name.strip()))


def credentials_in(names: Iterable[str]) -> list[str]:
    """Return the names of such variables, each once."""
    return [name for name in dict.fromkeys(names) if is_of_the_machine(name)]


class Refusal(NamedTuple):
    """What is refused, and what to do."""

    what: str
    todo: str


def refusal(name: str) -> Refusal:
    """Return why a request may not carry a variable, and what to do."""
    what = f"reads {name}: it is a credential of this machine or of its accounts, which no request may carry"
    return Refusal(
        what, f"if the system needs this value, set another variable, such as SHOP_TOKEN, to ${name}, and name that one"
    )


def check_variables(names: Iterable[str], who: str) -> None:
    """Raise a UsageError when `who` reads a credential of this machine from the environment."""
    for name in credentials_in(names):
        what, todo = refusal(name)
        raise UsageError(f"{who} {what}", todo)
