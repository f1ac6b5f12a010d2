"""Runs that nothing is wrong with, simulated: the system answers at one level, with noise, from beginning to end."""

from __future__ import annotations

import heapq
import math
from random import Random

from harness.jtl.sample import Sample
from harness.judge.summarise import SummaryOptions, summarise, window_of, window_span_ms
from harness.judge.summary import RunSummary
from harness.metrics.tally import Scope
from harness.metrics.window import parse_window
from tests.support.factories import closed_load, record, sample, tally_of

DURATION_S = 100.0
_START_MS = 1_700_000_000_000
_RAMP_S = (1.0, 5.0, 20.0)
# What a request takes on average, and how much of it varies from request to request and from second to second.
_LEVELS_MS = (20.0, 100.0, 500.0, 1500.0)
_REQUEST_SIGMA = 0.4
_SECOND_SIGMA = 0.1
# The correlation of one second's noise with the next one's.
AUTOCORRELATION = 0.3
_THINK_TIMES_S = (0.0, 0.2, 1.0)


def good_run(random: Random, autocorrelation: float = AUTOCORRELATION) -> RunSummary:
    """Return the summary of a closed run of 100 s at 10 to 100 req/s."""
    level_ms, think_s, rate_per_s = random.choice(_LEVELS_MS), random.choice(_THINK_TIMES_S), random.uniform(10, 100)
    users = max(1, round(rate_per_s * (level_ms / 1000 + think_s)))
    if think_s == 0:
        # No fewer than 10 req/s and no more than about 100 also where one user is a whole step.
        users = max(users, math.ceil(10 * level_ms / 1000))
    ramp_s = random.choice(_RAMP_S)
    samples = _samples(random, users, ramp_s, level_ms, think_s, autocorrelation)
    load = closed_load(users=users, ramp_s=ramp_s, duration_s=DURATION_S, think_time_s=think_s)
    # JMeter needs some seconds for its start and its end.
    took_s = (max(one.start_ms + one.elapsed_ms for one in samples) - samples[0].start_ms) / 1000 + 5
    run = record(load=load, once_labels=(), took_s=took_s)
    tally = tally_of(samples)
    window = window_of(tally, parse_window("steady"), run)
    counted = Scope(window_ms=window_span_ms(tally, window)).tally()
    for one in samples:
        counted.add(one)
    return summarise(tally, "tiny/run-01_1", run, options=SummaryOptions(window, counted, with_timeline=False))


def _samples(
    random: Random, users: int, ramp_s: float, level_ms: float, think_s: float, autocorrelation: float
) -> list[Sample]:
    """Return the samples in the order of their ends; each user waits for an answer, thinks, and asks again."""
    innovation = _SECOND_SIGMA * math.sqrt(1 - autocorrelation**2)
    noise = [random.gauss(0, _SECOND_SIGMA)]
    while len(noise) <= DURATION_S:
        noise.append(autocorrelation * noise[-1] + random.gauss(0, innovation))
    mean_shift = (_REQUEST_SIGMA**2 + _SECOND_SIGMA**2) / 2
    due = [(ramp_s * number / users, number) for number in range(users)]
    heapq.heapify(due)
    found: list[tuple[float, float, int, int]] = []
    last_end_s = [0.0] * users
    while due:
        start_s, user = heapq.heappop(due)
        if start_s >= DURATION_S:
            continue
        factor = math.exp(noise[int(start_s)] + random.gauss(0, _REQUEST_SIGMA) - mean_shift)
        elapsed_s = max(0.001, level_ms * factor / 1000)
        begun = users if start_s >= ramp_s else min(users, 1 + int(start_s * users / ramp_s))
        found.append((start_s + elapsed_s, start_s, user, begun))
        last_end_s[user] = start_s + elapsed_s
        heapq.heappush(due, (start_s + elapsed_s + think_s * random.uniform(0.5, 1.5), user))
    return [
        sample(
            start_ms=_START_MS + round(start_s * 1000),
            elapsed_ms=round((end_s - start_s) * 1000),
            # After the end of the load a user leaves with the answer to the last request.
            all_threads=begun if end_s < DURATION_S else sum(last_s >= end_s for last_s in last_end_s),
            thread_name=f"Users 1-{user + 1}",
        )
        for end_s, start_s, user, begun in sorted(found)
    ]
