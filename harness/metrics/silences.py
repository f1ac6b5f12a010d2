"""Decides whether a gap is a pause of the plan: whether all users may have paused at once.

A user's silence is the time between the ends of two samples in a row of one thread. In a gap every active user is
silent. Nothing is missing in it if hardly any of these silences is longer than nearly all between samples with the same
two labels are, and nearly all of those are about as long as the gap: users who began together still pause together.
Where rows are lost, a user's silence has two pauses. With few users there are two more cases:

- By chance: users who pause independently are all silent for so long, at least once in a thousand runs. With N
  silences X of U users in the rest of the run, a gap of the length L is expected N · P(X ≥ L) · R^(U-1) times, where
  R = E[(X - L)+] ÷ E[X] is the share of time at which a silence lasts for another L or longer (D. R. Cox, "Renewal
  Theory", 1962, on the residual life and on pooled processes). Where X is exponential, this is the rule for arrivals
  in `gaps`.
- In step: at another time the same users were silent together for about as long, each between samples with the same
  two labels. Lost rows begin and end anywhere. In a plan with a single label the two cannot be distinguished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.base.records import build
from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample
from harness.metrics.figures import LOAD, ONCE, group_of
from harness.metrics.gaps import GAP_LEAST_S

# With more users, a pause of all of them at once is no chance.
USERS_MOST = 5
# Of the other silences, so many may be shorter than the gap, and so many are longer than usual. Of the gap's own, so
# many may be longer than that, by a tenth; that many of the users must have one.
_SHORT_RATIO, _LONG_RATIO, _OWN_LONG_RATIO, _LONGER, _OWN_LEAST_RATIO = 0.05, 0.01, 0.04, 1.1, 0.8
# In a pause of this share of a gap or more, nobody waited for an answer.
_PAUSED_RATIO = 0.8
# A gap that is expected less often than in one of a thousand runs is none of chance.
_EXPECTED_LEAST = 0.001
# Two silences are about as long when they overlap for this share of the gap.
_ALIKE_RATIO = 0.8
# Shorter silences are only counted: no gap needs them.
_LONG_MS = _ALIKE_RATIO * GAP_LEAST_S * MS_PER_S


class Thread(NamedTuple):
    """A thread by the number of its file, because every file has its own users, and by its name."""

    file: int
    name: str


class Silence(NamedTuple):
    """From the end of a thread's sample to the end of its next one, ms since 1970, with the labels of both.

    `paused_ms` is when the pause ended, and the next sample began.
    """

    thread: Thread
    from_ms: int
    paused_ms: int
    to_ms: int
    labels: tuple[str, str]

    @property
    def length_ms(self) -> int:
        """The time from its begin to its end."""
        return self.to_ms - self.from_ms


@dataclass(frozen=True)
class _Stored:
    """The silences in a tally file: lengths and how many there are, pairs of labels, and the long silences."""

    with_transactions: bool
    silence_ms: tuple[int, ...]
    count: tuple[int, ...]
    pairs: tuple[tuple[str, str], ...]
    long: tuple[tuple[int, str, int, int, int, str, str], ...]


class Silences:
    """The silences of all threads: their lengths, and the long ones themselves.

    With `with_transactions` they are those between rows of transactions.
    """

    def __init__(self, once_labels: Iterable[str] = (), with_transactions: bool = False) -> None:
        self._once = frozenset(once_labels)
        self.with_transactions = with_transactions
        self._last: dict[Thread, Sample] = {}
        self._counts: Counter[int] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._long: list[Silence] = []

    def add(self, sample: Sample, file: int = 0) -> None:
        """Count a sample of a file, in the order of its rows; rows of transactions count where there are no others."""
        is_load = group_of(sample.thread_name, sample.label, self._once) in (LOAD, ONCE)
        if not is_load or sample.is_transaction is not self.with_transactions:
            return
        thread = Thread(file, sample.thread_name)
        last = self._last.get(thread)
        if last is not None and sample.end_ms <= last.end_ms:
            return  # a part of the sample before
        self._last[thread] = sample
        if last is None:
            return
        silence = Silence(thread, last.end_ms, sample.start_ms, sample.end_ms, (last.label, sample.label))
        self._counts[silence.length_ms] += 1
        self._pairs[silence.labels] += 1
        if silence.length_ms >= _LONG_MS:
            self._long.append(silence)

    def merge(self, other: Silences, first_file: int) -> None:
        """Add the silences of other files, which are numbered from `first_file` on."""
        self._counts.update(other._counts)
        self._pairs.update(other._pairs)
        self._long += [
            one._replace(thread=Thread(first_file + one.thread.file, one.thread.name)) for one in other._long
        ]

    def to_plain(self) -> dict[str, Any]:
        """Return plain data, from which `from_plain` makes the same silences."""
        return {
            "with_transactions": self.with_transactions,
            "silence_ms": list(self._counts),
            "count": list(self._counts.values()),
            "pairs": sorted(self._pairs),
            "long": [(*one.thread, one.from_ms, one.paused_ms, one.to_ms, *one.labels) for one in self._long],
        }

    @classmethod
    def from_plain(cls, data: object, where: str) -> Silences:
        """Return the silences that `to_plain` wrote; ValueError for other data."""
        stored = build(_Stored, data, where)
        if len(stored.silence_ms) != len(stored.count) or min((*stored.silence_ms, *stored.count), default=1) < 1:
            raise ValueError(f"{where} contains a length without a count")
        silences = cls(with_transactions=stored.with_transactions)
        silences._counts.update(dict(zip(stored.silence_ms, stored.count, strict=True)))
        silences._pairs.update(dict.fromkeys(stored.pairs, 1))
        silences._long += [
            Silence(Thread(file, name), from_ms, paused_ms, to_ms, (before, after))
            for file, name, from_ms, paused_ms, to_ms, before, after in stored.long
        ]
        return silences

    def explain(self, from_ms: int, to_ms: int, user_count: int = 0, *, is_waited: bool = False) -> bool:
        """Return whether the users who were active in from_ms <= t < to_ms (since 1970) may all have paused.

        With `is_waited` the samples after the gap seem to have waited in it. So they do after a pause of all users, who
        then are all busy: here each of them must have begun its next sample near the end of the gap.
        """
        own = [one for one in self._long if one.from_ms < from_ms and to_ms <= one.to_ms]
        paused_ms = from_ms + _PAUSED_RATIO * (to_ms - from_ms)
        if not own or (is_waited and any(one.paused_ms < paused_ms for one in own)):
            return False
        if not is_waited and len(own) >= _OWN_LEAST_RATIO * user_count and self._are_usual(own, to_ms - from_ms):
            return True
        length_ms = _overlap_ms(own)
        is_few = max(user_count, len(own)) <= USERS_MOST
        return is_few and (self._is_chance(own, length_ms) or self._is_in_step(own, length_ms))

    def _are_usual(self, own: Collection[Silence], length_ms: int) -> bool:
        pairs, mine = {one.labels for one in own}, set(own)
        others_ms = sorted(one.length_ms for one in self._long if one.labels in pairs and one not in mine)
        short = max(0, sum(self._pairs[pair] for pair in pairs) - len(own) - len(others_ms))
        short += sum(other_ms < _ALIKE_RATIO * length_ms for other_ms in others_ms)
        if len(others_ms) < len(own) or short > _SHORT_RATIO * len(others_ms):
            return False
        usual_ms = others_ms[int((1 - _LONG_RATIO) * (len(others_ms) - 1))]
        longer = sum(one.length_ms > _LONGER * usual_ms for one in own)
        return longer <= _OWN_LONG_RATIO * len(own)

    def _is_chance(self, own: Sequence[Silence], length_ms: int) -> bool:
        others = self._counts - Counter(one.length_ms for one in own)
        longer = {other_ms: count for other_ms, count in others.items() if other_ms >= length_ms}
        if not longer:
            return False
        beyond_ms = sum((other_ms - length_ms) * count for other_ms, count in longer.items())
        residual_ratio = beyond_ms / sum(other_ms * count for other_ms, count in others.items())
        return bool(sum(longer.values()) * residual_ratio ** (len(own) - 1) >= _EXPECTED_LEAST)

    def _is_in_step(self, own: Collection[Silence], length_ms: int) -> bool:
        if len(self._pairs) < 2:
            return False
        # Of each thread, its other silences between the same labels.
        first, *rest = (
            [two for two in self._long if two != one and (two.thread, two.labels) == (one.thread, one.labels)]
            for one in own
        )
        least_ms = _ALIKE_RATIO * length_ms
        return any(
            one.length_ms >= least_ms
            and all(any(_overlap_ms((one, other)) >= least_ms for other in others) for others in rest)
            for one in first
        )


def _overlap_ms(silences: Collection[Silence]) -> int:
    """Return for how long all of them last, ms; negative when they do not overlap."""
    return min(one.to_ms for one in silences) - max(one.from_ms for one in silences)
