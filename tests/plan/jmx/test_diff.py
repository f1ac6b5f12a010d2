"""`lth diff`: every change of a JMX is one line that names it; what is no change is none."""

from __future__ import annotations

import copy
import random
import subprocess
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.plan.jmx.diff import changes
from harness.plan.jmx.tree import parse, tree_of
from harness.plan.jmx.words import one_line, text_lines
from tests.support.commands import command
from tests.support.paths import ROOT

WEEKLY = pytest.mark.counterpart

JMX = sorted([*(ROOT / "plans").glob("*.jmx"), ROOT / "tests" / "plan" / "adopt" / "a_users_own.jmx"])
ROOTS = {path.name: parse(path).getroot() for path in JMX}
SHOP = """<jmeterTestPlan><hashTree><TestPlan testname="Shop"/><hashTree>
  <ThreadGroup testname="Users">
    <elementProp name="ThreadGroup.main_controller" elementType="LoopController">
      <stringProp name="LoopController.loops">3</stringProp>
    </elementProp>
    <stringProp name="ThreadGroup.num_threads">50</stringProp>
  </ThreadGroup>
  <hashTree>
    <HTTPSamplerProxy testname="Login">
      <elementProp name="HTTPsampler.Arguments" elementType="Arguments">
        <collectionProp name="Arguments.arguments">
          <elementProp name="user" elementType="HTTPArgument">
            <stringProp name="Argument.name">user</stringProp>
            <stringProp name="Argument.value">ann</stringProp>
          </elementProp>
          <elementProp name="lang" elementType="HTTPArgument">
            <stringProp name="Argument.name">lang</stringProp>
            <stringProp name="Argument.value">en</stringProp>
          </elementProp>
        </collectionProp>
      </elementProp>
      <stringProp name="HTTPSampler.path">/login</stringProp>
    </HTTPSamplerProxy>
    <hashTree>
      <ResponseAssertion testname="Code">
        <collectionProp name="Asserion.test_strings"><stringProp name="49586">200</stringProp></collectionProp>
      </ResponseAssertion>
      <hashTree/>
      <ConstantTimer testname="Think"><stringProp name="ConstantTimer.delay">1000</stringProp></ConstantTimer>
      <hashTree/>
    </hashTree>
    <HTTPSamplerProxy testname="Cart"><stringProp name="HTTPSampler.path">/cart</stringProp></HTTPSamplerProxy>
    <hashTree/>
    <GenericController testname="Checkout"/>
    <hashTree>
      <HTTPSamplerProxy testname="Pay"><stringProp name="HTTPSampler.path">/pay</stringProp></HTTPSamplerProxy>
      <hashTree/>
    </hashTree>
  </hashTree>
</hashTree></hashTree></jmeterTestPlan>"""
MORE = '<stringProp name="1">304'
PAY = """<HTTPSamplerProxy testname="Pay"><stringProp name="HTTPSampler.path">/pay</stringProp></HTTPSamplerProxy>
      <hashTree/>"""
CART = SHOP[SHOP.index('<HTTPSamplerProxy testname="Cart"') : SHOP.index("<GenericController")]
LANG = SHOP[SHOP.index('<elementProp name="lang"') : SHOP.index("        </collectionProp>\n      </elementProp>")]


