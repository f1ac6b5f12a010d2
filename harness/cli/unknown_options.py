"""Answers options of JMeter and of other load tools, and misspelt ones, in one line with the option that is meant."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NoReturn

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.cli.options import OPTIONS

# Options of k6, Locust, wrk, hey, Gatling, Taurus and others, and properties that test plans often have.
_SAME = {
    "threads": "users", "thread": "users", "user": "users", "vus": "users", "vu": "users", "clients": "users",
    "concurrency": "users", "connections": "users", "c": "users", "u": "users",
    "rps": "rate", "arrival-rate": "rate", "throughput": "rate", "spawn-rate": "ramp", "rampup": "ramp",
    "ramp-up": "ramp", "rampup-time": "ramp", "time": "duration", "run-time": "duration", "hold-for": "duration",
    "hold": "duration", "iterations": "loops", "loop": "loops", "think-time": "think", "thinktime": "think",
    "pause": "think", "delay": "think", "timer": "think", "host": "target", "url": "target", "server": "target",
    "environment": "env", "threshold": "goal", "thresholds": "goal", "fail-on": "goal", "test": "plan", "jmx": "plan",
    "slo": "goal", "sla": "goal", "headers": "header", "property": "properties", "tag": "note", "comment": "note",
}  # fmt: skip
# Options of JMeter whose value may follow, and what does their work here.
_OF_JMETER = {
    "-l": "the samples of a run are in reports/<plan>/<run>/samples.jtl",
    "-q": "give each property, as with --properties 'amount=5 currency=EUR'",
    "-G": "give each property, as with --properties 'amount=5 currency=EUR'",
    "-j": "the log of a run is reports/<plan>/<run>/jmeter.log",
    "-R": "use load generators, as with --on ssh:gen1,gen2",
    "-D": "write it into jvm_args of [generator] in a profile",
    "-L": "write it into jvm_args of [generator] in a profile",
    "-o": "use --html: the report as one HTML file",
}
# Verbs of other tools, and words for what ours do.
_VERBS = {
    "runs": "list", "results": "list", "show": "open", "view": "open", "start": "run", "test": "run", "load": "run",
    "version": "--version", "upload": "push", "download": "pull", "diff-runs": "compare", "validate": "check",
    "dry-run": "check", "install": "setup", "clean": "doctor", "new": "init", "create": "init", "helpp": "help",
    "graph": "history", "trend": "history", "stress": "sweep", "find": "capacity", "leak": "soak", "ci": "nightly",
}  # fmt: skip
_NAMES = {key.partition("/")[0] for key in OPTIONS}
_PROPERTY = re.compile(r"-J(?P<name>[\w.-]+)=(?P<value>.*)", re.DOTALL)
_CHOICE = re.compile(r"(?P<option>.+): invalid choice: '(?P<value>.*)' \(choose from (?P<choices>.*)\)", re.DOTALL)
_NO_VALUE = re.compile(r"(?P<option>.+): ignored explicit argument (?P<value>.*)", re.DOTALL)
_MISSING = "the following arguments are required: "
_UNRECOGNIZED, _NAME = "unrecognized arguments: ", re.compile(r"--?(?P<name>[A-Za-z][\w-]*)")


class OneLineParser(argparse.ArgumentParser):
    """A parser that raises a UsageError with the nearest option instead of printing all of them."""

    def error(self, message: str) -> NoReturn:
        """Raise the UsageError."""
        shown = f"lth help {re.split('[ /]', self.prog)[-1]}"
        all_options = f"{shown} lists all"
        if not message.startswith(_UNRECOGNIZED):
            raise UsageError(_plain(message), f"{shown} explains it")
        words = message.removeprefix(_UNRECOGNIZED).split()
        word = next((one for one in words if one.startswith("-")), "")
        if not word:
            has_sides = {"--a", "--b"} <= self._option_string_actions.keys() and len(words) == 2
            todo = f"give the sides as --a={words[0]} --b={words[1]}" if has_sides else all_options
            raise UsageError(f"{' '.join(words)}: too many arguments", todo)
        option = word.partition("=")[0]
        if ours := _OF_JMETER.get(option[:2] if option[1:2].isupper() else option):
            raise UsageError(f"{option}: an option of JMeter", ours)
        raise UsageError(f"{option}: no such option", f"{self._meant(option)}{all_options}")

    def _meant(self, option: str) -> str:
        """Return the option that is meant, as a question; empty when none is similar."""
        own = {flag for action in self._actions for flag in action.option_strings if action.help != argparse.SUPPRESS}
        match = _NAME.fullmatch(option)
        same = f"--{_SAME.get(match['name'].lower(), '')}" if match else ""
        if same in own:
            return f"did you mean {same}? "
        return "other verbs have it; " if option.removeprefix("--") in _NAMES else did_you_mean(option, own)


def _plain(message: str) -> str:
    """Return a message of argparse in our words."""
    text = message.removeprefix("argument ")
    if match := _CHOICE.fullmatch(text):
        choices = re.findall("'([^']*)'", match["choices"])
        near = did_you_mean(match["value"], choices)
        return f"{match['option']}={match['value']}: no such value; {near}there are: {', '.join(choices)}"
    if match := _NO_VALUE.fullmatch(text):
        return f"{match['option']} takes no value, such as {match['value']}"
    if text.startswith(_MISSING):
        names = text.removeprefix(_MISSING).split(", ")
        return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing"
    return text


def meant_verb(word: str, verbs: Sequence[str]) -> str:
    """Return the verb that is meant, as a question; empty when none is similar."""
    same = _VERBS.get(word.lower().lstrip("-"), "")
    return f"did you mean {same}? " if same else did_you_mean(word, verbs)


def refuse_jmeters(arguments: Sequence[str], own: str) -> None:
    """Raise a UsageError for a command line of JMeter, `-n -t x.jmx` or `-Jname=value`, with that of `lth`.

    `own` is the command up to the options, such as `lth run`.
    """
    words = list(arguments)
    plans = [plan for option, plan in pairwise(words) if option == "-t" and plan.endswith(".jmx")]
    properties = list(_properties(words))
    if plans:
        more = f" --properties {shlex.quote(' '.join(properties))}" if properties else ""
        shown = " ".join(word for word in ("-n" if "-n" in words else "", f"-t {plans[0]}") if word)
        raise UsageError(f"{shown}: options of JMeter", f"type: {own} {shlex.quote(plans[0])}{more}")
    for given in properties:
        name, _, value = given.partition("=")
        same = _SAME.get(name.lower(), name.lower())
        option = {"users": "-u", "duration": "-d", "rate": "-r"}.get(same)
        first = f"{option} {shlex.quote(value)}, or " if option else ""
        raise UsageError(f"-J{given}: an option of JMeter", f"give {first}--properties {shlex.quote(given)}")


def _properties(words: Sequence[str]) -> Iterator[str]:
    """Yield the properties of -Jname=value and -J name=value."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if match := _PROPERTY.fullmatch(f"-J{following}" if word == "-J" else word):
            yield f"{match['name']}={match['value']}"
