"""Verbs and options of earlier versions: one line says what to use instead."""

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("run", "shop", "--remotes", "10.0.0.7:1099"), "--remotes"),
        (("sweep", "shop", "--remotes=10.0.0.7", "-u", "1,5"), "--remotes"),
        (("soak", "--keys", "keys"), "--keys"),
        (("generator", "--host", "10.0.0.7"), "generator"),
        (("generator-keys",), "generator-keys"),
    ],
)
def test_what_went_with_rmi_is_named_with_what_to_use_instead(arguments, what):
    with pytest.raises(UsageError) as refused:
        main(arguments, "lth")
    assert str(refused.value) == f"{what} went in 1.2.0; use --on ssh:gen1,gen2; see lth help generators"


def test_a_plan_may_have_the_name_of_a_verb_that_went():
    with pytest.raises(UsageError, match="--plan=generator: unknown"):
        main(("run", "generator"), "lth")
