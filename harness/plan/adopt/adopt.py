"""Applies all fixes to a JMX, so that a run sets its target and its load."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

from harness.base.secrecy import is_secret_name
from harness.plan.adopt.addresses import fix_addresses
from harness.plan.adopt.contents import Contents, contents_of, known_plugins
from harness.plan.adopt.data import DataFile, fix_data
from harness.plan.adopt.draft import Draft, Fix
from harness.plan.adopt.groups import fix_groups, fix_modules
from harness.plan.adopt.hosts import ADDRESS, DEFAULT_PORTS, Origin, TargetFix, host_of
from harness.plan.adopt.requests import different_defaults, fix_codes, fix_elements, fix_labels, fix_properties
from harness.plan.adopt.variables import Variables
from harness.plan.checks.finding import Finding, Rule
from harness.plan.checks.runnable import not_runnable
from harness.plan.jmx.tree import CODE, Node, enabled_nodes, reads_of, secrets_of_element, texts_of
from harness.plan.jmx.values import Values
from harness.plan.jmx_writer import add_string, child, of_jmx, xml_element

_BY_THE_RUN = (
    "scheme", "host", "port", "base_path", "users", "ramp_s", "duration_s", "loops", "run_id", "think_time_ms",
)  # fmt: skip
_ENVIRONMENT = '${__groovy(System.getenv("'
_FILE_NAME = "__TestPlanName"
# What returns the name of a thread group, which often becomes another one, or that of the file.
_NAMES = re.compile(rf"__threadName\b|__threadGroupName\b|{_FILE_NAME}\b|\bgetThreadName\b")
_TEXTS = ("Argument.value", "Header.value", "Cookie.value")
_URL, _DOMAIN, _SECURE = "Authorization.url", "Cookie.domain", "Cookie.secure"
_TODO = "write ${__P(host,…)} there if the system compares it with its own name"
_TODO_SEVERAL = (
    "if --target replaces only one, give the others a property, and list them under [allow] in the plan's TOML"
)
_SHOWN_MOST = 60


@dataclass(frozen=True)
class Adoption:
    """A JMX with its fixes: what it contains, the changed draft, its data files, and what no fix can map.

    `others` are the further hosts, ports and schemes, by the properties of the fixed JMX. `secrets` are the
    values that the JMX contained, by the environment variables that the fixed JMX reads. `target` is the address of a
    plan without HTTP, as for --target.
    """

    contents: Contents
    draft: Draft
    data: tuple[DataFile, ...]
    left: tuple[Finding, ...]
    others: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    target: str = ""


def adopt(
    jmx: Path, plan_name: str, plans: Path, *, moves_secrets: bool = True, taken: Collection[str] = ()
) -> Adoption:
    """Return a JMX with all fixes, for <plan_name> in the folder `plans`. UsageError when it is not a test plan.

    Nothing is written. Data files are looked for beside the JMX and in plans/data/<plan_name>. Without `moves_secrets`
    its passwords, tokens and keys stay in it. `taken` are environment variables that it reads for other values.
    """
    draft = Draft.read(jmx)
    nodes = enabled_nodes(draft.plan)
    mapping = Variables(draft, nodes, Values.of(nodes, {}, jmx.parent))
    contents, owners = contents_of(mapping), [nodes[0], *nodes[0].walk_all()]
    own = {read.name: read.default for read in reads_of(draft.root) if read.default is not None}
    defaults = {"base_path": "", "run_id": "adhoc"} | {name: own[name] for name in _BY_THE_RUN if name in own}
    data: dict[str, DataFile] = {}
    secrets: dict[str, str] = {}
    left = list(fix_data(mapping, data, (jmx.parent, plans / "data" / plan_name), plan_name))
    own_target = fix_addresses(mapping, defaults)
    target = TargetFix(mapping, defaults)
    left += target.apply()
    left += fix_host_bound(mapping, target)
    fix_modules(mapping)
    left += fix_groups(mapping, defaults)
    left += dict.fromkeys(fix_secrets(mapping, owners, plan_name, secrets, taken)) if moves_secrets else ()
    fix_elements(mapping)
    fix_codes(mapping)
    fix_labels(mapping)
    _add_run_id(mapping, defaults)
    fix_properties(mapping, [draft.plan, *draft.plan.walk_all()], defaults)  # with the added elements
    left += _left(mapping, defaults, known_plugins(contents))
    values = {name: value for value, name in secrets.items()}
    return Adoption(contents, draft, tuple(data.values()), tuple(left), target.others, values, own_target)


def _add_run_id(mapping: Variables, defaults: dict[str, str]) -> None:
    """Define a variable in the Test Plan with the run's name: a request may send it, to be found in the system's logs.

    It is run_id, unless the plan has that name for something else.
    """
    plan = mapping.nodes[0]
    if any(read.name == "run_id" for read in reads_of(mapping.draft.root)):
        return
    name = "lth_run_id" if any("run_id" in text for text in texts_of(mapping.draft.root)) else "run_id"
    table = plan.element.find("elementProp/collectionProp[@name='Arguments.arguments']")
    argument = xml_element("elementProp", name=name, elementType="Argument")
    run_id = of_jmx(f"${{__P(run_id,{defaults['run_id']})}}")
    for key, text in (("name", name), ("value", run_id), ("metadata", "=")):
        add_string(argument, f"Argument.{key}", text)
    if table is None:
        variables = xml_element(
            "elementProp", name="TestPlan.user_defined_variables", elementType="Arguments", testclass="Arguments"
        )
        child(variables, "collectionProp", name="Arguments.arguments").append(argument)
        mapping.draft.add(plan.element, variables, Fix.LOAD)
    else:
        mapping.draft.add(table, argument, Fix.LOAD)


def _left(mapping: Variables, defaults: dict[str, str], plugins: Sequence[str]) -> Iterator[Finding]:
    """Yield what no fix concerns: plans that are included, what cannot run, and unclear defaults."""
    for node in mapping.nodes:
        if node.kind == "IncludeController":
            what = f"includes the plan {node.value('IncludeController.includepath')}"
            yield Finding.at(node, Rule.OTHER_PLAN, what, "put the elements of that plan into this one")
        texts = [match for text in texts_of(node.element) for match in _NAMES.findall(text)]
        if found := next((one for one in texts if one == _FILE_NAME or Fix.GROUPS in mapping.draft.changes), ""):
            what = f"reads a name with {found}, which differs in a run"
            yield Finding.at(
                node, Rule.NAME_READ, what, "use a variable or a property instead, if requests depend on it"
            )
    yield from not_runnable(mapping.draft.plan, plugins)
    for name, texts in different_defaults(mapping.draft.root, defaults).items():
        shown = "different defaults" if is_secret_name(name) else f"the defaults {', '.join(texts)}"
        what = f"reads the property {name} with {shown}"
        yield Finding.at(mapping.nodes[0], Rule.TWO_DEFAULTS, what, "give it one default")


def fix_secrets(
    mapping: Variables, owners: Sequence[Node], plan_name: str, names: dict[str, str], taken: Collection[str]
) -> Iterator[Finding]:
    """Replace secrets in variables, parameters, headers and bodies by reads of environment variables.

    Add the names of these to `names`, by value; yield a finding for each secret that stays in the JMX.
    """
    for node in owners:
        for element in node.element.iter():
            for value in secrets_of_element(element):
                texts = [child for child in element if child.get("name") in _TEXTS and value in (child.text or "")]
                if not texts and any(_ENVIRONMENT in (child.text or "") for child in element):
                    continue  # a part of it, or what contained it, has been replaced
                has_function = any("${__" in (text.text or "").replace(_ENVIRONMENT, "") for text in texts)
                if element.tag != "elementProp" or not texts or has_function:
                    todo = "pass it as an environment variable: lth help secrets"
                    yield Finding.at(node, Rule.SECRET, "contains a password, token or key", todo)
                    continue
                name = names.get(value) or secret_name(plan_name, element.get("name", ""), {*names.values(), *taken})
                names[value] = name
                for text in texts:
                    read = f'{_ENVIRONMENT}{name}"))}}'
                    raw = text.text or ""
                    # In a text with a reference JMeter reads a backslash as an escape.
                    parts = [part if "${" in raw else part.replace("\\", "\\\\") for part in raw.split(value)]
                    mapping.draft.set_text(text, read.join(parts), Fix.SECRETS)


def secret_name(plan_name: str, key: str, taken: Collection[str]) -> str:
    """Return an environment variable that no other secret of the plan has: SHOP_PASSWORD, SHOP_PASSWORD_2."""
    base = re.sub(r"\W+", "_", f"{plan_name}_{key or 'secret'}", flags=re.ASCII).upper().strip("_")
    if not base or base[0].isdigit():
        base = f"PLAN_{base}"
    names = (base if number == 1 else f"{base}_{number}" for number in count(1))
    return next(name for name in names if name not in taken)


def fix_host_bound(mapping: Variables, target: TargetFix) -> Iterator[Finding]:
    """Let credentials and cookies of the plan's hosts be sent to --target; yield the texts that keep an old host."""
    for node in mapping.nodes:
        for entry in node.element.iter("elementProp"):
            if entry.get("elementType") == "Authorization":
                yield from _authorization(mapping, target, node, entry)
            elif entry.get("elementType") == "Cookie":
                _cookie(mapping, target, entry)
    managers = [node for node in mapping.nodes if node.kind in ("CookieManager", "AuthManager")]
    if managers and len(target.origins) > 1:
        addresses = sorted(map(str, target.origins))
        what = f"sends --target the cookies or credentials of several addresses: {', '.join(addresses)}"
        yield Finding.at(managers[0], Rule.SEVERAL_ADDRESSES, what, _TODO_SEVERAL)
    hosts = [host for host in target.texts if re.search(r"[A-Za-z0-9]", host) and "${" not in host]
    whole_names = {host: re.compile(rf"(?i)(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)") for host in hosts}
    for node in mapping.nodes:
        for text, what in _texts(node):
            if host := next((host for host, name in whole_names.items() if name.search(text)), ""):
                yield Finding.at(node, Rule.OLD_HOST, f"{what} names {host}, also when --target is another", _TODO)


