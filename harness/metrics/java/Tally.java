import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;

/** The counts of the rows of one part, in cells of rows that have much in common, and per second. */
final class Tally {
  /** Keys combine a number or a second (high bits) and an elapsed time, which is below 2^30 ms (7 days). */
  static final int TIME_BITS = 30;

  static final long TIME_MASK = (1L << TIME_BITS) - 1;
  /** A row's kind: twice its thread group (0 load, 1 setUp, 2 tearDown, 3 jobs), plus one for a transaction. */
  static final int KIND_BITS = 3;

  static final long KIND_MASK = (1L << KIND_BITS) - 1;

  /** Kinds up to this one are the load: requests (0) and transactions (1). */
  static final int LOAD_KIND_LAST = 1;

  static final long LOW = 0xFFFFFFFFL;

  static final int RECEIVED = 1;
  static final int SENT = 2;
  static final int LATENCY = 4;
  static final int CONNECT = 8;

  /** The kinds of time of a sample. */
  static final int ELAPSED_TIME = 0;

  static final int FIRST_TIME = 1;
  static final int CONNECT_TIME = 2;
  static final int TIME_KINDS = 3;
  /** The sum of each kind, as a column of the entries. */
  static final int[] ENTRY_MS = {0, 4, 5};

  // Keys of cells: kind, batch, label, code and one more than the cause.
  private static final int NAME_BITS = 15;
  private static final int NAME_MASK = (1 << NAME_BITS) - 1;
  private static final int BATCH_BITS = 8;
  static final int BATCHES_MAX = 1 << BATCH_BITS;
  /** Longer times, and those of cells with few rows, are in a table. */
  private static final int TIMES_MAX_MS = 16 * 1024;
  private static final int TIMES_LEAST = 64;
  private static final int FEW_ROWS = 16;
  /** All arrays of a tally have at most this many counts: many cells with few times each would fill memory with zeros. */
  private static final int TIMES_MAX = 1024 * 1024;
  /** A part has less than a million rows: so their counts cannot overflow. */
  private static final int COUNT_MAX = 1000;

  /** Of requests of the load: the least and greatest end, and how far one is before that of an earlier row at most. */
  long leastEndMs = Long.MAX_VALUE / 2;

  long mostEndMs = Long.MIN_VALUE / 2;
  long backMs;

  Cell[] cells = new Cell[64];
  int cellCount;
  private final Table cellNumbers = new Table();
  /** By kind: the times that are not in the arrays of cells. */
  final Table[] times = {new Table(Table.Join.SUM), new Table(Table.Join.SUM), new Table(Table.Join.SUM)};

  private int timesLength;
  final Table[] seconds = {newSeconds(), newSeconds()};
  /** By how many the requests that wait throughout a second are more than in the second before it: see timeline.py. */
  final Table[] waits = {new Table(Table.Join.SUM), new Table(Table.Join.SUM)};
  final Table[] buckets = {new Table(), new Table()};
  final Times[] bucketTimes = {newBucketTimes(), newBucketTimes()};
  final int[] halvings;
  /** The tallies of the thread groups that are counted apart; null for those without rows. */
  private final Tally[] groups;

  private final Second[] now = {new Second(), new Second()};

  /** The length of the load generator's name that its rows have in common. */
  final int nameLength;

  /** The counts of the second in which the last rows ended, and its row in `buckets`. */
  private static final class Second {
    long second = -1;
    long sampleCount;
    long errorCount;
    long elapsedMs;
    long users = -1;
    long waitCount;
    int bucket;
  }

  /** Buckets of kind k are 2^halvings[k] seconds wide; there are none with null. */
  Tally(int[] halvings, int nameLength, int groupCount) {
    this.nameLength = nameLength;
    this.halvings = halvings;
    groups = new Tally[groupCount];
  }

  /** Returns the tally of a thread group, created if necessary; it has neither buckets nor batches. */
  Tally ofGroup(int number) {
    if (groups[number] == null) {
      groups[number] = new Tally(null, nameLength, 0);
    }
    return groups[number];
  }

