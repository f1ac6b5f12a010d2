"""Defines the findings about a test plan: what is wrong, in which element, why it matters, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from harness.plan.jmx.tree import Node


class Rule(Enum):
    """A rule that a test plan can break: its stable code, and why a plan must follow it."""

    # The numbers of a run would be wrong or misleading.
    LISTENER = "listener", "a listener takes time and memory of the load generator, and so changes the results"
    NO_CODE_ASSERTION = "no-code-assertion", "a wrong answer with an accepted code counts as a success"
    SAME_LABEL = "same-label", "a report has one row per label, which mixes the numbers of different requests"
    LOAD_GROUPS = "load-groups", "the users, rate and duration of a run apply to one thread group"
    FIXED_LOAD = "fixed-load", "the run would not have the load that its report names"
    UNREAD_PROPERTY = "unread-property", "the plan ignores what the run requests"
    NO_DEFAULT = "no-default", "without a value JMeter uses 1 or an empty text"
    TWO_DEFAULTS = "two-defaults", "without a value the same property has different values in different elements"
    GOAL_LABEL = "goal-label", "a goal for a label that no sample has is always missed"
    MISSING_FILE = "missing-file", "JMeter cannot start the users that read it"
    BAD_PATH = "bad-path", "JMeter cannot send the request, and counts it as failed"
    NO_VARIABLE = "no-variable", "JMeter fails every sample that such an assertion checks"
    LOST_MODULE = "lost-module", "JMeter looks up every Module Controller first, and then does not start the test"
    ABSENT_CLASS = "absent-class", "JMeter reads all elements first, and then does not start the test"
    PLACEHOLDER = "placeholder", "JMeter would send it as it is"
    NO_SAMPLER = "no-sampler", "a run of it has no sample"
    SECRET = "secret", "everyone who can read the test plan knows the secret"
    ENDED_USERS = "ended-users", "from then on a run has fewer users than the JMX, or other ones"
    NAME_READ = "name-read", "requests that depend on it are not those of the JMX"
    # Requests would reach a system other than the target.
    FIXED_HOST = "fixed-host", "its requests go there and not to the target of the run"
    UNKNOWN_HOST = "unknown-host", "its requests may go to a host other than the target"
    NO_HOST = "no-host", "its requests have no address"
    OLD_HOST = "old-host", "a system may refuse, or answer differently, a request that names another host"
    SEVERAL_ADDRESSES = "several-addresses", "a cookie or credential of one is sent with the requests of another"
    SEVERAL_SYSTEMS = "several-systems", "the numbers of one system would be reported as those of another"
    EMBEDDED_RESOURCES = (
        "embedded-resources",
        "embedded files may be on any host, and the page's times include them",
    )
    DNS = "dns", "a name of the target may lead to another host"
    SCRIPT = "script", "code can reach any host"
    OTHER_PROTOCOL = "other-protocol", "only HTTP requests can be checked"
    UNKNOWN_ELEMENT = "unknown-element", "nothing is known about what it sends, and where to"
    CREDENTIAL = "credential", "it opens an account, a repository or a login, not the system under test"
    SENT_ON = "sent-on", "whoever the target redirects to would get the credential"
    JMETER_FILE = "jmeter-file", "JMeter, Java or its logging would read settings from it, which can name code to run"
    JMETER_SETTING = "jmeter-setting", "the harness, and its check of what JMeter reaches, rely on this setting"
    OTHER_PLAN = "other-plan", "the elements of the included plan are not checked"
    # The results of the run would be lost.
    FILE_OF_RUN = "file-of-run", "the results of the run would be overwritten"

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        self.why = why

    @property
    def is_about_load(self) -> bool:
        """Return whether it concerns the load alone: then one user may still run the plan once."""
        return self in (Rule.LOAD_GROUPS, Rule.FIXED_LOAD, Rule.UNREAD_PROPERTY)


@dataclass(frozen=True)
class Finding:
    """One broken rule: `what` is wrong, and `todo` corrects it.

    `element` is the name of the JMeter element, empty for the whole plan. `path` are the names from the Test Plan down
    to it, separated by ` > `; `line` is its line in the JMX, if known. `attribute` is the JMX property that has the
    wrong value, such as `HTTPSampler.domain`, or empty.
    """

    rule: Rule
    element: str
    what: str
    todo: str
    path: str = ""
    line: int | None = None
    attribute: str = ""

    @classmethod
    def at(cls, node: Node, rule: Rule, what: str, todo: str, attribute: str = "") -> Finding:
        """Return a finding about an element."""
        return cls(rule, node.name, what, todo, node.path, node.line, attribute)

    @property
    def code(self) -> str:
        """The rule's stable code, such as `fixed-host`."""
        return self.rule.code

    @property
    def why(self) -> str:
        """Why the plan must follow the rule."""
        return self.rule.why

    @property
    def text(self) -> str:
        """The element and what is wrong with it, in one sentence."""
        return f"{self.element}: {self.what}" if self.element else self.what

    def text_in(self, file: str) -> str:
        """Return file, line, path of the element, and what is wrong: `plans/shop.jmx:12: Shop > Users > Buy: …`."""
        where = f"{file}:{self.line}" if self.line else file
        return f"{where}: {self.path}: {self.what}" if self.path and self.element else f"{where}: {self.text}"
