"""Changes the rows of a simulated run: errors, sizes, labels, and rows that are not read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy

from bench.statistics.simulated_load import Random, Rows

# Changes the rows of a run of a length, s.
ChangeRows = Callable[[Rows, Random, float], Rows]


def as_is(rows: Rows, _random: Random, _length_s: float) -> Rows:
    """Return the rows."""
    return rows


def failed_at_random(share: float) -> ChangeRows:
    """Let this share fail."""
    return lambda rows, random, _length_s: replace(rows, failed=random.random(len(rows.user)) < share)


def errors_from(at_ratio: float, share: float) -> ChangeRows:
    """Let this share of what ends after a share of the run fail."""
    return lambda rows, random, length_s: replace(
        rows, failed=(rows.end_s >= at_ratio * length_s) & (random.random(len(rows.user)) < share)
    )


def errors_growing(share: float) -> ChangeRows:
    """Let a share of the requests fail that grows from none to this one at the end."""
    return lambda rows, random, length_s: replace(
        rows, failed=random.random(len(rows.user)) < share * numpy.clip(rows.end_s / length_s, 0, 1)
    )


def errors_between(from_ratio: float, to_ratio: float) -> ChangeRows:
    """Let everything fail that ends between two shares of the run."""
    return lambda rows, _random, length_s: replace(
        rows, failed=(rows.end_s >= from_ratio * length_s) & (rows.end_s < to_ratio * length_s)
    )


def fast_errors_from(at_ratio: float, share: float) -> ChangeRows:
    """Let a share of what ends after a share of the run fail in a tenth of the time."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        found = errors_from(at_ratio, share)(rows, random, length_s)
        took_s = rows.end_s - rows.start_s
        return replace(found, start_s=numpy.where(found.failed, rows.end_s - took_s / 10, rows.start_s))

    return change


def bursts_of_errors(period_s: float, burst_s: float, share: float) -> ChangeRows:
    """Let this share of what ends in bursts fail."""
    return lambda rows, random, _length_s: replace(
        rows,
        failed=((rows.end_s + period_s * random.random()) % period_s < burst_s)
        & (random.random(len(rows.user)) < share),
    )


def errors_of_label_from(at_ratio: float, label_count: int) -> ChangeRows:
    """Give each user so many labels in turn, and let all samples of the last fail from a share of the run on."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        found = labels_in_turn(label_count)(rows, random, length_s)
        return replace(found, failed=(found.label == label_count - 1) & (rows.end_s >= at_ratio * length_s))

    return change


def labels_in_turn(label_count: int) -> ChangeRows:
    """Give each user so many labels in turn."""

    def change(rows: Rows, _random: Random, _length_s: float) -> Rows:
        label = numpy.zeros(len(rows.user), dtype=numpy.int64)
        order = numpy.lexsort((rows.start_s, rows.user))
        label[order] = numpy.arange(len(order)) % label_count
        return replace(rows, label=label, labels=_names(label_count))

    return change


def labels_drawn(shares: Sequence[float], times: Sequence[float]) -> ChangeRows:
    """Give each row a label at random; its time is multiplied by that of the label."""

    def change(rows: Rows, random: Random, _length_s: float) -> Rows:
        label = random.choice(len(shares), len(rows.user), p=numpy.array(shares) / sum(shares))
        longer = (rows.end_s - rows.start_s) * (numpy.array(times)[label] - 1)
        return replace(rows, label=label, labels=_names(len(shares)), start_s=numpy.maximum(0, rows.start_s - longer))

    return change


def mix_from(at_ratio: float, before: float, after: float) -> ChangeRows:
    """Give rows one of two labels; the share of the second one changes."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        share = numpy.where(rows.end_s >= at_ratio * length_s, after, before)
        return replace(rows, label=(random.random(len(share)) < share).astype(numpy.int64), labels=_names(2))

    return change


def _names(count: int) -> tuple[str, ...]:
    return tuple(f"GET /{number}" for number in range(count))


