"""Sends the metrics of a run, and spans of its slow and failed requests, by OpenTelemetry's protocol OTLP/HTTP."""
