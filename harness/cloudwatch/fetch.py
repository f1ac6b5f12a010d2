"""Fetches metrics from CloudWatch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from harness.base import aws
from harness.base.log import Log
from harness.cloudwatch.points import Answers
from harness.cloudwatch.queries import (
    KIND_TITLES,
    METRICS,
    CloudWatchSpec,
    Query,
    Span,
    calls_of,
    parse_cloudwatch,
    period_kept_s,
    queries_of,
    whole_periods,
)
from harness.cloudwatch.source import Fetched


class CloudWatch:
    """The source for ECS services, RDS databases and EC2 instances."""

    name = "cloudwatch"
    title = "CloudWatch"
    kinds: Mapping[str, str] = KIND_TITLES
    metrics: Mapping[str, tuple[str, ...]] = {
        kind: tuple(metric.name for metric in metrics) for kind, metrics in METRICS.items()
    }

    def parse(self, table: Mapping[str, Any], where: str) -> CloudWatchSpec:
        """Return what [cloudwatch] requests."""
        return parse_cloudwatch(table, where)

    def fetch(self, spec: CloudWatchSpec, from_s: int, to_s: int, log: Log) -> Fetched:
        """Return the metrics of an interval, in the shortest periods that CloudWatch still has."""
        period_s = period_kept_s(spec.period_s, time.time() - from_s)
        span = whole_periods(from_s, to_s, period_s)
        queries = queries_of(spec)
        answers = self._answers(spec, queries, span)
        for message in dict.fromkeys(answers.messages):
            log(f"{self.title} says: {message}")
        return Fetched(answers.to_csv(queries, span), period_s, not any(answers.values.values()))

    def _answers(self, spec: CloudWatchSpec, queries: Sequence[Query], span: Span) -> Answers:
        answers = Answers()
        client = aws.client("cloudwatch", spec.endpoint_url, spec.region)
        with aws.aws_errors(self.title):
            for call in calls_of(queries, len(span.starts_s)):
                pages = client.get_paginator("get_metric_data").paginate(
                    MetricDataQueries=[query.to_request(span.period_s) for query in call],
                    StartTime=datetime.fromtimestamp(span.from_s, UTC),
                    EndTime=datetime.fromtimestamp(span.to_s, UTC),
                    ScanBy="TimestampAscending",
                )
                for page in pages:
                    answers.add(page)
        return answers
