"""Rows of a large JTL, and what the plain reader counts in them: the counter must count the same."""

import io

from harness.jtl.csv import parse

COLUMNS = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,"
    "sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
)
FEWER = "timeStamp,elapsed,label,responseCode,threadName,success,bytes,allThreads,SampleCount,ErrorCount"
HEAD = FEWER.encode() + b"\n"


def lines_of(count, label="Pay"):
    return b"".join(b"%d,7,%s %d,200,T 1-1,true,10,3,1,0\n" % (i, label.encode(), i % 9) for i in range(count))


def plain(data, scope):
    tally = scope.tally()
    for sample in parse(io.BytesIO(data), "x.jtl", tally.dropped):
        tally.add(sample)
    return tally


def same(tally, other):
    assert tally.labels == other.labels
    assert list(tally.labels) == list(other.labels)
    assert (tally.codes, tally.kinds, tally.first_ms) == (other.codes, other.kinds, other.first_ms)
    assert (tally.requests, tally.transactions) == (other.requests, other.transactions)
    assert tally.batches == other.batches
    assert tally.dropped == other.dropped
    assert list(tally.by_thread_group) == list(other.by_thread_group)
    for group, own in tally.by_thread_group.items():
        same(own, other.by_thread_group[group])