def lines(old: Xml.Element, new: Xml.Element) -> list[str]:
    return [one.line for one in changes(tree_of(old, {}), tree_of(new, {}))]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (">50<", ">80<", "thread group *Users*: Number of Threads (users) 50 → 80"),
        (">3<", ">-1<", "thread group *Users*: Loop Count 3 → -1"),
        (">1000<", ">2000<", "timer *Think* of *Login*: Thread Delay (ms) 1000 → 2000"),
        (">ann<", "><", "request *Login*: parameter *user* ann → (empty)"),
        (">user<", ">name<", "parameter *user* renamed in request *Login* to parameter *name*"),
        (LANG, "", "parameter *lang* removed from request *Login*"),
        (">200<", ">201<", "assertion *Code* of *Login*: Patterns to Test 200 → 201"),
        (">200<", f">200</stringProp>{MORE}<", "assertion *Code* of *Login*: Patterns to Test 200 → 200, 304"),
        ('testname="Cart"', 'testname="Basket"', "request *Cart* renamed to *Basket*"),
        ('testname="Cart"', 'testname=""', "request *Cart* renamed to (no name)"),
        ('testname="Cart"', 'testname="  "', "request *Cart* renamed to (no name)"),
        ('testname="Cart"', 'testname="Cart" enabled="false"', "request *Cart* disabled"),
        (CART, "", "request *Cart* removed from *Users*"),
        (PAY, "", "request *Pay* removed from *Checkout*"),
        (CART, CART + PAY.replace("Pay", "Ship"), "request *Ship* added to *Users* after *Cart*"),
        ('testname="Checkout"', 'testname="Buy"', "controller *Checkout* renamed to *Buy*"),
    ],
)  # fmt: skip
def test_a_change_is_one_line(old: str, new: str, expected: str) -> None:
    assert SHOP.count(old) == 1
    assert lines(Xml.fromstring(SHOP), Xml.fromstring(SHOP.replace(old, new))) == [expected]


def test_a_moved_request_is_named_with_both_places() -> None:
    moved = SHOP.replace(PAY, "").replace(CART, CART + PAY)
    expected = "request *Pay* moved from *Checkout* to *Users* after *Cart*"
    assert lines(Xml.fromstring(SHOP), Xml.fromstring(moved)) == [expected]


@pytest.mark.parametrize("name", ["", "  "])
def test_an_element_without_a_name_is_named_after_its_kind(name: str) -> None:
    shop = SHOP.replace('testname="Checkout"', f'testname="{name}"').replace('testname="Pay"', f'testname="{name}"')
    found = [
        *lines(Xml.fromstring(shop), Xml.fromstring(shop.replace(CART, ""))),
        *lines(Xml.fromstring(shop.replace(CART, "")), Xml.fromstring(shop)),
        *lines(Xml.fromstring(SHOP), Xml.fromstring(shop)),
        *lines(Xml.fromstring(shop), Xml.fromstring(SHOP)),
    ]
    assert found and not [line for line in found if "**" in line or "* *" in line], found


def test_requests_that_are_put_into_a_new_controller_are_moved_not_removed() -> None:
    wrapped = f'<LoopController testname="Twice"/><hashTree>{CART}</hashTree>'
    assert lines(Xml.fromstring(SHOP), Xml.fromstring(SHOP.replace(CART, wrapped))) == [
        "controller *Twice* added to *Users* after *Login*",
        "request *Cart* moved from *Users* to *Twice* at the beginning",
    ]


def test_a_moved_request_that_was_changed_is_both() -> None:
    moved = SHOP.replace(PAY, "").replace(CART, CART + PAY.replace("/pay", "/pay/v2"))
    assert lines(Xml.fromstring(SHOP), Xml.fromstring(moved)) == [
        "request *Pay* moved from *Checkout* to *Users* after *Cart*",
        "request *Pay*: Path /pay → /pay/v2",
    ]


def test_the_order_of_parameters_is_a_change() -> None:
    user = SHOP[SHOP.index('<elementProp name="user"') : SHOP.index('<elementProp name="lang"')]
    swapped = SHOP.replace(user, "").replace(LANG, LANG + user)
    (line,) = lines(Xml.fromstring(SHOP), Xml.fromstring(swapped))
    assert line.startswith("request *Login*: order of Arguments.arguments ")


