"""Run JMeter load tests, aggregate their results and compare them."""

__version__ = "1.1.0"
