"""Which names are offered for one that is unknown."""

import pytest

from harness.base.config import did_you_mean


@pytest.mark.parametrize(
    ("name", "names", "said"),
    [
        ("kilbill", ["killbill-day", "killbill-litle", "killbill-stripe", "lb"],
         "did you mean killbill-day, killbill-litle or killbill-stripe? "),
        ("killbill", ["lb", "killbill-day", "killbill-stripe"], "did you mean killbill-day or killbill-stripe? "),
        ("killbill-strpe", ["killbill-day", "killbill-stripe"], "did you mean killbill-stripe? "),
        ("folio", ["folio-a", "folio-b", "folio-c", "folio-d"], "did you mean folio-a, folio-b or folio-c? "),
        ("user", ["users_most", "users"], "did you mean users? "),
        ("lb-ngin", ["lb", "lb-nginx", "lb-nginx-seed"], "did you mean lb-nginx? "),
        ("day", ["folio-day"], ""),
        ("x", [], ""),
    ],
)  # fmt: skip
def test_the_names_that_are_as_similar_as_the_most_similar_one_are_listed(name, names, said):
    assert did_you_mean(name, names) == said
