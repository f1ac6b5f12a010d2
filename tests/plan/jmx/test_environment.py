"""How the JMX of a run reads environment variables: as properties, which need no script engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.plan.jmx.diff import changes_of
from harness.plan.jmx.environment import as_in_plan, environment_option, with_properties_for
from tests.support.off_host import jmx, request, text

READ = '${__groovy(System.getenv("SHOP_PW"))}'
PROPERTY = "${__P(harness.environment.SHOP_PW,)}"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (READ, PROPERTY),
        ("${__groovy(System.getenv(&quot;SHOP_PW&quot;))}", PROPERTY),
        ("${__groovy(System.getenv('SHOP_PW'))}", PROPERTY),
        ("${__groovy( java.lang.System.getenv( &apos;SHOP_PW&apos; ) )}", PROPERTY),
        ("${__groovy(System.getenv(&#34;SHOP_PW&#34;),)}", PROPERTY),
        (f"a{READ}b{READ}\\$c", f"a{PROPERTY}b{PROPERTY}\\$c"),
        (f"${{__urlencode({READ})}}", f"${{__urlencode({PROPERTY})}}"),
    ],
)
def test_a_read_of_a_secret_is_a_read_of_a_property(given: str, sent: str) -> None:
    assert with_properties_for(given.encode(), ["SHOP_PW"]).decode() == sent
    assert as_in_plan(sent).count("System.getenv") == sent.count("harness.environment")


@pytest.mark.parametrize(
    "given",
    [
        '${__groovy(System.getenv("OTHER"))}',
        '${__groovy(System.getenv("SHOP_PW").trim())}',
        '${__groovy(System.getenv("SHOP_PW"),password)}',
        '${__groovy(System.getenv("SHOP_PW") + "x")}',
        "${__groovy(System.getenv(\"SHOP_PW'))}",
        "${__groovy(System.getenv(SHOP_PW))}",
        'System.getenv("SHOP_PW")',
    ],
)
def test_whatever_else_a_plan_evaluates_stays(given: str) -> None:
    assert with_properties_for(given.encode(), ["SHOP_PW"]).decode() == given
    assert as_in_plan(given) == given


@pytest.mark.parametrize(
    ("names", "option"),
    [
        ((), ""),
        (("A", "_b2"), "-Dharness.environment=A,_b2"),
        (("A -javaagent:x.jar", "B", "C,D", 'E"', "ü", "", "1A", "F\n"), "-Dharness.environment=B"),
        (("A B",), ""),
    ],
)
def test_only_names_of_variables_are_in_the_options_of_the_jvm(names: tuple[str, ...], option: str) -> None:
    assert environment_option(names) == option


def test_the_plan_of_a_run_does_not_differ_from_that_of_an_earlier_one(tmp_path: Path) -> None:
    earlier, later = tmp_path / "earlier.jmx", tmp_path / "later.jmx"
    earlier.write_text(jmx(request(text("Argument.value", READ))))
    later.write_bytes(with_properties_for(earlier.read_bytes(), ["SHOP_PW"]))
    assert earlier.read_bytes() != later.read_bytes()
    assert changes_of(earlier, later) == ()
    later.write_bytes(later.read_bytes().replace(b"SHOP_PW", b"SHOP_KEY"))
    assert [(one.old, one.new) for one in changes_of(earlier, later)] == [(READ, READ.replace("PW", "KEY"))]
