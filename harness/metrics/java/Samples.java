/**
 * Which samples count: those that end from `fromMs` to before `toMs`, counted in so many batches; those of each of the
 * thread groups (their names in UTF-8) are also counted apart, without batches. Where all samples count, the counts of
 * every `sliceBytes` of the file can be stored for a window of it; 0: they are not. Time stamps before `firstMs` and after
 * `lastMs` are impossible.
 */
record Samples(
    long fromMs, long toMs, int batchCount, byte[][] threadGroups, int sliceBytes, byte[][] cutLabels, long firstMs, long lastMs) {
  /** Where a window begins that is none. */
  private static final long NO_WINDOW_MS = -(1L << 62);

  boolean isWindow() {
    return fromMs != NO_WINDOW_MS;
  }
}
