"""Decides what the aggregator's bench does: the generated file, the other readers, what is right, what is wanted."""
