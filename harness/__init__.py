"""The load-test harness: decides in pure modules, acts in `harness.io`, writes in `harness.render`."""
