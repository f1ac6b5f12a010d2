"""Files of a JMX that becomes a plan: data, scripts and uploads are copied, or get a sample."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.adopt.toml_text import data_lines
from harness.plan.jmx.data_files import data_files
from harness.plan.jmx.tree import Node, plan_tree
from tests.plan.adopt.conftest import OWN
from tests.plan.adopt.test_adopt import variable
from tests.support.off_host import host, jmx, request
from tests.support.off_host import variables as user_variables


def test_an_absent_csv_file_gets_sample_values_with_its_columns(fixed: dict[str, Node], adoption: Adoption) -> None:
    assert fixed["Barcodes"].value("filename") == "data/shop/barcodes.csv"
    (file,) = adoption.data
    assert (file.name, file.source, file.columns) == ("data/shop/barcodes.csv", None, ("barcode", "item_id", "name"))
    head, first, *rest = file.text.splitlines()
    assert head == "barcode;item_id;name"
    barcode, item_id, name = first.split(";")
    assert (barcode, len(item_id), name) == ("3000000001", 36, "name-1")
    assert len(rest) == 99


def test_scripts_and_uploads_become_data_files_of_the_plan(tmp_path: Path) -> None:
    script = '<stringProp name="script">def token'
    own = OWN.read_text().replace(
        script, f'<stringProp name="filename">${{base}}/tool/keep.groovy</stringProp>{script}'
    )
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "keep.groovy").write_text("1")
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans")
    assert [file.name for file in adoption.data] == ["data/shop/barcodes.csv", "data/shop/keep.groovy"]
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "shop.jmx").write_bytes(adoption.draft.text())
    assert data_files(tmp_path / "plans" / "shop.jmx") == ("data/shop/barcodes.csv", "data/shop/keep.groovy")


SCRIPT = 'new BufferedReader(new FileReader("${base}/data/places.csv"))\nnew File("out.csv").text = "a"\n'
PASSWORD = '<elementProp name="password"'
NAMED = """<elementProp name="ids" elementType="Argument">
  <stringProp name="Argument.name">ids</stringProp><stringProp name="Argument.value">{}</stringProp>
