"""Figures to text: pure functions from a RunSummary; templates place text, values arrive formatted."""