  /** Returns the tally of a thread group; null without a row of it. */
  Tally groupOrNull(int number) {
    return groups[number];
  }

  /** Sums of elapsed, errors, bytes received and sent, latency, connect; first start, last end, offset; missing. */
  static final Table.Join[] ENTRY_JOINS = {
    Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.SUM,
    Table.Join.LEAST, Table.Join.GREATEST, Table.Join.LEAST, Table.Join.UNION
  };

  /** First start, as a column of the entries. */
  static final int ENTRY_FIRST_MS = 6;

  private static Times newBucketTimes() {
    return new Times(1024, 256 * 1024);
  }

  /** Samples, errors, sum of elapsed, most users. */
  static Table newSeconds() {
    return new Table(Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.GREATEST);
  }

  /** Returns the cell of rows with these numbers, created if necessary: then `offset` is where its first row begins. */
  Cell cell(int label, int code, int kind, int batch, int cause, long offset) {
    long key = (long) kind << BATCH_BITS | batch;
    key = (key << NAME_BITS | label) << NAME_BITS | code;
    int number = cellNumbers.row(key << NAME_BITS | cause + 1);
    if (number == cellCount) {
      if (number == cells.length) {
        cells = Arrays.copyOf(cells, 2 * number);
      }
      cells[cellCount++] = new Cell(number, label, code, kind, batch, cause, offset);
    }
    return cells[number];
  }

  /** Counts a sample: the only one of its row, or the first of several that took `eachMs` each. */
  void count(Cell cell, long startMs, long endMs, long eachMs, long users) {
    cell.rowCount++;
    if (startMs < cell.firstMs) {
      cell.firstMs = startMs;
    }
    if (endMs > cell.lastMs) {
      cell.lastMs = endMs;
    }
    if (endMs < cell.leastEndMs) {
      cell.leastEndMs = endMs;
    }
    if (eachMs < cell.times.length) {
      cell.times[(int) eachMs]++;
    } else {
      addTime(cell, ELAPSED_TIME, eachMs, 1);
    }
    int isFailed = 0;
    if (cell.isFailed()) {
      isFailed = 1;
      cell.lastStartMs = Math.max(cell.lastStartMs, startMs);
    }
    if (cell.kind == 0) {
      note(endMs);
    }
    if (cell.kind <= LOAD_KIND_LAST) {
      Second at = now[cell.kind];
      long second = endMs / 1000;
      if (second != at.second) {
        begin(cell.kind, second);
      }
      at.sampleCount++;
      at.errorCount += isFailed;
      at.elapsedMs += endMs - startMs;
      if (users > at.users) {
        at.users = users;
      }
      if (halvings != null) {
        bucketTimes[cell.kind].add(at.bucket, eachMs, 1);
      }
      if (eachMs >= 1000) {
        addWait(cell.kind, endMs, eachMs, 1);
      }
    }
  }

  /** Counts how long the samples of a row took until the first byte, and to connect: only those that took any time. */
  void countParts(Cell cell, long firstMs, long connectMs, long count) {
    if (firstMs < cell.firsts.length && count == 1) {
      cell.firsts[(int) firstMs]++;
    } else {
      addTime(cell, FIRST_TIME, firstMs, count);
    }
    if (connectMs != 0) {
      addTime(cell, CONNECT_TIME, connectMs, count);
    }
  }

  /** Adds samples that end in the current second to those that waited throughout the seconds before it. */
  private void addWait(int kind, long endMs, long eachMs, long count) {
    long from = (endMs - eachMs + 999) / 1000;
    if (from < now[kind].second) {
      waits[kind].add(0, waits[kind].row(from), count);
      now[kind].waitCount += count;
    }
  }

