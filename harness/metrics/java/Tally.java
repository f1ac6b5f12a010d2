import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;

/** The counts of the rows of one part. */
final class Tally {
  /** Keys combine a number or a second (high bits) and an elapsed time, which is below 2^30 ms (7 days). */
  static final int TIME_BITS = 30;

  static final long TIME_MASK = (1L << TIME_BITS) - 1;
  /** A row's kind: twice its thread group (0 load, 1 setUp, 2 tearDown), plus one for a transaction. */
  static final int KIND_BITS = 3;

  static final long KIND_MASK = (1L << KIND_BITS) - 1;

  /** Kinds up to this one are the load: requests (0) and transactions (1). */
  static final int LOAD_KIND_LAST = 1;

  static final long LOW = 0xFFFFFFFFL;

  /** A part with more error causes or labels ends early, to bound memory. */
  private static final int NAMES_MAX = 20_000;

  static final int RECEIVED = 1;
  static final int SENT = 2;
  static final int LATENCY = 4;
  static final int CONNECT = 8;

  final Names labels;
  final Names codes;
  final Names causes;
  long rowCount;
  long firstMs = Long.MAX_VALUE;
  /** Of requests of the load: the least and greatest end, and how far one is before that of an earlier row at most. */
  long leastEndMs = Long.MAX_VALUE / 2;

  long mostEndMs = Long.MIN_VALUE / 2;
  long backMs;

  final Table entries = newEntries();
  final Times times = new Times();
  final Table answers = new Table(Table.Join.SUM, Table.Join.SUM);
  private final Table failures = new Table(Table.Join.SUM, Table.Join.LEAST, Table.Join.GREATEST);
  final Table[] seconds = {newSeconds(), newSeconds()};
  final Table[] buckets = {new Table(), new Table()};
  final Times[] bucketTimes = {new Times(), new Times()};
  final int[] halvings;
  private final int batchCount;
  /** The tallies of the thread groups that are counted apart; null for those without rows. */
  private final Tally[] groups;

  // The entry of the last rows: the next row often has the same one.
  private int[] entryByKind = new int[64];
  private int[] codeByLabel = new int[8];
  private int[] answerByLabel = new int[8];
  private final long[] lastSecond = {-1, -1};
  private final int[] lastSecondRow = new int[2];
  private final long[] lastBucket = {-1, -1};
  private final int[] lastBucketRow = new int[2];

  /** The length of the load generator's name that its rows have in common. */
  final int nameLength;

  /** Buckets of kind k are 2^halvings[k] seconds wide; there are none with null. */
  Tally(int[] halvings, int batchCount, int nameLength, int groupCount) {
    this.nameLength = nameLength;
    this.halvings = halvings;
    this.batchCount = batchCount;
    labels = new Names();
    codes = new Names();
    causes = new Names();
    groups = new Tally[groupCount];
  }

  /** The rows of one thread group: their names are those of all rows, and there are neither buckets nor batches. */
  private Tally(Tally all) {
    nameLength = all.nameLength;
    halvings = null;
    batchCount = 1;
    labels = all.labels;
    codes = all.codes;
    causes = all.causes;
    groups = new Tally[0];
  }

  /** Returns the tally of a thread group, created if necessary. */
  Tally ofGroup(int number) {
    if (groups[number] == null) {
      groups[number] = new Tally(this);
    }
    return groups[number];
  }

  /** Returns the tally of a thread group; null without a row of it. */
  Tally groupOrNull(int number) {
    return groups[number];
  }

  static final int ENTRY_COLUMNS = 10;

  /** Sums of elapsed, errors, bytes received and sent, latency, connect; first start, last end, offset; missing. */
  static Table newEntries() {
    return new Table(
        Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.SUM,
        Table.Join.LEAST, Table.Join.GREATEST, Table.Join.LEAST, Table.Join.UNION);
  }

  /** Samples, errors, sum of elapsed, most users. */
  static Table newSeconds() {
    return new Table(Table.Join.SUM, Table.Join.SUM, Table.Join.SUM, Table.Join.GREATEST);
  }

