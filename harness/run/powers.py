"""Lists what a project may do besides sending requests to the target that its user names: what a person decides about.

A load, a goal or a request is not listed: a change of it needs no new consent. The text of scripts, programs and
settings is part of a power as a hash.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from harness.base.install.plugin_list import is_file_name
from harness.base.install.plugins import is_own_lock
from harness.base.once import sum_of_file
from harness.base.project import CHECKOUT, SHIPPED, Project
from harness.base.regular import regular
from harness.base.toml_text import toml_string, toml_strings
from harness.base.units import plural
from harness.cloudwatch import queries
from harness.notify.settings import NotifySettings, requested
from harness.plan.checks.reach import functions_with_code, has_code_as_condition
from harness.plan.guard import is_code, variables_read
from harness.plan.jmx.data_files import data_files, file_names_of, names_in_functions
from harness.plan.jmx.elements import Effect, effect_of
from harness.plan.jmx.headers import variables_in
from harness.plan.jmx.tree import CODE, Node, enabled_nodes, plan_tree, texts_of
from harness.plan.jmx.values import Values
from harness.plan.plan import Plan
from harness.plan.spec import Profile, Target
from harness.system.system import Manifest, Settings

# The kinds of powers, each one line of the question.
LOADS, READS, RUNS, ADDS, SENDS = "load", "read", "run", "let JMeter load", "send results to"
KINDS = (LOADS, READS, RUNS, ADDS, SENDS)
# A target that is typed is no power of the project, but a project that loads something at all is asked about once.
TYPED = "the target that you name"
_GETENV = re.compile(r"(?:getenv\s*\(\s*|getenv\(\)\s*\.?(?:get)?[(\[]\s*|__env\s*\()\s*[\"']?([A-Za-z_]\w*)")


class Power(NamedTuple):
    """One thing that a project may do; `stamp` is the hash of what does it, empty where the text says everything."""

    kind: str
    text: str
    stamp: str = ""


@dataclass(frozen=True)
class Subject:
    """What a command is about to use: a project, a plan, a profile, a system, and a target.

    `settings` are those of the system that the user did not type. `typed_variables` are those of headers that the user
    typed; with `is_plan_typed` the user named the plan's file or its address, and with `is_target_typed` the target's
    address.
    """

    project: Project
    plan: Plan
    profile: Profile
    manifest: Manifest | None = None
    settings: Settings = field(default_factory=dict)
    target: Target | None = None
    typed_variables: Sequence[str] = ()
    is_plan_typed: bool = False
    is_target_typed: bool = False


def powers_of(subject: Subject) -> tuple[Power, ...]:
    """Return the powers of the parts that neither the tool has brought nor its user has typed; empty without any."""
    is_own_project = subject.project.file is None or is_shipped(subject.project.folder)
    powers = list[Power]()
    if not is_own_project:
        powers += _of_project(subject)
    if not _is_shipped_plan(subject.plan):
        own = list(of_plan(subject.plan, subject.project.folder, subject.typed_variables))
        if not subject.is_plan_typed:
            own.append(Power(LOADS, TYPED))
        powers += own
    if subject.profile.path and not is_shipped(subject.profile.path):
        powers += _of_profile(subject.profile)
    if subject.manifest and not is_shipped(subject.manifest.folder):
        name = subject.manifest.folder.name
        powers.append(Power(RUNS, f"the programs of systems/{name}", _stamp_of_folder(subject.manifest.folder)))
    powers += _of_settings(subject)
    return tuple(dict.fromkeys(powers))


def _is_shipped_plan(plan: Plan) -> bool:
    return is_shipped(plan.jmx_path) and plan.path is not None and is_shipped(plan.path)


def _of_settings(subject: Subject) -> Iterator[Power]:
    """Yield the texts that foreign files give to a system: options of its JVM, or the address of its database.

    Numbers, truth values and the choices of the system start nothing.
    """
    if subject.manifest is None:
        return
    name, own = subject.manifest.name, dict(subject.manifest.settings)
    if subject.profile.path and is_shipped(subject.profile.path):
        own |= subject.profile.system_settings.get(name, {})
    if _is_shipped_plan(subject.plan):
        own |= subject.plan.embedded_settings
    for key, value in subject.settings.items():
        if isinstance(value, str | list) and key not in subject.manifest.choices and value != own.get(key):
            text = toml_strings(value) if isinstance(value, list) else toml_string(value)
            yield Power(RUNS, f"the system {name} with {key} = {text}")


def is_shipped(path: Path) -> bool:
    """Return whether a file is one of the tool itself, of its clone, or of a commit of it in a work tree."""
    path = path.resolve()
    return any(
        path == top or any(path.is_relative_to((top / kind).resolve()) for kind in ("plans", "env", "systems"))
        for top in _tops(path)
    )


def _tops(path: Path) -> Iterator[Path]:
    """Yield the folders of the tool's own files: where it is, and the work trees that its clone knows."""
    yield SHIPPED.resolve()
    for folder in (path, *path.parents) if CHECKOUT else ():
        if work_tree := _work_tree(folder):
            if CHECKOUT and work_tree.parent == (_work_tree(CHECKOUT) or CHECKOUT / ".git" / "worktrees" / "-").parent:
                yield folder
            return


