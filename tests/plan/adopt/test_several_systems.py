"""A JMX with several ports or schemes of one host keeps them apart, and `lth init --fix` asks which system each is."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.checks.check import check_plan, refusals
from harness.plan.checks.finding import Finding, Rule
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.plan import load_plan
from harness.plan.spec import parse_target
from tests.support.off_host import element, host, request, text, variables

HOST = "${__P(host,shop.example.org)}"


def to(name: str, port: str = "", scheme: str = "", address: str = "shop.example.org") -> str:
    return request(
        *([host(address)] if address else []),
        *([text("HTTPSampler.port", port)] if port else []),
        *([text("HTTPSampler.protocol", scheme)] if scheme else []),
        name=name,
    )


def adopted(folder: Path, *parts: str, domain: str = "", port: str = "") -> Adoption:
    defaults = element("ConfigTestElement", "Defaults", host(domain), text("HTTPSampler.port", port))
    group = element("ThreadGroup", "Users", text("ThreadGroup.num_threads", "1"), below="".join(parts))
    (folder / "own.jmx").write_text(
        f'<jmeterTestPlan><hashTree><TestPlan testname="Shop"/><hashTree>{defaults}{group}</hashTree></hashTree>'
        "</jmeterTestPlan>"
    )
    return adopt(folder / "own.jmx", "shop", folder / "plans")


def addresses(adoption: Adoption) -> dict[str, tuple[str, str, str]]:
    return {
        node.name: tuple(node.value(f"HTTPSampler.{name}") for name in ("protocol", "domain", "port"))
        for node in adoption.draft.plan.walk()
        if node.kind == "HTTPSamplerProxy"
    }


def several(adoption: Adoption) -> list[Finding]:
    return [one for one in adoption.left if one.rule is Rule.SEVERAL_SYSTEMS]


def test_a_second_port_has_a_property_of_its_own_and_is_asked_about(tmp_path: Path) -> None:
    adoption = adopted(tmp_path, to("H1", "8080"), to("H2", "8080"), to("H2C", "8081"), to("H3", "8081"))
    own = ("${__P(scheme,http)}", HOST, "${__P(port,8080)}")
    other = (*own[:2], "${__P(port_2,${__P(port,8080)})}")
    assert addresses(adoption) == {"H1": own, "H2": own, "H2C": other, "H3": other}
    (left,) = several(adoption)
    assert left.text == (
        "H2C: goes to http://shop.example.org:8081, other requests to http://shop.example.org:8080; "
        "a run sends both to --target"
    )
    assert left.todo == (
        'unless that is one system now, set port_2 = "8081" under [properties], and hosts = '
        '["shop.example.org:8081"] under [allow], in the plan\'s TOML'
    )


def test_a_second_scheme_has_a_port_and_a_scheme_of_its_own(tmp_path: Path) -> None:
    adoption = adopted(tmp_path, to("Page"), to("Pay", scheme="https"), to("End"))
    scheme, _, port = addresses(adoption)["Pay"]
    assert scheme == "${__P(scheme_2,${__P(scheme,http)})}"
    assert port == "${__P(port_2,${__P(port,80)})}"
    assert adoption.others == {"port_2": "443", "scheme_2": "https"}
    assert [left.element for left in several(adoption)] == ["Pay"]


def test_a_request_with_only_a_port_of_its_own_is_another_system(tmp_path: Path) -> None:
    parts = (to("A", address=""), to("B", "9090", address=""), to("C", address=""))
    adoption = adopted(tmp_path, *parts, domain="shop.example.org", port="8080")
    assert addresses(adoption)["B"] == ("", "", "${__P(port_2,${__P(port,8080)})}")
    assert [left.element for left in several(adoption)] == ["B"]


def test_an_address_in_a_path_does_not_get_the_port_of_the_defaults(tmp_path: Path) -> None:
    whole = request(name="Whole", path="http://shop.example.org/x")
    adoption = adopted(tmp_path, to("A", address=""), to("B", address=""), whole, domain="shop.example.org", port="81")
    assert addresses(adoption)["Whole"][2] == "${__P(port_2,${__P(port,81)})}"
    assert adoption.others == {"port_2": "80"}


def test_another_host_has_one_number_for_its_host_and_its_port(tmp_path: Path) -> None:
    adoption = adopted(tmp_path, to("A"), to("B"), to("C", "8443", "https", "id.example.org"))
    assert adoption.others == {"host_2": "id.example.org", "port_2": "8443", "scheme_2": "https"}
    assert several(adoption) == []  # a further host is shown by init, and is not contacted


@pytest.mark.parametrize("ports", [("", "80"), ("${port}", "8080"), ("${later}", "8080")])
def test_one_address_in_several_spellings_is_one_system(tmp_path: Path, ports: tuple[str, str]) -> None:
    known = variables(port="8080")
    later = element("RegexExtractor", "Later", text("RegexExtractor.refname", "later"))
    adoption = adopted(
        tmp_path, known, later, *(to(f"{number}", port) for number, port in enumerate((*ports, ports[1])))
    )
    assert adoption.others == {}
    assert several(adoption) == []


def test_the_second_system_is_kept_when_the_plan_names_and_allows_it(tmp_path: Path) -> None:
    adoption = adopted(tmp_path, to("A", "8080"), to("B", "8081"), to("C", "8080"))
    write_adopted(tmp_path / "plans", "shop", adoption, "own.jmx")
    toml = tmp_path / "plans" / "shop.toml"
    toml.write_text(toml.read_text().replace('# port_2 = "8081"', 'port_2 = "8081"'))
    plan = load_plan(tmp_path / "plans", "shop")
    load = resolve_load(parse_load(LoadArguments()), plan.load)
    target = parse_target("http://shop.example.org:8080/", "target", "")
    properties = plan.own_properties(is_embedded=False)
    assert [one.rule for one in refusals(plan, target, load, properties, ())] == [Rule.FIXED_HOST]
    with toml.open("a") as file:
        file.write('[allow]\nhosts = ["shop.example.org:8081"]\n')
    check_plan(load_plan(tmp_path / "plans", "shop"), target, load, properties, ())
