"""The aggregator next to other readers, in time and in numbers."""