def _work_tree(folder: Path) -> Path | None:
    """Return the folder in .git/worktrees of the clone that a work tree belongs to; None for anything else.

    That folder names the work tree, too: a .git that came with somebody's files may name any clone.
    """
    link = folder / ".git"
    try:
        text = regular(link, 1).read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
        entry = (folder / text).resolve()
        back = regular(entry / "gitdir", 1).read_text(encoding="utf-8", errors="replace").strip()
        return entry if (entry / back).resolve() == link.resolve() else None
    except (OSError, ValueError):
        return None


def _of_project(subject: Subject) -> Iterator[Power]:
    project = subject.project
    if subject.target and not subject.is_target_typed:
        yield Power(LOADS, subject.target.origin)
    for name in variables_in(*project.headers.values()):
        if name not in subject.typed_variables and name in subject.plan.secrets:
            yield _variable(name)


def of_plan(plan: Plan, home: Path, typed: Sequence[str] = ()) -> Iterator[Power]:
    """Yield the powers of a plan in a project's folder; variables that the user typed are none."""
    nodes = enabled_nodes(plan_tree(plan.jmx_path))
    values = Values.of(nodes, plan.own_properties(is_embedded=False), plan.jmx_path.parent)
    texts = [text for node in nodes for text in texts_of(node.element)]
    names = [
        *plan.secrets,
        *variables_in(*plan.headers.values()),
        *(name for node in nodes for name in variables_read(node)),
    ]
    names += [name for text in texts for name in _GETENV.findall(text)]
    for name in dict.fromkeys(names):
        if name not in typed and name not in plan.embedded_secrets:
            yield _variable(name)
    for name in dict.fromkeys(_files_outside(nodes, values, plan, home)):
        yield Power(READS, f"the file {name}")
    for host in plan.allow.hosts:
        yield Power(LOADS, host)
    if plan.allow.embedded_resources:
        yield Power(LOADS, "embedded resources")
    if plan.allow.scripts:
        scripts = [node for node in nodes if _is_script(node, values)]
        if scripts:
            yield Power(
                RUNS, f"{plural(len(scripts), 'script element')} of {plan.jmx_path.name}", _stamp(scripts, plan)
            )
    for name, value in {**plan.properties, **plan.embedded_properties}.items():
        if is_code(name):
            yield Power(ADDS, f"{name}={value}", _stamp_of_file(plan.jmx_path.parent / value))
    if plan.allow.other_protocols:
        kinds = {node.kind.rpartition(".")[2] for node in nodes if effect_of(node) in (Effect.CONNECTS, Effect.UNKNOWN)}
        yield from (Power(RUNS, kind) for kind in sorted(kinds))
    for plugin in plan.plugins:
        is_file = is_file_name(plugin)
        yield Power(ADDS, f"the plugin {plugin}", _stamp_of_file(plan.jmx_path.parent / plugin) if is_file else "")
    if plan.plugins and not is_own_lock(plan.plugin_list):
        yield Power(ADDS, f"the jars in {plan.plugin_list.lock.name}", _stamp_of_file(plan.plugin_list.lock))


