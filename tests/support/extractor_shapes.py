"""Steps with extractors that find something or nothing, and what the agent counts of each in four iterations."""

from __future__ import annotations

from harness.run.group_counts import GroupCounts
from tests.support.agent_runs import answers, extractor, parent, whole
from tests.support.off_host import collection, element, flag, script, text

_PAGE = '<a id="t">1</a>'
# By kind of extractor an answer, what it finds there, and what not.
KINDS = {
    "RegexExtractor": (_PAGE, ">(.)<", "id=.(x)"),
    "BoundaryExtractor": (_PAGE, ">*<", "#*#"),
    "HtmlExtractor": (_PAGE, "a", "b"),
    "XPathExtractor": (_PAGE, "//a", "//b"),
    "XPath2Extractor": (_PAGE, "//a", "//b"),
    "JSONPostProcessor": ('{"a": 1}', "$.a", "$.b"),
    "JMESPathExtractor": ('{"a": 1}', "a", "b"),
}


def _misses(variable: str, default: str = "NOT_FOUND", more: str = "", match: int = 1, data: str = "x") -> str:
    return answers(data, below=extractor("RegexExtractor", variable, "(y)", default, match=match) + more)


def _sends(value: str, name: str = "Sends", status: str = "OK") -> str:
    return answers("", name, sent=value, status=status)


def _finds(variable: str) -> str:
    return extractor("RegexExtractor", variable, "(x)")


_ASKS = element(
    "IfController", "asks", text("IfController.condition", '${__jexl3("${asked}" != "x")}'),
    flag("IfController.useExpression"), below=_sends("${asked}"),
)  # fmt: skip
_EACH = element(
    "ForeachController", "each", text("ForeachController.inputVal", "all"), text("ForeachController.returnVal", "one"),
    flag("ForeachController.useSeparator"), below=_sends("${one}"),
)  # fmt: skip
_CHECKS = element(
    "ResponseAssertion", "checks", collection("Asserion.test_strings", "NOT_FOUND"), text("Scope.variable", "checked"),
    text("Assertion.scope", "variable"), whole("Assertion.test_type", 6),
)  # fmt: skip
_THREE = extractor(
    "JSONPostProcessor", "first;second;third", "$.a;$.b;$.c", "NOT_FOUND;0;NOT_FOUND",
    text("JSONPostProcessor.match_numbers", "1;1;1"),
)  # fmt: skip
# Picked at random, of which JMeter notes no number of matches: one of the answers is the default.
_PICKS = extractor(
    "JSONPostProcessor", "missed;zero", "$.b;$.a", "NOT_FOUND;0", text("JSONPostProcessor.match_numbers", "0;0")
)  # fmt: skip
_SCOPES = {
    "variable": (text("Sample.scope", "variable"), text("Scope.variable", "absent")),
    "parts": (text("Sample.scope", "children"),),
    "both": (text("Sample.scope", "all"),),
}
_EMPTY = extractor("RegexExtractor", "empty", "(y)", "", flag("RegexExtractor.default_empty_value"))

