"""Everything that acts: processes, sockets, files of a run, the clock, the machine."""