</elementProp>"""


def named_in_texts(tmp_path: Path, plans: Path) -> Adoption:
    """Return the fixes of a plan with a file in a script, and one in a variable."""
    own = OWN.read_text().replace('<stringProp name="script">', f'<stringProp name="script">{escape(SCRIPT)}')
    ids = NAMED.format("C:\\Users\\someone\\shelf names.csv")
    own = own.replace(PASSWORD, f"{ids}{PASSWORD}")
    (tmp_path / "own.jmx").write_text(own)
    return adopt(tmp_path / "own.jmx", "shop", plans)


def test_files_that_scripts_read_and_variables_name_are_copied_or_get_a_sample(tmp_path: Path) -> None:
    plans = tmp_path / "plans"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "places.csv").write_text("Hall")
    adoption = named_in_texts(tmp_path, plans)
    write_adopted(plans, "shop", adoption, "own.jmx")
    names = ("data/shop/barcodes.csv", "data/shop/places.csv", "data/shop/shelf-names.csv")
    assert tuple(sorted(data_files(plans / "shop.jmx"))) == names
    assert (plans / names[1]).read_text() == "Hall"
    assert (plans / names[2]).read_text().splitlines()[:2] == ["shelf-names-1", "shelf-names-2"]
    nodes = {node.name: node for node in plan_tree(plans / "shop.jmx").walk()}
    assert variable(nodes["Variables"], "ids") == "data/shop/shelf-names.csv"
    script = nodes["Keep token"].value("script")
    assert script.startswith('new BufferedReader(new FileReader("data/shop/places.csv"))\nnew File("out.csv").text')
    assert adopt(plans / "shop.jmx", "shop", plans).draft.changes == []


def test_an_absent_file_that_a_script_reads_gets_a_sample(tmp_path: Path) -> None:
    places = next(file for file in named_in_texts(tmp_path, tmp_path / "plans").data if "places" in file.name)
    assert (places.source, places.text.splitlines()[:2]) == (None, ["places-1", "places-2"])


def test_a_random_csv_data_set_gets_sample_values_too(tmp_path: Path) -> None:
    own = OWN.read_text().replace("CSVDataSet", "com.blazemeter.jmeter.RandomCSVDataSetConfig")
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans")
    assert adoption.left == ()
    assert [(file.name, file.columns) for file in adoption.data] == [
        ("data/shop/barcodes.csv", ("barcode", "item_id", "name"))
    ]


def test_an_upload_that_only_the_run_knows_is_left(tmp_path: Path) -> None:
    prop = '<stringProp name="File.path">${base}/${name}.mrc</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    (left,) = adopt(tmp_path / "own.jmx", "shop", tmp_path).left
    assert left.text == "GET desks: reads the file ${base}/${name}.mrc"


@pytest.mark.parametrize("path", ["/home/someone/items.csv", "C:\\someone\\items.csv", "${__P(items,/x/items.csv)}"])
def test_an_absent_upload_gets_a_sample(tmp_path: Path, path: str) -> None:
    prop = f'<stringProp name="File.path">{path}</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    assert adoption.left == ()
    upload = next(file for file in adoption.data if not file.columns)
    assert (upload.name, upload.source, upload.text) == ("data/shop/items.csv", None, "sample of items.csv\n")
    assert data_lines([upload]) == ["plans/data/shop/items.csv: SAMPLE contents: replace them"]


def test_an_upload_that_an_absent_csv_file_names_gets_a_sample(tmp_path: Path) -> None:
    prop = '<stringProp name="File.path">${base}/${name}</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    assert adoption.left == ()
    rows, upload = adoption.data
    assert {row.split(";")[2] for row in rows.text.splitlines()} == {"name", "name-1"}
    assert (upload.name, upload.text) == ("data/shop/uploads/name-1", "sample of name-1\n")
    assert '<stringProp name="File.path">data/shop/uploads/${name}</stringProp>' in adoption.draft.text().decode()


def test_files_that_functions_read_are_copied_and_each_run_gets_them(tmp_path: Path) -> None:
    plans, order = tmp_path / "plans", "/order?${__FileToString(${dir}/orders/%s,,)}"
    paths = [
        order % "one.json",
        order % "${__eval(${name})}.json",
        "/${__StringFromFile(words.txt)}",
        "/${__CSVRead(gone.csv,0)}",
    ]
    requests = "".join(request(host("h.org"), name=f"R{number}", path=path) for number, path in enumerate(paths))
    (tmp_path / "own.jmx").write_text(jmx(requests, user_variables(dir="${__BeanShell(getBaseDir())}")))
    (tmp_path / "orders").mkdir()
    for name in ("orders/one.json", "orders/two.json", "words.txt"):
        (tmp_path / name).write_text(name)
    adoption = adopt(tmp_path / "own.jmx", "shop", plans)
    assert [left.text for left in adoption.left] == ["R3: a function reads the file gone.csv"]
    write_adopted(plans, "shop", adoption, "own.jmx")
    uploads = ("data/shop/uploads/one.json", "data/shop/uploads/two.json")
    assert set(data_files(plans / "shop.jmx")) == {"data/shop/one.json", *uploads, "data/shop/words.txt"}
    text = (plans / "shop.jmx").read_text()
    assert "${__FileToString(data/shop/one.json,,)}" in text
    assert "${__FileToString(data/shop/uploads/${__eval(${name})}.json,,)}" in text
    assert (plans / uploads[1]).read_text() == "orders/two.json"
    assert adopt(plans / "shop.jmx", "shop", plans).draft.changes == []


def test_uploads_of_one_folder_are_copied_and_each_run_gets_them(tmp_path: Path) -> None:
    prop = '<stringProp name="File.path">${base}/records/${name}.mrc</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    (tmp_path / "records").mkdir()
    for name in ("one.mrc", "two.mrc", "notes.txt"):
        (tmp_path / "records" / name).write_text(name)
    plans = tmp_path / "plans"
    adoption = adopt(tmp_path / "own.jmx", "shop", plans)
    assert adoption.left == ()
    write_adopted(plans, "shop", adoption, "own.jmx")
    uploads = ("data/shop/uploads/one.mrc", "data/shop/uploads/two.mrc")
    assert tuple(name for name in data_files(plans / "shop.jmx") if "uploads" in name) == uploads
    assert (plans / uploads[1]).read_text() == "two.mrc"
    assert '<stringProp name="File.path">data/shop/uploads/${name}.mrc</stringProp>' in (plans / "shop.jmx").read_text()
    assert adopt(plans / "shop.jmx", "shop", plans).draft.changes == []


def test_a_csv_file_beside_the_jmx_is_used_unless_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "own.jmx").write_bytes(OWN.read_bytes())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "barcodes.csv").write_text("barcode;item_id;name\n1;2;3\n")
    (file,) = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans").data
    assert file.source == tmp_path / "data" / "barcodes.csv"
    file.source.write_text("")
    (file,) = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans").data
    assert file.source is None and file.text.startswith("barcode;item_id;name\n")
