"""Which commit, version or value changed a metric: probabilistic bisection with runs that scatter."""
