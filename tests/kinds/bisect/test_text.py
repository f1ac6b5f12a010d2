"""The sentences of a bisection."""

import pytest

from harness.experiment.record import FINISHED
from harness.kinds.bisect.decision import decide
from harness.kinds.bisect.outcome import BisectOutcome
from harness.kinds.bisect.posterior import Noise, Observation, posterior
from harness.kinds.bisect.record import Candidate
from harness.kinds.bisect.text import headline
from harness.metrics.metric import metric_of


class Record:
    """What the headline reads of a record."""

    state, metric = FINISHED, metric_of("p95")

    def __init__(self, subject: str) -> None:
        self.candidates = [Candidate(f"a3f2c1{index}", subject) for index in range(4)]


class Told(BisectOutcome):
    """An outcome of runs without files: a step of 14 % at the third commit."""

    failure, verdict = "", "FOUND"
    decision = None


RUNS = [
    Observation(at, 5.0 + 0.131 * (at > 1) + 0.002 * (index % 3)) for index, at in enumerate((0, 3, 3, 0, 1, 2) * 3)
]


@pytest.mark.parametrize(
    ("subject", "shown"),
    [
        ("Use a pessimistic lock", "Use a pessimistic lock"),
        ("one two three four five six seven eight nine ten eleven", "one two three four five six seven eight nine…"),
        ("", ""),
    ],
)
def test_a_headline_has_the_commit_and_its_change_and_as_much_of_the_subject_as_fits(subject, shown):
    found = posterior(RUNS, Noise(0.01, 0.2))
    told = Told(Record(subject), (), {}, found)
    Told.decision = decide(found, range(4), 0.1)
    text = headline(told)
    title = f"a3f2c12 {shown}".rstrip()
    assert text.startswith("FOUND ")
    assert f" %: {title} (p95 +14 %, 1" in text
    assert text.endswith(").")
    assert len(text.split()) <= 20
