"""Reads SET, such as `killbill.plugin_threads=30 amount=25`: settings of the system, and properties of the plan."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_name
from harness.plan.jmx.tree import read_properties
from harness.plan.plan import SET_BY_THE_RUN, Plan
from harness.system.system import Manifest, Setting, Settings, there_is

_EXAMPLE = '--set="plugin_threads=30 amount=25"'
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class SetValues:
    """The assignments of SET, each name=value: settings of the system; properties of the plan or of JMeter.

    `shown` are all of them as a report has them: a setting has its system's name in front.
    """

    settings: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    @property
    def property_names(self) -> frozenset[str]:
        """The names of the properties."""
        return frozenset(one.partition("=")[0] for one in self.properties)


def sorted_values(
    text: str, plan: Plan, system: Manifest | None, systems: Collection[str], *, is_target: bool
) -> SetValues:
    """Return the assignments of SET: to settings of the plan's `system`, and to properties.

    A name with a dot may be a property of JMeter. UsageError for any other name that neither the system nor the plan
    has, a setting of another system (`systems` are the names of all) or of a target, a secret, and a name that occurs
    twice.
    """
    own = sorted(read_properties(plan.jmx_path).keys() - SET_BY_THE_RUN.keys())
    settings, properties, shown = [], [], []
    for assignment in split_text(text):
        name, equals, _ = assignment.partition("=")
        if not equals or not name:
            raise UsageError(f"{assignment} is not name=value", f"give {_EXAMPLE}")
        if is_secret_name(name):
            raise UsageError(f"{name} is a secret, and the report has the command", "set it in a profile")
        front, dot, rest = name.partition(".")
        owner, setting = (front, rest) if dot and front in systems else ("", name)
        _check_single(assignment, setting, system)
        if system and owner in ("", system.name) and (owner or setting in system.settings):
            if is_target:
                raise UsageError(f"{name} is a setting of {system.name}, and --target starts no system", "leave it out")
            settings.append(assignment)
            shown.append(f"{system.name}.{assignment.removeprefix(f'{system.name}.')}")
        elif owner:
            starts = f"starts {system.name}" if system and not is_target else "starts no system"
            raise UsageError(f"{name}: this run {starts}", f"leave {owner}'s settings out")
        else:
            _check_property(name, own, plan, system)
            properties.append(assignment)
            shown.append(assignment)
    names = [one.partition("=")[0] for one in shown]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise UsageError(f"{name} occurs twice", "give each value once")
    return SetValues(tuple(settings), tuple(properties), tuple(shown))


def _check_single(assignment: str, setting: str, system: Manifest | None) -> None:
    """Raise a UsageError for several numbers of a setting that has one: a run has one value, a sweep has several."""
    name, _, value = assignment.partition("=")
    default = system.settings.get(setting) if system else None
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    if is_number and "," in value:
        what = f"{assignment}: a run has one value of {name}"
        raise UsageError(what, f'give one; for all of them: lth sweep --set="{assignment}"')


def _check_property(name: str, own: Collection[str], plan: Plan, system: Manifest | None) -> None:
    """Raise a UsageError for a name that is no property of the plan, and cannot be one of JMeter."""
    if name in own or name in SET_BY_THE_RUN:  # with_properties names the variable that sets the latter
        return
    settings = sorted(system.settings) if system else []
    with_system = [f"{system.name}.{setting}" for setting in settings] if system else []
    near = did_you_mean(name, [*settings, *own, *with_system])
    if "." in name and not near:
        return
    what = f"{name} is neither a setting of {system.name if system else 'a system'} nor a property of"
    raise UsageError(f"{what} {plan.jmx_path.name}", f"{near}there are: {', '.join([*settings, *own]) or 'none'}")


def with_settings(
    system: Manifest, settings: Settings, assignments: Iterable[str], of_plan: Mapping[str, object]
) -> Settings:
    """Return a system's settings, changed by assignments such as plugin_threads=30 or killbill.plugin_threads=30.

    UsageError for an unknown name, a value of another type or out of range, and a setting of which the plan's `of_plan`
    has another value, because the plan's name would then be misleading.
    """
    given: dict[str, Setting] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        bare = name.removeprefix(f"{system.name}.")
        if bare not in system.settings:
            raise UsageError(f"{name}: {system.name} has no such setting", there_is(bare, system.settings))
        given[bare] = _typed(value, system.settings[bare])
        if of_plan.get(bare, given[bare]) != given[bare]:
            what = f"{bare}={value}, but the plan sets {of_plan[bare]!r}"
            raise UsageError(what, "leave it out, or choose another plan")
    return system.resolve_settings({**settings, **given})


def split_text(text: str) -> list[str]:
    """Return the parts of a text that blanks separate; quotes join parts. UsageError for a quote that nothing ends."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text}: {str(error).lower()}", "close the quote") from None


def _typed(value: str, default: Setting) -> Setting:
    """Return a value with the type of the setting's default; the text itself when it has another type."""
    if isinstance(default, bool):
        return _TRUTH.get(value.lower(), value)
    if isinstance(default, list):
        return [part.strip() for part in value.split(",") if part.strip()]
    try:
        return int(value) if isinstance(default, int) else float(value) if isinstance(default, float) else value
    except ValueError:
        return value
