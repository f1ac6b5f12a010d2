/**
 * Which samples count: those that end from `fromMs` to before `toMs`, counted in so many batches; those of each of the
 * thread groups (their names in UTF-8) are also counted apart, without batches.
 */
record Samples(long fromMs, long toMs, int batchCount, byte[][] threadGroups) {}
