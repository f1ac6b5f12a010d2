"""Finds in a plan what would start code, change JMeter's own settings, or read credentials, whatever it sends.

`plan/checks/reach.py` judges where requests go; this module judges files, properties and environment variables. Both
are part of `plan/checks/check.py`: `refusals`, through which every run, check and replay goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from harness.base.errors import UsageError
from harness.base.machine_credentials import credentials_in, refusal
from harness.plan.checks.allowances import Allowances
from harness.plan.checks.finding import Finding, Rule
from harness.plan.checks.reach import inherited
from harness.plan.jmx.data_files import data_files
from harness.plan.jmx.headers import secret_header_names, with_headers
from harness.plan.jmx.tree import Node, texts_of
from harness.plan.jmx.values import UnknownValueError, Values, functions_in
from harness.plan.plan import SUB_RESULTS, Plan

# What JMeter, its libraries and Java read from their working directory or from the class path, by their first part.
JMETER_FILES = re.compile(
    r"(user|system|jmeter|reportgenerator|saveservice|upgrade|log4j|simplelogger|commons-logging|jndi|logging|httpclient|"
    r"hc|mail|javamail.*|xalan|xerces|jaxp|groovy|bsh|quartz)\.(properties|parameters)|"
    r"(hc|httpclient)\.parameters|log4j2?(-test)?\.(xml|json|jsn|ya?ml|properties)|log4j2?\.\w+\.properties|"
    r"logback.*\.(xml|groovy)|.*\.bshrc|\.bshrc|startup\.bsh|utility\.groovy|(krb5|jaas|login)\.conf|java\.(policy|security)|"
    r"\.java\.(policy|login\.config)|\.hotspotrc|\.hotspot_compiler|rmi_keystore\.jks|proxyserver\.jks|report-template|"
    r"bin|lib|meta-inf|class-data|\.jmeter.*",
    re.IGNORECASE,
)
# Properties of JMeter that name a class, code that it runs, or where it finds classes.
_CODE = re.compile(
    r"(beanshell|bsh|jsr223|groovy|polyglot|javascript|rhino|classfinder)\..*|user\.classpath|plugin_dependency_paths|"
    r".*\.class_?name|.*\.class|saveservice_properties|upgrade_properties|template\.files|"
    r"propertyEditorSearchPath|includecontroller\.prefix|xml\.parser|.*\.parameters\.file|tcp\.(handler|status\.properties)|"
    r"naming_policy\.impl|think_time_creator\..*|jmeter\.laf.*|docgeneration\..*|proxy\.cert\..*|"
    r"xpath\.namespace\.config|kerberos_jaas_application|sample_sender_.*|log4j2?\..*",
    re.IGNORECASE,
)
# Settings without which the harness cannot measure, stop or watch JMeter: ports, other machines, files and logs.
_HARNESS = re.compile(
    r"search_paths|jmeterengine\..*|jmeter\.save\.saveservice\..*|(user|system)\.properties|beanshell\.server\..*|"
    r"remote_hosts|(server|client)\.(rmi|tries|continue|retries|exit).*|server_port|rmi\..*|jmeter\.(home|logfile)|"
    r"log_(config|file|format).*|log4j_conf|(https?\.|socks|ftp\.)?proxy(Set|Host|Port|User|Pass|Domain)\w*|"
    r"https?\.proxy\w+|mirror\.server\..*|jmeter\.exit\..*|sampleresult\.(timestamp\.start|useNanoTime)",
    re.IGNORECASE,
)
# The headers that Java's client does not send to another origin.
_KEPT_BY_JAVA = ("authorization", "cookie")
_AUTO = "HTTPSampler.auto_redirects"
# Names of that client, the property that makes it the default, and the classes that always use it.
_JAVAS_CLIENT, _CLIENT = ("Java", "HTTPSampler"), "jmeter.httpsampler"
_OF_JAVA = re.compile(r".*\.HTTPSampler|(.*\.)?AccessLogSampler")
_WORD = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b(?:PGPASSWORD|KUBECONFIG|GNUPGHOME)\b")
_READS_ENVIRONMENT = re.compile(r"(?i)env")


def is_read_by_jmeter(name: str) -> bool:
    """Return whether JMeter or Java would read a file of this name in the run's folder by itself."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in (".", "/")]
    return bool(parts) and bool(JMETER_FILES.fullmatch(parts[0].strip()))


