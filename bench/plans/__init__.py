"""Plans of other teams: what they send, next to plain JMeter."""