  /** Counts what a row of several samples has beyond the first one. */
  void countMore(Cell cell, long endMs, long elapsedMs, long eachMs, long sampleCount, long errorCount) {
    cell.moreSamples += sampleCount - 1;
    cell.moreErrors += cell.isFailed() ? errorCount - 1 : 0;
    cell.moreMs += elapsedMs - eachMs * sampleCount;
    addTime(cell, ELAPSED_TIME, eachMs, sampleCount - 1);
    if (cell.kind <= LOAD_KIND_LAST) {
      Second at = now[cell.kind];
      at.sampleCount += sampleCount - 1;
      at.errorCount += cell.isFailed() ? errorCount - 1 : 0;
      if (halvings != null) {
        bucketTimes[cell.kind].add(at.bucket, eachMs, sampleCount - 1);
      }
      if (eachMs >= 1000) {
        addWait(cell.kind, endMs, eachMs, sampleCount - 1);
      }
    }
  }

  private void note(long endMs) {
    if (endMs < mostEndMs) {
      backMs = Math.max(backMs, mostEndMs - endMs);
      leastEndMs = Math.min(leastEndMs, endMs);
    } else {
      mostEndMs = endMs;
      leastEndMs = Math.min(leastEndMs, endMs);
    }
  }

  private void begin(int kind, long second) {
    end(kind);
    Second at = now[kind];
    at.second = second;
    if (halvings != null) {
      at.bucket = buckets[kind].row(second >> halvings[kind]);
    }
  }

  /** Adds the current second to the table. */
  private void end(int kind) {
    Second at = now[kind];
    if (at.second >= 0) {
      int row = seconds[kind].row(at.second);
      seconds[kind].add(0, row, at.sampleCount);
      seconds[kind].add(1, row, at.errorCount);
      seconds[kind].add(2, row, at.elapsedMs);
      seconds[kind].greatest(3, row, at.users);
      if (at.waitCount != 0) {
        waits[kind].add(0, waits[kind].row(at.second), -at.waitCount);
      }
      at.sampleCount = at.errorCount = at.elapsedMs = at.waitCount = 0;
      at.users = at.second = -1;
    }
  }

  /** Completes the tables after the last row. */
  void end() {
    for (int kind = 0; kind <= LOAD_KIND_LAST; kind++) {
      end(kind);
    }
    for (Tally group : groups) {
      if (group != null) {
        group.end();
      }
    }
  }

  private void addTime(Cell cell, int kind, long ms, long count) {
    boolean isShort = ms < TIMES_MAX_MS && count <= COUNT_MAX;
    if (isShort && (ms < cell.counts(kind).length || cell.rowCount >= FEW_ROWS && hasRoom(cell, kind, (int) ms))) {
      cell.counts(kind)[(int) ms] += (int) count;
    } else {
      times[kind].add(0, times[kind].row((long) cell.number << TIME_BITS | ms), count);
    }
  }

  /** Lengthens the array of a cell for this time; returns whether all arrays are short enough for that. */
  private boolean hasRoom(Cell cell, int kind, int ms) {
    int length = Math.max(TIMES_LEAST, 2 * Integer.highestOneBit(ms));
    int added = length - cell.counts(kind).length;
    if (timesLength + added > TIMES_MAX) {
      return false;
    }
    timesLength += added;
    cell.setCounts(kind, Arrays.copyOf(cell.counts(kind), length));
    return true;
  }

  /** Writes each kind of failure: label, code, cause, count, first and last start. */
  void writeFailures(DataOutputStream out, Part part) throws IOException {
    Table failures = new Table(Table.Join.SUM, Table.Join.LEAST, Table.Join.GREATEST);
    for (int number = 0; number < cellCount; number++) {
      Cell cell = cells[number];
      if (cell.isFailed()) {
        int row = failures.row(((long) cell.label << NAME_BITS | cell.code) << NAME_BITS | cell.cause);
        failures.add(0, row, cell.errorCount());
        failures.least(1, row, cell.firstMs);
        failures.greatest(2, row, cell.lastStartMs);
      }
    }
    out.writeInt(failures.size());
    for (int row = 0; row < failures.size(); row++) {
      long key = failures.key(row);
      part.labels.write(out, (int) (key >> 2 * NAME_BITS));
      part.codes.write(out, (int) (key >> NAME_BITS) & NAME_MASK);
      part.causes.write(out, (int) key & NAME_MASK);
      for (int column = 0; column < 3; column++) {
        out.writeLong(failures.get(column, row));
      }
    }
  }
}
