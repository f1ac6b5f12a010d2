"""Compiled templates are stored for later processes, and nothing depends on that."""

import jinja2
import pytest

from harness.base import templates as made
from harness.base.templates import templates

NAME = "history.md.j2"


@pytest.fixture
def build(tmp_path, monkeypatch):
    """The folder of what is built."""
    monkeypatch.setattr(made, "BUILD", tmp_path / "build")
    return tmp_path / "build"


def code_of(environment):
    """Return the names that a template's compiled code refers to."""
    return environment.get_template(NAME).root_render_func.__code__.co_names


@pytest.mark.usefixtures("build")
def test_a_stored_template_is_not_compiled_again(monkeypatch):
    names = code_of(templates("harness.history", is_html=False))
    monkeypatch.setattr(jinja2.Environment, "compile", lambda *_, **__: pytest.fail("compiled again"))
    assert code_of(templates("harness.history", is_html=False)) == names
    with pytest.raises(pytest.fail.Exception, match="compiled again"):
        templates("harness.history", is_html=True).get_template(NAME)


def test_a_damaged_file_is_compiled_again(build):
    names = code_of(templates("harness.history", is_html=False))
    (stored,) = (build / "templates").iterdir()
    stored.write_bytes(stored.read_bytes()[:-100])
    assert code_of(templates("harness.history", is_html=False)) == names


def test_without_a_folder_that_can_be_written_templates_are_compiled(build):
    build.write_text("not a folder")
    assert code_of(templates("harness.history", is_html=False))
