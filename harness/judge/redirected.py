"""Finds steps that redirects led to one other page, such as that of a login: what was measured is that page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from harness.judge.evidence import Evidence
from harness.judge.ignored import named
from harness.judge.users_counted import groups_of

# So many of a step's samples end at a page, of so many steps. One step may lead there on purpose.
_RATIO, _STEPS_LEAST = 0.95, 2
# Pages that answer for another one: of a login, and of errors. Other pages are ends on purpose, as the cart after each
# change of it.
_ANSWERS_FOR_OTHERS = re.compile(
    r"(?:^|[/._-])(?:(?:log|sign)[_-]?(?:in|on)|o?auth(?:2|enticat\w+|ori[sz]\w+)?|sso|(?:session[_-]?)?(?:expired|timeout)|"
    r"errors?|(?:access[_-]?)?denied|forbidden|unauth\w+|not[_-]?found|maintenance|unavailable|captcha|challenge|[45]\d\d)"
    r"(?:$|[/._-])",
    re.IGNORECASE,
)
_LOG_OUT = re.compile(r"(?:log|sign)[_-]?(?:out|off)", re.IGNORECASE)
ADVICE = (
    "They succeeded, but what they measured is that page or the way to it. Did the login fail, is a cookie or a token "
    "missing? Let an assertion look for a text of the page that a step asks for."
)


def redirected_text(evidence: Evidence) -> str:
    """Return which steps ended at a page of a login or an error; empty without several that ask for something else."""
    pages = {page: labels for page, labels in _pages(evidence).items() if _ANSWERS_FOR_OTHERS.search(page)}
    if not pages:
        return ""
    page, labels = max(pages.items(), key=lambda pair: len(pair[1]))
    return f"{len(labels)} steps were redirected to {page} ({named(labels)})"


def redirected_to(evidence: Evidence) -> str:
    """Return the steps that ended at one other page, of whatever kind; empty without any."""
    return "; ".join(f"{named(labels)} ended at {page}" for page, labels in _pages(evidence).items())


def _pages(evidence: Evidence) -> Mapping[str, list[str]]:
    """Return the pages at which several steps ended in nearly all of their samples, with the steps.

    The root of a site, a login and a logout lead to a page on purpose.
    """
    if not (groups := groups_of(evidence.run)):
        return {}
    from harness.run.group_counts import redirect_counts  # here: no bare JTL has any

    counts = redirect_counts(one for group in groups for one in group.redirects)
    sent = {label.label: label.sample_count for label in evidence.whole_labels}
    pages = defaultdict[str, list[str]](list)
    for step in counts:
        if not _leads_on(step.asked) and step.count >= _RATIO * sent.get(step.label, float("inf")):
            pages[step.page].append(step.label)
    return {page: sorted(labels) for page, labels in pages.items() if len(labels) >= _STEPS_LEAST}


def _leads_on(path: str) -> bool:
    return path == "/" or bool(_LOG_OUT.search(path) or _ANSWERS_FOR_OTHERS.search(path))
