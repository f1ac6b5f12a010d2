/**
 * Which samples count: those that end from `fromMs` to before `toMs`, counted in so many batches, of one thread group (its
 * name in UTF-8, empty for all).
 */
record Samples(long fromMs, long toMs, int batchCount, byte[] threadGroup) {}
