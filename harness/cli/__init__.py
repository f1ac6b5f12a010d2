"""The front doors: arguments in, exit code out. Only they join the deciding modules and `harness.io`."""