def _authorization(mapping: Variables, target: TargetFix, node: Node, entry: ElementTree.Element) -> Iterator[Finding]:
    """Rewrite the address of credentials: JMeter sends them with each request whose URL begins with it."""
    prop = _property(entry, _URL)
    raw = (prop.text or "").strip() if prop is not None else ""
    if prop is None or not raw or {"host", "port"} <= mapping.values.properties_in(raw):
        return
    match = ADDRESS.match(raw) or ADDRESS.match(mapping.known(raw) or "")
    if not match:
        if "${" in raw and mapping.known(raw) is None:
            what, todo = f"its credentials are for {raw}, which is known only during the run", "write the whole address"
            yield Finding.at(node, Rule.UNKNOWN_HOST, what, todo, _URL)
        return
    scheme, host, port = (mapping.known(part or "") or part or "" for part in match.groups())
    text = target.texts.get(host)
    origin = Origin(scheme.lower(), host, port or DEFAULT_PORTS.get(scheme.lower(), ""))
    if text is None or origin not in target.origins:
        return  # no request of the plan has this address: JMeter sends these credentials with none
    path = match.string[match.end() :]
    base = "${__P(base_path,)}" if path.startswith("/") else ""
    address = f"{target.read('scheme', origin)}://{text}:{target.read('port', origin)}"
    mapping.draft.set_text(prop, f"{address}{base}{path}", Fix.TARGET)


