"""The other readers, each a whole program of its own: it prints its version and how often each label took how long."""
