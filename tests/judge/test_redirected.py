"""Steps that ended at one other page: a doubt when it answers for them, as that of a login; else stated."""

from dataclasses import replace

import pytest

from harness.judge.account import Balance
from harness.judge.verdict import DOUBTFUL, VALID
from harness.run.group_counts import RedirectCount
from tests.judge.test_account_lines import LENGTH_S, USERS, a_run, counted, line, users_of

EACH = USERS * LENGTH_S // 3


def redirect(label, asked, page, count=EACH):
    return RedirectCount(label, asked, page, count)


def run_that_redirects(*redirects):
    """A run of three steps."""
    labels = ("Account", "Orders", "Search")
    samples = [one._replace(label=labels[at % 3]) for at, one in enumerate(users_of())]
    agents = replace(counted([USERS] * LENGTH_S, 16_000 - 50), redirects=redirects)
    return a_run(samples, groups=(agents,))


@pytest.mark.parametrize(
    "page",
    ["/login", "/user/sign-in", "/account/logon.aspx", "/auth/realms/shop", "/oauth2/authorize", "/authenticate",
     "/sso", "/error.html", "/403", "/errors/500.html", "/accessDenied", "/session-expired", "/sessionExpired.jsp",
     "/maintenance.html", "/Login.jsp"],
)  # fmt: skip
def test_steps_that_end_at_a_page_that_answers_for_them_are_a_doubt(page):
    summary = run_that_redirects(redirect("Account", "/account", page), redirect("Orders", "/orders/1", page))
    found = line(summary, "asked-offered")
    assert (found.balance, found.text) == (Balance.DOUBT, f"2 steps were redirected to {page} (Account, Orders)")
    assert summary.verdict.state == DOUBTFUL
    assert found.text in summary.verdict.reasons


@pytest.mark.parametrize(
    ("redirects", "stated"),
    [
        ([], ""),
        # A log-in and its end, the root, and one step.
        ([redirect("Account", "/login", "/home"), redirect("Orders", "/oauth/authorize", "/login")], ""),
        ([redirect("Account", "/", "/login"), redirect("Orders", "/logout", "/login")], ""),
        ([redirect("Account", "/account", "/login"), redirect("Orders", "/signOut.do", "/login")], ""),
        ([redirect("Account", "/account", "/login")], ""),
        # As some of the users are not logged in.
        ([redirect("Account", "/account", "/login", EACH // 2), redirect("Orders", "/orders", "/login", 9)], ""),
        # Different pages.
        ([redirect("Account", "/a", "/en/a"), redirect("Orders", "/b", "/en/b")], ""),
        # A page on purpose, as after each change of a cart.
        ([redirect("Account", "/add", "/cart"), redirect("Orders", "/remove", "/cart")],
         "Account, Orders ended at /cart"),
        ([redirect(label, f"/{label}", "/home") for label in ("Account", "Orders", "Search")],
         "Account, Orders, Search ended at /home"),
        ([redirect("Account", "/a", "/blog/loginform-design"), redirect("Orders", "/b", "/blog/loginform-design")],
         "Account, Orders ended at /blog/loginform-design"),
        ([redirect("Account", "/a", "/authors"), redirect("Orders", "/b", "/authors")],
         "Account, Orders ended at /authors"),
    ],
)  # fmt: skip
def test_redirects_that_a_site_may_mean_are_stated_at_most(redirects, stated):
    summary = run_that_redirects(*redirects)
    found = line(summary, "asked-offered")
    assert found.balance is Balance.BALANCED
    assert summary.verdict.state == VALID
    assert found.right.partition("; redirected: ")[2] == stated