def _of_profile(profile: Profile) -> Iterator[Power]:
    if profile.build:
        yield Power(RUNS, f"{' '.join(profile.build)} (to build a commit)")
    if profile.database:
        name = profile.database.password_name
        password = f", with ${name}" if name else ", with the password that psql finds"
        yield Power(LOADS, f"the database {profile.database.url}{password}")
    if spec := queries.requested(profile.cloudwatch, profile.name):
        place = f" at {spec.endpoint_url}" if spec.endpoint_url else ""
        yield Power(READS, f"CloudWatch with the AWS keys of this machine{place}")
    yield from of_storage(profile)
    yield from of_notify(requested(profile.notify, profile.name))
    if profile.kubernetes:
        stamp = hashlib.sha256(json.dumps(profile.kubernetes, sort_keys=True, default=str).encode()).hexdigest()
        image = profile.kubernetes.get("image")
        yield Power(RUNS, f"the image {image} in pods" if image else "the tool's image in other pods", stamp)


def of_storage(profile: Profile) -> Iterator[Power]:
    """Yield where a profile stores its results."""
    if profile.storage:
        yield Power(SENDS, " at ".join(filter(None, (profile.storage.get("s3"), profile.storage.get("endpoint_url")))))


def of_notify(notify: NotifySettings | None) -> Iterator[Power]:
    """Yield who gets the results of a profile or a suite, and with which login."""
    if notify:
        yield from (Power(SENDS, f"{chat} (${name})") for chat, name in notify.chats)
    if notify and (mail := notify.mail):
        logins = [
            mail.user if mail.user.startswith("$") else "",
            f"${mail.password_name}" if mail.password_name else "",
        ]
        login = ", ".join(filter(None, logins))
        yield Power(SENDS, f"{', '.join(mail.to)} by {mail.host}:{mail.port}{f', with {login}' if login else ''}")


def _variable(name: str) -> Power:
    return Power(READS, f"${name}")


def _files_outside(nodes: Sequence[Node], values: Values, plan: Plan, home: Path) -> Iterator[str]:
    """Yield the files that a plan reads outside of its project, also through a link."""
    top, folder = home.resolve(), plan.jmx_path.parent
    given = [prop.text or "" for node in nodes for prop in file_names_of(node)]
    given += [name for node in nodes for text in texts_of(node.element) for name in names_in_functions(text)]
    for raw in given:
        name = values.known(raw) or raw  # one that begins with a variable may be any file
        if name.startswith(("/", "~", "\\", "${")) or ".." in Path(name).parts:
            yield name
    for name in (*data_files(plan.jmx_path), *plan.own_files):
        real = (folder / name).resolve()
        if not real.is_relative_to(folder.resolve()) and not real.is_relative_to(top):
            yield str(real)


def _is_script(node: Node, values: Values) -> bool:
    has_path = bool(node.value("TestPlan.user_define_classpath"))
    is_code_itself = effect_of(node) in (Effect.SCRIPTS, Effect.INCLUDE) or bool(CODE.match(node.kind)) or has_path
    return is_code_itself or any(functions_with_code(node, values)) or has_code_as_condition(node, values)


def _stamp(scripts: Iterable[Node], plan: Plan) -> str:
    """Return the hash of the texts of scripts, and of the files that they are in."""
    digest = hashlib.sha256()
    for node in scripts:
        for text in texts_of(node.element):
            digest.update(text.encode() + b"\0")
        for prop in file_names_of(node):
            digest.update(_stamp_of_file(plan.jmx_path.parent / (prop.text or "")).encode())
    return digest.hexdigest()


def _stamp_of_file(path: Path) -> str:
    """Return the hash of a file's content; empty for anything else."""
    try:
        return sum_of_file(path)
    except (OSError, ValueError):
        return ""


def _stamp_of_folder(folder: Path) -> str:
    """Return the hash of the names, contents and executable bits of a folder's files."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent.name != "__pycache__":
            mode = path.stat().st_mode & stat.S_IXUSR  # git keeps no other
            digest.update(f"{path.relative_to(folder)}\0{mode:o}\0{_stamp_of_file(path)}\0".encode())
    return digest.hexdigest()
