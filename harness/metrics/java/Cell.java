/** The counts of the rows of one part that have label, response code, kind, batch and error cause in common. */
final class Cell {
  private static final int[] NONE = {};
  /** The cause of rows that did not fail. */
  static final int NO_CAUSE = -1;

  final int number;
  final int label;
  final int code;
  final int kind;
  final int batch;
  final int cause;
  /** Where the first of the rows begins. */
  final long offset;

  long rowCount;
  long receivedBytes;
  long sentBytes;
  long firstMs = Long.MAX_VALUE;
  long lastMs = -1;
  /** The least end. */
  long leastEndMs = Long.MAX_VALUE;
  /** The greatest start of failed rows. */
  long lastStartMs = -1;
  // What rows of several samples have beyond one sample, one error, and whole milliseconds for each.
  long moreSamples;
  long moreErrors;
  long moreMs;
  long moreFirstMs;
  long moreConnectMs;
  /** Samples by elapsed time, by that to the first byte, and by that to connect; the others are in the tally. */
  int[] times = NONE;

  int[] firsts = NONE;
  int[] connects = NONE;

  Cell(int number, int label, int code, int kind, int batch, int cause, long offset) {
    this.number = number;
    this.label = label;
    this.code = code;
    this.kind = kind;
    this.batch = batch;
    this.cause = cause;
    this.offset = offset;
  }

  boolean isFailed() {
    return cause != NO_CAUSE;
  }

  long sampleCount() {
    return rowCount + moreSamples;
  }

  long errorCount() {
    return isFailed() ? rowCount + moreErrors : 0;
  }

  /** Returns the samples by a kind of time, as in {@link Tally}. */
  int[] counts(int kind) {
    return kind == Tally.ELAPSED_TIME ? times : kind == Tally.FIRST_TIME ? firsts : connects;
  }

  /** Replaces the samples by a kind of time. */
  void setCounts(int kind, int[] counts) {
    switch (kind) {
      case Tally.ELAPSED_TIME -> times = counts;
      case Tally.FIRST_TIME -> firsts = counts;
      default -> connects = counts;
    }
  }

  /** Adds what it counts to a row of a table of entries, except its times; `missing` are the columns that the rows lack. */
  void addTo(Table entries, int entry, int missing) {
    entries.add(Tally.ENTRY_MS[Tally.ELAPSED_TIME], entry, moreMs);
    entries.add(1, entry, errorCount());
    entries.add(2, entry, receivedBytes);
    entries.add(3, entry, sentBytes);
    entries.add(Tally.ENTRY_MS[Tally.FIRST_TIME], entry, moreFirstMs);
    entries.add(Tally.ENTRY_MS[Tally.CONNECT_TIME], entry, moreConnectMs);
    entries.least(6, entry, firstMs);
    entries.greatest(7, entry, lastMs);
    entries.least(8, entry, offset);
    entries.union(9, entry, missing);
  }
}