def sizes_drawn(mean: float, sigma: float) -> ChangeRows:
    """Draw the sizes of responses, bytes."""
    return lambda rows, random, _length_s: replace(
        rows, size=random.lognormal(numpy.log(mean) - sigma**2 / 2, sigma, len(rows.user)).astype(numpy.int64)
    )


def sizes_waving(mean: float, size: float, period_ratio: float) -> ChangeRows:
    """Let the sizes of responses rise and fall by `size`, with a period of this share of the run."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        turns = rows.end_s / length_s / period_ratio + random.random()
        return replace(rows, size=(mean * (1 + size * numpy.sin(2 * numpy.pi * turns))).astype(numpy.int64))

    return change


def sizes_from(at_ratio: float, before: int, after: int) -> ChangeRows:
    """Change the size of responses, bytes, at a share of the run; they vary by 20 %."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        sizes = numpy.where(rows.end_s >= at_ratio * length_s, after, before)
        return replace(rows, size=(sizes * random.uniform(0.8, 1.2, len(sizes))).astype(numpy.int64))

    return change


def slower_share_from(at_ratio: float, share: float, times: float) -> ChangeRows:
    """Make this share of what ends after a share of the run so many times slower: it began earlier."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        is_slower = (rows.end_s >= at_ratio * length_s) & (random.random(len(rows.user)) < share)
        took_s = rows.end_s - rows.start_s
        return replace(rows, start_s=numpy.where(is_slower, rows.end_s - times * took_s, rows.start_s))

    return change


def slower_label_from(at_ratio: float, label_count: int, times: float) -> ChangeRows:
    """Give each user so many labels in turn, and make the last one slower from a share of the run on."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        found = labels_in_turn(label_count)(rows, random, length_s)
        is_slower = (found.label == label_count - 1) & (rows.end_s >= at_ratio * length_s)
        took_s = rows.end_s - rows.start_s
        return replace(found, start_s=numpy.where(is_slower, rows.end_s - times * took_s, rows.start_s))

    return change


def unread(share: float, from_ratio: float = 0.0) -> ChangeRows:
    """Leave out this share of the rows, which a reader could not use, from a share of the run on."""

    def change(rows: Rows, random: Random, length_s: float) -> Rows:
        chosen = (random.random(len(rows.user)) >= share) | (rows.end_s < from_ratio * length_s)
        chosen[: max(1, 2 - int(chosen.sum()))] = True
        return replace(rows.only(chosen), unread_count=int((~chosen).sum()), made=rows)

    return change


def redirected(share: float) -> ChangeRows:
    """Add the two sub-results of a redirect to this share of the rows."""

    def change(rows: Rows, random: Random, _length_s: float) -> Rows:
        own = rows.only(random.random(len(rows.user)) < share)
        middle_s = own.start_s + (own.end_s - own.start_s) / 2
        first = replace(own, end_s=middle_s, label=numpy.full(len(middle_s), 1))
        second = replace(own, start_s=middle_s, label=numpy.full(len(middle_s), 2))
        return replace(rows, labels=("GET /", "GET /-0", "GET /-1"), made=rows).plus(first).plus(second)

    return change


def logins(login_s: float) -> ChangeRows:
    """Make the first row of each user a request of its own that takes longer, once per user."""

    def change(rows: Rows, _random: Random, _length_s: float) -> Rows:
        order = numpy.lexsort((rows.start_s, rows.user))
        users = rows.user[order]
        first = order[numpy.concatenate([[True], users[1:] != users[:-1]])]
        label, start_s = numpy.zeros(len(rows.user), dtype=numpy.int64), rows.start_s.copy()
        label[first] = 1
        start_s[first] = numpy.maximum(0, rows.end_s[first] - login_s)
        return replace(
            rows, start_s=start_s, label=label, labels=("GET /", "POST /login"), once_labels=("POST /login",)
        )

    return change


def transactions(rows: Rows, random: Random, _length_s: float) -> Rows:
    """Make each row one of a Transaction Controller that is written 1 s after its time: pauses are not in it."""
    order = numpy.argsort(rows.end_s + random.uniform(0.5, 1.5, len(rows.end_s)), kind="stable")
    return replace(rows.only(order), is_transaction=True, made=rows)