def guard_findings(
    plan: Plan, nodes: Sequence[Node], values: Values, properties: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield a finding for each file, property and variable that a plan must not have; `properties` are those of -J."""
    names = (*data_files(plan.jmx_path), *plan.own_files)
    for name in dict.fromkeys(name for name in names if is_read_by_jmeter(name)):
        todo = f"give it another name, or move it into a folder such as data/{PurePosixPath(name).name}"
        yield Finding(
            Rule.JMETER_FILE, "", f"its data file {name} has the name of a file that JMeter reads itself", todo
        )
    of_loads = (name for load in plan.load.loads for name in load.properties)
    for name in dict.fromkeys((*properties, *of_loads)):
        yield from _of_property(name, plan.allow)
    for node in nodes:
        yield from _of_functions(node, values, plan.allow)
    yield from _of_variables(plan, nodes)
    yield from _of_redirects(plan, nodes, values, properties.get(_CLIENT, ""))


def _of_property(name: str, allow: Allowances) -> Iterator[Finding]:
    if is_of_harness(name):
        yield Finding(Rule.JMETER_SETTING, "", f"sets the property {name}", "leave it out: only the harness sets it")
    elif is_code(name) and not allow.scripts:
        todo = "leave it out, or add scripts = true under [allow] in the plan's TOML"
        yield Finding(Rule.SCRIPT, "", f"sets the property {name}, which names code that JMeter loads", todo)


def check_property(name: str, allow: Allowances) -> None:
    """Raise a UsageError for a property that only the harness may set, or that is code and not permitted."""
    for finding in _of_property(name, allow):
        raise UsageError(f"--properties: the plan {finding.what}", finding.todo)


def is_of_harness(name: str) -> bool:
    """Return whether only the harness may set a property of JMeter."""
    return name != SUB_RESULTS and bool(_HARNESS.fullmatch(name))


def is_code(name: str) -> bool:
    """Return whether a property of JMeter names code, or where it is."""
    return bool(_CODE.fullmatch(name))


def _of_functions(node: Node, values: Values, allow: Allowances) -> Iterator[Finding]:
    """Yield a finding for each property that a function sets during the run and that no table may set."""
    for call in functions_in(node):
        if call.name != "__setProperty":
            continue
        try:
            name = values.text(call.parameters[0]).strip()
            found = list(_of_property(name, allow))
        except UnknownValueError as error:
            is_open = not allow.scripts and not error.known_start.strip()
            todo = "begin its name with a text of the plan, such as order_"
            what = f"sets a property whose name only the run knows ({error})"
            found = [Finding(Rule.SCRIPT, "", what, todo)] if is_open else []
        for one in found:
            yield Finding.at(node, one.rule, one.what, one.todo)


def _of_variables(plan: Plan, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Yield a finding for each credential of this machine that the plan reads from the environment."""
    for name in credentials_in(plan.secrets):
        if name not in plan.embedded_secrets:
            what, todo = refusal(name)
            yield Finding(Rule.CREDENTIAL, "", what, todo)
    for node in nodes:
        for name in credentials_in(variables_read(node)):
            if name not in plan.embedded_secrets:
                what, todo = refusal(name)
                yield Finding.at(node, Rule.CREDENTIAL, what, todo)


def _of_redirects(plan: Plan, nodes: Sequence[Node], values: Values, default: str) -> Iterator[Finding]:
    """Yield a finding for each request whose client follows redirects itself and sends credentials to other origins.

    That is Java's client with Redirect Automatically; of secret headers it keeps only two at their origin. `default` is
    the client of requests that name none.
    """
    headers = with_headers(plan.jmx_path.read_bytes(), plan.headers)
    names = [one for one in secret_header_names(headers, plan.secret_properties) if one.lower() not in _KEPT_BY_JAVA]
    if plan.allow.credentials_across or not names:
        return
    for node in (one for one in nodes if re.search("(HTTPSampler(Proxy|2)?|AccessLogSampler)$", one.kind)):
        client, redirects = inherited(node, "implementation") or default, node.value(_AUTO)
        is_named = bool(client) and values.known(client) in (*_JAVAS_CLIENT, None)
        if (is_named or _OF_JAVA.fullmatch(node.kind)) and redirects and values.known(redirects) in ("true", None):
            what = f"Java's client redirects automatically, and sends {', '.join(names)} to other hosts, too"
            todo = "tick Follow Redirects instead, or add credentials_across = true under [allow] in the plan's TOML"
            yield Finding.at(node, Rule.SENT_ON, what, todo, _AUTO)


def variables_read(node: Node) -> Iterable[str]:
    """Return the names in the texts of an element that it may read from the environment."""
    texts = (text for text in texts_of(node.element) if _READS_ENVIRONMENT.search(text))
    return dict.fromkeys(name for text in texts for name in _WORD.findall(text))
