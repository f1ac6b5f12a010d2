"""Fetches metrics from CloudWatch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from harness.base import aws
from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.cloudwatch.infrastructure import read_infrastructure
from harness.cloudwatch.points import Answers
from harness.cloudwatch.queries import (
    EBS,
    EC2,
    KIND_TITLES,
    METRICS,
    CloudWatchSpec,
    Query,
    Span,
    available_period_s,
    calls_of,
    parse_cloudwatch,
    queries_of,
    whole_periods,
)
from harness.cloudwatch.source import Fetched, Resource, ResourceFacts


class CloudWatch:
    """The source for ECS services, RDS databases, and EC2 instances with their volumes."""

    name = "cloudwatch"
    title = "CloudWatch"
    spec_type = CloudWatchSpec
    kinds: Mapping[str, str] = KIND_TITLES
    metrics: Mapping[str, tuple[str, ...]] = {
        kind: tuple(metric.name for metric in metrics) for kind, metrics in METRICS.items()
    }

    def parse(self, table: Mapping[str, Any], where: str) -> CloudWatchSpec:
        """Return what [cloudwatch] requests."""
        return parse_cloudwatch(table, where)

    def fetch(self, spec: CloudWatchSpec, from_s: int, to_s: int, log: Log) -> Fetched:
        """Return the metrics of an interval, in the shortest periods that CloudWatch still has."""
        period_s = available_period_s(spec.period_s, time.time() - from_s)
        span = whole_periods(from_s, to_s, period_s)
        queries = queries_of(spec)
        answers = Answers()
        self._ask(answers, spec, queries, span)
        if volumes := self._volumes(spec, log):
            every = queries_of(replace(spec, resources=(*spec.resources, *volumes)))
            self._ask(answers, spec, every[len(queries) :], span)
            queries = every
        for message in dict.fromkeys(answers.messages):
            log(f"{self.title} reports: {message}")
        return Fetched(answers.to_csv(queries, span), period_s, not any(answers.values.values()))

    def infrastructure(self, spec: CloudWatchSpec, log: Log) -> tuple[ResourceFacts, ...]:
        """Return how the resources are set up in AWS."""
        return read_infrastructure(spec, log)

    def _volumes(self, spec: CloudWatchSpec, log: Log) -> tuple[Resource, ...]:
        """Return the volumes of the EC2 instances; without the right to list them a line is logged."""
        instances = [resource.name for resource in spec.resources if resource.kind == EC2]
        found: list[Resource] = []
        if not instances:
            return ()
        try:
            client = aws.client("ec2", spec.endpoint_url, spec.region)
            with aws.aws_errors("EC2"):
                pages = client.get_paginator("describe_volumes").paginate(
                    Filters=[{"Name": "attachment.instance-id", "Values": instances}]
                )
                for volume in (volume for page in pages for volume in page["Volumes"]):
                    found += [
                        Resource(EBS, f"{attached['InstanceId']}/{volume['VolumeId']}")
                        for attached in volume["Attachments"]
                        if attached["InstanceId"] in instances
                    ]
        except HarnessError as error:
            log(f"the burst balance of the volumes of EC2 instances is not known: {error}")
        return tuple(sorted(found, key=lambda resource: resource.name))

    def _ask(self, answers: Answers, spec: CloudWatchSpec, queries: Sequence[Query], span: Span) -> None:
        """Add the answers to the queries."""
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
