"""The cumulative counts of a run while it lasts, for what publishes them: exact, bounded in number, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from harness.base.secrecy import masked
from harness.jtl.sample import Sample, generator_of
from harness.metrics.figures import LabelCounts, with_their_causes
from harness.metrics.tally import OTHER_CAUSES, ErrorKey, LabelKey, Scope

# A monitoring system stores a series for each: more labels and causes than these are counted together, by group.
LABELS_MOST, CAUSES_MOST = 200, 100
OTHER_LABELS = "(other labels)"


@dataclass(frozen=True)
class RunSnapshot:
    """The counts of a run at one moment, in order of first appearance; nothing in it changes any more.

    `labels` has an entry per group, label, and whether it is a transaction; `causes` the errors per label, response
    code and cause. With `is_ended` the counts are the last ones, and no user is active.
    """

    labels: Mapping[LabelKey, LabelCounts]
    causes: Mapping[ErrorKey, int]
    active_users: int
    is_ended: bool


class RunCounts:
    """Counts every sample of a run, as its report does; samples of setUp are not among those that it gets.

    `hidden` are the secrets that no text may contain. No method is safe for several threads at once.
    """

    def __init__(self, once_labels: Iterable[str] = (), hidden: Sequence[str] = ()) -> None:
        self._tally = Scope(tuple(once_labels), with_timeline=False).tally()
        secrets = with_their_causes(hidden)
        # The search for secrets takes long, and the texts are few.
        self._text = cache(lambda text: masked(text, secrets))
        self._users: dict[str, int] = {}
        self._active_users: int | None = None
        self._is_ended = False

    def add(self, samples: Sequence[Sample], active_users: int | None = None) -> None:
        """Count new samples.

        `active_users` are those of now; without them those of the last rows count, which are old while requests hang.
        """
        self._active_users = active_users
        for sample in samples:
            self._tally.add(sample)
            if sample.all_threads is not None:
                # Each load generator counts its own users.
                self._users[generator_of(sample.thread_name)] = sample.all_threads

    def end(self) -> None:
        """Note that no more samples come."""
        self._is_ended = True

    def snapshot(self) -> RunSnapshot:
        """Return a copy of the counts: the first LABELS_MOST labels and CAUSES_MOST causes, and the others together."""
        labels: dict[LabelKey, LabelCounts] = {}
        for index, (key, by_source) in enumerate(self._tally.labels.items()):
            shown = self._text(key.label) if index < LABELS_MOST else OTHER_LABELS
            counts = labels.setdefault(key._replace(label=shown), LabelCounts())
            for one in by_source.values():
                counts.merge(one)
        causes: dict[ErrorKey, int] = {}
        for index, (error, kind) in enumerate(self._tally.kinds.items()):
            is_shown = index < CAUSES_MOST
            shown_error = ErrorKey(*map(self._text, error)) if is_shown else ErrorKey(OTHER_LABELS, "", OTHER_CAUSES)
            causes[shown_error] = causes.get(shown_error, 0) + kind.count
        of_rows = sum(self._users.values()) if self._active_users is None else self._active_users
        users = 0 if self._is_ended else of_rows
        return RunSnapshot(labels, causes, users, self._is_ended)