def _cookie(mapping: Variables, target: TargetFix, entry: ElementTree.Element) -> None:
    domain = _property(entry, _DOMAIN)
    raw = (domain.text or "").strip() if domain is not None else ""
    if domain is None or not raw or "host" in mapping.values.properties_in(raw):
        return
    known = host_of(mapping, raw).removeprefix(".").lower()
    host = next((host for host in target.texts if host.lower() == known or host.lower().endswith(f".{known}")), None)
    if not host:
        return
    mapping.draft.set_text(domain, target.texts[host], Fix.TARGET)
    secure, path = _property(entry, _SECURE), _property(entry, "Cookie.path")
    is_https = any(origin.host == host and origin.scheme == "https" for origin in target.origins)
    if secure is not None and secure.text == "true" and is_https:
        mapping.draft.set_text(secure, "false", Fix.TARGET)  # TARGET may be http
    if path is not None and re.match(r"/.", path.text or ""):
        mapping.draft.set_text(path, f"${{__P(base_path,)}}{path.text}", Fix.TARGET)


def _property(entry: ElementTree.Element, name: str) -> ElementTree.Element | None:
    return next((prop for prop in entry if prop.get("name") == name), None)


def _texts(node: Node) -> Iterator[tuple[str, str]]:
    """Yield the headers, parameters, bodies and scripts of an element, and what each is."""
    if CODE.match(node.kind):
        yield node.value("script") or node.value("BeanShellSampler.query"), "its script"
        return
    for entry in node.element.iter("elementProp"):
        texts = {prop.get("name", "").rpartition(".")[2]: prop.text or "" for prop in entry}
        name, value = texts.get("name"), texts.get("value", "")
        if entry.get("elementType") == "Header":
            shown = value if len(value) <= _SHOWN_MOST else f"{value[:_SHOWN_MOST]}…"
            yield value, f"its header {name}: {shown}"
        elif entry.get("elementType") == "HTTPArgument":
            yield value, f"its parameter {name}" if name else "its body"
