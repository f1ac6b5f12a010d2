"""The load of a plan: a fixed number of users, or of arrivals per second, or several loads."""

# The models of a load.
CLOSED, OPEN, MIXED = "closed", "open", "mixed"