# By variable steps of which no miss counts as sent: the plan reads the variable in a condition or a script, the answer
# or the next one is a failure, another value is put, or nobody sends it.
KNOWN_OF = {
    "asked": _misses("asked") + _ASKS,
    "scripted": _misses("scripted", more=script("JSR223PostProcessor", "reads", "vars.get('scripted')"))
    + _sends("${scripted}"),
    "checked": _misses("checked", more=_CHECKS) + _sends("${checked}"),
    "other": _misses("other", more=_finds("other")) + _sends("${other}"),
    "before": answers("x", below=_finds("before") + extractor("RegexExtractor", "before", "(y)")) + _sends("${before}"),
    "all": _misses("all", "", match=-1) + _EACH,
    "unread": _misses("unread"),
    "refused": _misses("refused") + _sends("${refused}", "Refuses", "KO"),
    "computed": answers("${__counter(TRUE,)}", below=extractor("RegexExtractor", "computed", "(1)", "${computed}"))
    + _sends("${computed}"),
    "failed": answers("x", "Fails", below=extractor("RegexExtractor", "failed", "(y)", "NOT_FOUND"), status="KO")
    + _sends("${failed}"),
}
# By variable steps that send a miss, and how often it was looked for, not found, and sent as its name, its value of
# before, or its default.
SENT = {
    "unset": (_misses("unset", "") + _sends("${__urlencode(${unset})}"), (4, 4, 4, 0, 0)),
    "list": (_misses("list", "", match=-1) + _sends("${list_1}"), (4, 4, 4, 0, 0)),
    "group": (_misses("group") + _sends("${group_g1}"), (4, 4, 0, 0, 4)),
    "kept": (answers("${__counter(TRUE,)}", below=extractor("RegexExtractor", "kept", "(1)")) + _sends("${kept}"),
             (4, 3, 0, 3, 0)),
    "value": (_misses("value", "0") + _sends("${value}"), (4, 4, 0, 0, 4)),
    "empty": (answers("x", below=_EMPTY) + _sends("${empty}"), (4, 4, 0, 0, 4)),
    **{
        scope: (answers("x", below=extractor("RegexExtractor", scope, "(y)", "NOT_FOUND", *props))
                + _sends(f"${{{scope}}}"), (4, 4, 0, 0, 4))
        for scope, props in _SCOPES.items()
    },
    "property": (_misses("property", "${__P(absent,NOT_FOUND)}") + _sends("${property}"), (4, 4, 0, 0, 4)),
    "twice": (_misses("twice") + 2 * _sends("${twice}"), (4, 4, 0, 0, 4)),
}  # fmt: skip
# The same of extractors of several variables, in a parent transaction.
OF_SEVERAL = {
    "first": (4, 0, 0, 0, 0), "second": (4, 4, 0, 0, 4), "third": (4, 4, 0, 0, 4),
    "missed": (4, 4, 0, 0, 4), "zero": (4, 0, 0, 0, 0),
}  # fmt: skip
# All of them by variable; two extractors look for some of them, and none looks into a failure.
EXTRACTIONS = {
    **{f"found{kind}": (4, 0, 0, 0, 0) for kind in KINDS},
    **{f"left{kind}": (4, 4, 0, 0, 4) for kind in KINDS},
    **dict.fromkeys(KNOWN_OF, (4, 4, 0, 0, 0)),
    **dict.fromkeys(("other", "before"), (8, 4, 0, 0, 0)),
    "computed": (4, 0, 0, 0, 0),
    "failed": None,
    **{variable: counts for variable, (_, counts) in SENT.items()},
    **OF_SEVERAL,
}


def extractor_plan() -> str:
    """Return all steps, for one user."""
    kinds = (
        answers(page, "Finds", extractor(kind, f"found{kind}", found, "NOT_FOUND")
                + extractor(kind, f"left{kind}", not_found, "NOT_FOUND"))
        + _sends(f"${{found{kind}}} ${{left{kind}}}")
        for kind, (page, found, not_found) in KINDS.items()
    )  # fmt: skip
    several = answers('{"a": 1}', below=_THREE) + answers('{"a": 0}', below=_PICKS)
    several += _sends("${first} ${second} ${third} ${missed} ${zero}")
    return "".join((*kinds, *KNOWN_OF.values(), *(steps for steps, _ in SENT.values()), parent("Both", several)))


# Of some variables the default that is written.
DEFAULTS = {"twice": "NOT_FOUND", "value": "0", "empty": "", "second": "0", "property": "${…}"}


def extractions_of(counts: GroupCounts) -> dict[str, tuple[int, ...]]:
    """By variable how often it was looked for, not found, and sent as its name, its old value, or its default."""
    found = dict[str, tuple[int, ...]]()
    for one in (each for each in counts.extractions if each.extractor):
        more = (one.count, one.missed_count, one.sent_unset_count, one.sent_kept_count, one.sent_default_count)
        found[one.variable] = tuple(map(sum, zip(more, found.get(one.variable, (0,) * 5), strict=True)))
    return found
