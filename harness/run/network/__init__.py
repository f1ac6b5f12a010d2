"""Watches from outside which addresses JMeter and the programs of its plan reach, and lets the kernel refuse others."""