def test_of_a_long_text_the_line_has_what_is_around_the_difference() -> None:
    old, new = "x" * 500 + " old " + "y" * 500, "x" * 500 + " new " + "y" * 500
    (line,) = lines(Xml.fromstring(SHOP.replace("/cart", old)), Xml.fromstring(SHOP.replace("/cart", new)))
    assert len(line) < 200
    assert " old y" in line.partition("→")[0]
    assert " new y" in line.partition("→")[2]


class Place(NamedTuple):
    """An element, and the hashTree that contains it."""

    container: Xml.Element
    index: int

    @property
    def element(self) -> Xml.Element:
        return self.container[self.index]

    @property
    def below(self) -> Xml.Element:
        return self.container[self.index + 1]

    def cut(self) -> list[Xml.Element]:
        parts = [self.element, self.below]
        for part in parts:
            self.container.remove(part)
        return parts


def places(root: Xml.Element) -> list[Place]:
    """Return all elements but the Test Plan."""
    pairs = [
        Place(tree, at)
        for tree in root.iter("hashTree")
        for at in range(0, len(tree) - 1, 2)
        if tree[at + 1].tag == "hashTree"
    ]
    return [place for place in pairs if place.element.tag != "TestPlan"]


def name(place: Place) -> str:
    return f"*{one_line(place.element.get('testname') or place.element.tag)}*"


def shuffled(root: Xml.Element, chance: random.Random) -> None:
    """Change what is no change: order of attributes and properties, blanks between elements."""
    for element in root.iter():
        pairs = chance.sample(sorted(element.attrib.items()), len(element.attrib))
        element.attrib.clear()
        element.attrib.update(pairs)
        if len(element):
            element.text = chance.choice(["", "\n", "   \n\t"])
        element.tail = chance.choice(["", "\n", "  "])
        if element.tag not in ("hashTree", "collectionProp", "jmeterTestPlan"):
            element[:] = chance.sample(list(element), len(element))


def mutated(root: Xml.Element, kind: str, chance: random.Random) -> list[str]:
    """Change a plan in one place; return the texts that the line must have."""
    place = chance.choice(places(root))
    texts = [name(place)]
    if kind == "remove":
        place.cut()
        return [*texts, "removed from"]
    if kind == "disable":
        is_on = place.element.get("enabled", "true") == "true"
        place.element.set("enabled", str(not is_on).lower())
        return [*texts, "disabled" if is_on else "enabled"]
    if kind == "value":
        owners = [one for one in places(root) if any(prop.tag == "stringProp" for prop in one.element)]
        place = chance.choice(owners)
        prop = chance.choice(list(place.element.iter("stringProp")))
        prop.text = (prop.text or "") + "x"
        return [name(place), "x"]
    parts = place.cut()
    target = chance.choice([root.find("hashTree/hashTree"), *(one.below for one in places(root))])
    target[:0] = parts
    return [*texts, "moved"]


