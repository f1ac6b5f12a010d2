"""False alarms and power of what the harness decides, on simulated data."""