  /** Counts a row, its numbers by role; `missing` has the bits of the columns that the file lacks. */
  void add(long[] row, int label, int code, int kind, int batch, int cause, long offset, int missing) {
    long startMs = row[Layout.START];
    long elapsedMs = row[Layout.ELAPSED];
    long sampleCount = row[Layout.SAMPLES];
    long errorCount = row[Layout.ERRORS];
    long eachMs = sampleCount == 1 ? elapsedMs : elapsedMs / sampleCount;
    rowCount++;
    firstMs = Math.min(firstMs, startMs);
    int entry = entry(label * batchCount + batch << KIND_BITS | kind);
    entries.add(0, entry, elapsedMs);
    entries.add(1, entry, errorCount);
    entries.add(2, entry, row[Layout.RECEIVED]);
    entries.add(3, entry, row[Layout.SENT]);
    entries.add(4, entry, row[Layout.LATENCY]);
    entries.add(5, entry, row[Layout.CONNECT]);
    entries.least(6, entry, startMs);
    entries.greatest(7, entry, startMs + elapsedMs);
    entries.least(8, entry, offset);
    entries.union(9, entry, missing);
    times.add(entry, eachMs, sampleCount);
    int answer = answer(label << 1 | kind & 1, code);
    answers.add(0, answer, sampleCount);
    answers.add(1, answer, errorCount);
    if (errorCount > 0) {
      int failure = failures.row((long) cause << 32 | answer);
      failures.add(0, failure, errorCount);
      failures.least(1, failure, startMs);
      failures.greatest(2, failure, startMs);
    }
    if (kind == 0) {
      long endMs = startMs + elapsedMs;
      backMs = Math.max(backMs, mostEndMs - endMs);
      leastEndMs = Math.min(leastEndMs, endMs);
      mostEndMs = Math.max(mostEndMs, endMs);
    }
    if (kind <= LOAD_KIND_LAST) {
      addSecond(row, kind, (startMs + elapsedMs) / 1000, eachMs);
    }
  }

  private int entry(int key) {
    if (key >= entryByKind.length) {
      entryByKind = Arrays.copyOf(entryByKind, Math.max(2 * entryByKind.length, key + 1));
    }
    if (entryByKind[key] == 0) {
      entryByKind[key] = 1 + entries.row(key);
    }
    return entryByKind[key] - 1;
  }

  /** Labels of answers are doubled, plus one for a transaction: a request may have the same name. */
  private int answer(int label, int code) {
    if (label >= answerByLabel.length) {
      int length = Math.max(2 * answerByLabel.length, label + 1);
      codeByLabel = Arrays.copyOf(codeByLabel, length);
      answerByLabel = Arrays.copyOf(answerByLabel, length);
    }
    if (answerByLabel[label] == 0 || codeByLabel[label] != code) {
      codeByLabel[label] = code;
      answerByLabel[label] = 1 + answers.row((long) label << 32 | code);
    }
    return answerByLabel[label] - 1;
  }

  private void addSecond(long[] row, int kind, long second, long eachMs) {
    Table table = seconds[kind];
    if (second != lastSecond[kind]) {
      lastSecond[kind] = second;
      lastSecondRow[kind] = table.row(second);
      if (halvings != null) {
        findBucket(kind, second >> halvings[kind]);
      }
    }
    int place = lastSecondRow[kind];
    table.add(0, place, row[Layout.SAMPLES]);
    table.add(1, place, row[Layout.ERRORS]);
    table.add(2, place, row[Layout.ELAPSED]);
    table.greatest(3, place, row[Layout.USERS]);
    if (halvings != null) {
      bucketTimes[kind].add(lastBucketRow[kind], eachMs, row[Layout.SAMPLES]);
    }
  }

  private void findBucket(int kind, long bucket) {
    if (bucket != lastBucket[kind]) {
      lastBucket[kind] = bucket;
      lastBucketRow[kind] = buckets[kind].row(bucket);
    }
  }

  boolean isFull() {
    return causes.size() > NAMES_MAX || labels.size() > NAMES_MAX || codes.size() > NAMES_MAX;
  }

  /** Writes each kind of failure: label, code, cause, count, first and last start. */
  void writeFailures(DataOutputStream out) throws IOException {
    out.writeInt(failures.size());
    for (int row = 0; row < failures.size(); row++) {
      long key = failures.key(row);
      long answer = answers.key((int) (key & LOW));
      labels.write(out, (int) (answer >> 33));
      codes.write(out, (int) (answer & LOW));
      causes.write(out, (int) (key >> 32));
      for (int column = 0; column < 3; column++) {
        out.writeLong(failures.get(column, row));
      }
    }
  }
}