@pytest.mark.real
@pytest.mark.parametrize("kind", ["value", *(pytest.param(one, marks=WEEKLY) for one in ("remove", "disable", "move"))])
@given(file=st.sampled_from(sorted(ROOTS)), chance=st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_any_single_change_of_a_plan_is_one_line_that_names_it(kind: str, file: str, chance: random.Random) -> None:
    old = ROOTS[file]
    new = copy.deepcopy(old)
    texts = mutated(new, kind, chance)
    is_same = canonical(old) == canonical(new)  # it was moved past its like, or to where it was
    shuffled(new, chance)
    found = lines(old, new)
    assert len(found) == (not is_same), found
    if found and "moved within" not in found[0]:  # of two neighbours that are swapped, either one was moved
        assert all(text in found[0] for text in texts), found


def canonical(root: Xml.Element) -> str:
    return Xml.canonicalize(Xml.tostring(root, encoding="unicode"), strip_text=True)


@pytest.mark.real
@given(file=st.sampled_from(sorted(ROOTS)), chance=st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_order_of_attributes_and_blanks_are_no_changes(file: str, chance: random.Random) -> None:
    new = copy.deepcopy(ROOTS[file])
    shuffled(new, chance)
    assert lines(ROOTS[file], new) == []
    assert list(text_lines(tree_of(new, {}))) == list(text_lines(tree_of(ROOTS[file], {})))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The shop, and the same with 80 users."""
    for name, text in (("old.jmx", SHOP), ("new.jmx", SHOP.replace(">50<", ">80<"))):
        (tmp_path / name).write_text(text)
    return tmp_path / "old.jmx", tmp_path / "new.jmx"


def test_the_exit_code_is_that_of_diff(files) -> None:
    old, new = files
    done = command("lth", "diff", old, new)
    assert (done.returncode, done.stdout) == (1, "thread group *Users*: Number of Threads (users) 50 → 80\n")
    done = command("lth", "diff", old, old)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    new.write_text(SHOP[:-20])
    done = command("lth", "diff", old, new)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "new.jmx: not XML" in line
    assert command("lth", "diff", old).returncode == 2
    assert command("lth", "diff", "--text", old, new).returncode == 2


def test_a_plan_without_end_is_one_line(files) -> None:
    old, new = files
    new.write_text(SHOP.replace(CART, "<A/><hashTree>" * 5000 + "</hashTree>" * 5000))
    done = command("lth", "diff", old, new)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "nested too deeply" in done.stderr


def test_secrets_are_masked(files) -> None:
    old, new = files
    old.write_text(SHOP.replace(">user<", ">password<").replace(">ann<", ">opensesame77<"))
    new.write_text(SHOP.replace(">user<", ">password<").replace(">ann<", ">opensesame88<"))
    done = command("lth", "diff", old, new)
    assert done.returncode == 1
    assert "parameter *password* ••• → •••" in done.stdout
    assert "opensesame" not in done.stdout


def test_the_text_has_a_line_per_element_parameter_and_line_of_a_script(files) -> None:
    old, _ = files
    old.write_text(SHOP.replace("/cart", "first\nsecond"))
    assert (
        command("lth", "diff", "--text", old).stdout
        == """\
test plan *Shop*
  thread group *Users*: Loop Count=3, Number of Threads (users)=50
    request *Login*: Path=/login
      - parameter *user*: Value=ann
      - parameter *lang*: Value=en
      assertion *Code*: Patterns to Test=200
      timer *Think*: Thread Delay (ms)=1000
    request *Cart*
      Path:
      | first
      | second
    controller *Checkout*
      request *Pay*: Path=/pay
"""
    )


def test_as_text_a_file_that_is_no_plan_is_printed_as_it_is(files) -> None:
    old, _ = files
    old.write_text("<<<<<<< HEAD\n")
    done = command("lth", "diff", "--text", old)
    assert (done.returncode, done.stdout, done.stderr) == (0, "<<<<<<< HEAD\n", "")
    assert command("lth", "diff", "--text", old.with_name("none.jmx")).returncode == 2


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.real
def test_git_shows_a_changed_plan_as_text_after_init_git(files, monkeypatch) -> None:
    old, new = files
    folder = old.parent
    monkeypatch.chdir(folder)
    (folder / ".gitattributes").write_text("*.csv text\n")
    refused = command("lth", "init", "--git", GIT_CEILING_DIRECTORIES=str(folder.parent))
    assert refused.returncode == 2
    assert "not in a git repository" in refused.stderr
    git(folder, "init", "-q")
    for _ in range(2):
        assert command("lth", "init", "--git").returncode == 0
        assert (folder / ".gitattributes").read_text() == "*.csv text\n*.jmx diff=jmx\n"
    git(folder, "add", "old.jmx")
    git(folder, "commit", "-qm", "First")
    old.write_text(new.read_text())
    lines = git(folder, "diff").splitlines()
    assert "-  thread group *Users*: Loop Count=3, Number of Threads (users)=50" in lines
    assert "+  thread group *Users*: Loop Count=3, Number of Threads (users)=80" in lines
