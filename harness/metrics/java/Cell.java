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
  long latencyMs;
  long connectMs;
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
  /** Samples by elapsed time; those of the other times are in the tally. */
  int[] times = NONE;

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

  /** Adds what it counts to a row of a table of entries, except single times; `missing` are the columns that the rows lack. */
  void addTo(Table entries, int entry, long elapsedMs, int missing) {
    entries.add(0, entry, elapsedMs);
    entries.add(1, entry, errorCount());
    entries.add(2, entry, receivedBytes);
    entries.add(3, entry, sentBytes);
    entries.add(4, entry, latencyMs);
    entries.add(5, entry, connectMs);
    entries.least(6, entry, firstMs);
    entries.greatest(7, entry, lastMs);
    entries.least(8, entry, offset);
    entries.union(9, entry, missing);
  }
}
