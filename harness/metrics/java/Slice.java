import java.util.Arrays;

/**
 * The counts of the labels of neighbouring rows, in few bytes: a window that contains all of these rows, or none, need not
 * read them again.
 */
final class Slice {
  /** What an entry takes besides its times, at most: its key, its sums and their indexes. */
  private static final int ENTRY_BYTES = 256;

  private static final int ANSWER_BYTES = 32;

  private static final int READ = -1;
  private static final int OUTSIDE = -2;

  /** Where the first row begins, and where the next slice does. */
  final long start;

  final long stop;
  final long lineCount;
  private final boolean hasOddRows;
  private final Table entries = Table.small(Tally.ENTRY_JOINS);
  /** Samples by label, kind and response code. */
  private final Table answers = Table.small(Table.Join.SUM);
  /** By entry, then by kind of time. */
  private PackedTimes[][] times = new PackedTimes[8][];
  private long rowCount;
  private long leastEndMs = Long.MAX_VALUE;
  private long mostEndMs = Long.MIN_VALUE;

  /** Rows from `start` to before `stop`; the plain reader has read some of them with `hasOddRows`. */
  Slice(long start, long stop, long lineCount, boolean hasOddRows) {
    this.start = start;
    this.stop = stop;
    this.lineCount = lineCount;
    this.hasOddRows = hasOddRows;
  }

  /** Adds the cells of a part to its slices; `generatorBits`, `label` and `code` are as in {@link Whole}. */
  static void add(Slice[] slices, Tally tally, long generatorBits, int[] label, int[] code, int missing) {
    int[] next = new int[Tally.TIME_KINDS];
    long[][] others = new long[Tally.TIME_KINDS][];
    for (int kind = 0; kind < others.length; kind++) {
      others[kind] = tally.times[kind].sortedKeys();
    }
    for (int number = 0; number < tally.cellCount; number++) {
      Cell cell = tally.cells[number];
      Slice slice = slices[cell.batch];
      long index = (long) label[cell.label] << Tally.KIND_BITS | cell.kind;
      int entry = slice.entries.row(generatorBits | index);
      slice.answers.add(0, slice.answers.row(index << Integer.SIZE | code[cell.code]), cell.sampleCount());
      PackedTimes[] times = slice.timesOf(entry);
      for (int kind = 0; kind < times.length; kind++) {
        long sumMs = 0;
        int[] counts = cell.counts(kind);
        for (int ms = 0; ms < counts.length; ms++) {
          if (counts[ms] != 0) {
            times[kind].add(ms, counts[ms]);
            sumMs += (long) ms * counts[ms];
          }
        }
        Table beyond = tally.times[kind];
        long[] keys = others[kind];
        for (; next[kind] < keys.length && keys[next[kind]] >> Tally.TIME_BITS == number; next[kind]++) {
          long eachMs = keys[next[kind]] & Tally.TIME_MASK;
          long count = beyond.get(0, beyond.row(keys[next[kind]]));
          times[kind].add(eachMs, count);
          sumMs += eachMs * count;
        }
        slice.entries.add(Tally.ENTRY_MS[kind], entry, sumMs);
      }
      cell.addTo(slice.entries, entry, missing);
      slice.rowCount += cell.rowCount;
      slice.leastEndMs = Math.min(slice.leastEndMs, cell.leastEndMs);
      slice.mostEndMs = Math.max(slice.mostEndMs, cell.lastMs);
    }
  }

  private PackedTimes[] timesOf(int entry) {
    if (entry >= times.length) {
      times = Arrays.copyOf(times, 2 * entry);
    }
    if (times[entry] == null) {
      times[entry] = new PackedTimes[] {new PackedTimes(), new PackedTimes(), new PackedTimes()};
    }
    return times[entry];
  }

  /** Frees what is not needed when all cells are there; returns the bytes that it takes. */
  int close() {
    int bytes = answers.size() * ANSWER_BYTES;
    for (int entry = 0; entry < entries.size(); entry++) {
      bytes += ENTRY_BYTES;
      for (PackedTimes packed : times[entry]) {
        bytes += packed.close();
      }
    }
    return bytes;
  }

  /** Returns whether the rows must be read again for the samples of a layout: some count and others do not. */
  boolean mustBeRead(Layout layout) {
    return batch(layout) == READ;
  }

  /** Adds the counts of the labels, if the rows count; they must not have to be read. */
  void addTo(Whole whole, Layout layout) {
    int batch = batch(layout);
    if (batch != OUTSIDE) {
      whole.add(entries, times, answers, batch, rowCount);
    }
  }

  /** Returns the batch of all rows; READ if they are in several or were not all counted here, OUTSIDE if none counts. */
  private int batch(Layout layout) {
    if (hasOddRows) {
      return READ;
    }
    if (rowCount == 0 || mostEndMs < layout.fromMs || leastEndMs >= layout.toMs) {
      return OUTSIDE;
    }
    if (leastEndMs < layout.fromMs || mostEndMs >= layout.toMs) {
      return READ;
    }
    int batch = layout.batch(leastEndMs);
    return batch == layout.batch(mostEndMs) ? batch : READ;
  }
}
