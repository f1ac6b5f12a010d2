"""Foreign texts in TOML."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.toml_text import toml_comment, toml_string, toml_strings


@pytest.mark.real
@given(st.text())
def test_each_text_is_read_as_it_was(text):
    assert tomllib.loads(f"a = {toml_string(text)}\nb = {toml_strings([text, text])}") == {"a": text, "b": [text] * 2}


@given(st.text())
def test_a_comment_stays_one(text):
    assert tomllib.loads(f"# {toml_comment(text)}\na = 1") == {"a": 1}


def test_half_of_a_surrogate_pair_is_no_text():
    assert tomllib.loads(f"a = {toml_string(chr(0xD800))}") == {"a": "\ufffd"}
