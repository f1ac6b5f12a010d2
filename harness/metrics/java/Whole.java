import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/** The counts of all parts so far, except failures: those are written part by part. */
final class Whole {
  /** Buckets are doubled in width until there are at most this many of them and of times in them: see timeline.py. */
  private static final int BUCKETS_MAX = 600;

  private static final int PAIRS_MAX = 500_000;

  /** In keys of entries and seconds, the load generator's number has the highest bits. */
  private static final int GENERATOR_SHIFT = 40;

  private static final long BELOW_GENERATOR = (1L << GENERATOR_SHIFT) - 1;

  long rowCount;
  private final boolean hasBuckets;
  private final int batchCount;
  private long firstMs = Long.MAX_VALUE;
  // The order of the rows without a load generator's name, as in Tally.
  private long mostEndMs = Long.MIN_VALUE / 2;
  private long backMs;
  private final Names labels = new Names();
  private final Names codes = new Names();
  private final Names generators;
  private final Table entries = Tally.newEntries();
  private final Table times = new Table(Table.Join.SUM);
  private final Table answers = new Table(Table.Join.SUM, Table.Join.SUM);
  private final Table[] seconds = {Tally.newSeconds(), Tally.newSeconds()};
  private final Table[] buckets = {new Table(Table.Join.SUM), new Table(Table.Join.SUM)};
  private final int[] halvings = {0, 0};
  /** The counts of the thread groups that are counted apart. */
  private final Whole[] groups;

  /** `hasBuckets`: whether times are also counted per interval; `batchCount`: the number of batches of labels. */
  Whole(boolean hasBuckets, int batchCount, int groupCount) {
    this.hasBuckets = hasBuckets;
    this.batchCount = batchCount;
    generators = new Names();
    groups = new Whole[groupCount];
    Arrays.setAll(groups, number -> new Whole(generators));
  }

  /** The counts of one thread group; the load generators have the same numbers as in the counts of all rows. */
  private Whole(Names generators) {
    hasBuckets = false;
    batchCount = 1;
    this.generators = generators;
    groups = new Whole[0];
  }

  /** Returns the current width of buckets, for parts that begin now. Null without buckets. */
  int[] halvings() {
    return hasBuckets ? halvings.clone() : null;
  }

  /** Adds the next part, with its tally of each load generator. */
  void merge(Part part) {
    for (int number = 0; number < part.tallies.size(); number++) {
      long generator = generators.number(part.generators, number);
      merge(part.tallies.get(number), generator << GENERATOR_SHIFT);
    }
    follow(part.unnamed.leastEndMs, part.unnamed.mostEndMs, part.unnamed.backMs);
  }

  /** Adds the next rows, given by their least and greatest end and by how far they go back themselves. */
  void follow(long leastEndMs, long mostEndMs, long backMs) {
    this.backMs = Math.max(this.backMs, Math.max(backMs, this.mostEndMs - leastEndMs));
    this.mostEndMs = Math.max(this.mostEndMs, mostEndMs);
  }

  private void merge(Tally part, long generatorBits) {
    rowCount += part.rowCount;
    firstMs = Math.min(firstMs, part.firstMs);
    int[] label = numbers(part.labels, labels);
    int[] code = numbers(part.codes, codes);
    LongUnaryOperator entryKey =
        key -> {
          long place = key >> Tally.KIND_BITS;
          long number = (long) label[(int) (place / batchCount)] * batchCount + place % batchCount;
          return generatorBits | number << Tally.KIND_BITS | key & Tally.KIND_MASK;
        };
    entries.merge(part.entries, entryKey);
    part.times.addTo(times, entry -> entries.row(entryKey.applyAsLong(part.entries.key((int) entry))));
    answers.merge(
        part.answers,
        key -> ((long) label[(int) (key >> 33)] << 1 | key >> 32 & 1) << 32 | code[(int) (key & Tally.LOW)]);
    for (int kind = 0; kind <= Tally.LOAD_KIND_LAST; kind++) {
      seconds[kind].merge(part.seconds[kind], key -> generatorBits | key);
      if (hasBuckets) {
        mergeBuckets(part, kind);
      }
    }
    for (int number = 0; number < groups.length; number++) {
      Tally own = part.groupOrNull(number);
      if (own != null) {
        groups[number].merge(own, generatorBits);
      }
    }
  }

  private void mergeBuckets(Tally part, int kind) {
    Table partBuckets = part.buckets[kind];
    int shift = halvings[kind] - part.halvings[kind];
    part.bucketTimes[kind].addTo(buckets[kind], row -> partBuckets.key((int) row) >> shift);
    while (bucketCount(kind) > BUCKETS_MAX || buckets[kind].size() > PAIRS_MAX) {
      widen(kind);
    }
  }

  private static int[] numbers(Names from, Names to) {
    int[] numbers = new int[from.size()];
    for (int number = 0; number < numbers.length; number++) {
      numbers[number] = to.number(from, number);
    }
    return numbers;
  }

  private int bucketCount(int kind) {
    Table distinct = new Table();
    for (int row = 0; row < seconds[kind].size(); row++) {
      distinct.row((seconds[kind].key(row) & BELOW_GENERATOR) >> halvings[kind]);
    }
    return distinct.size();
  }

  private void widen(int kind) {
    Table wide = new Table(Table.Join.SUM);
    wide.merge(buckets[kind], key -> key >> Tally.TIME_BITS + 1 << Tally.TIME_BITS | key & Tally.TIME_MASK);
    buckets[kind] = wide;
    halvings[kind]++;
  }

  /** Entries are ordered by number: the keys of `times` use these numbers. */
  private void writeEntries(DataOutputStream out) throws IOException {
    out.writeInt(entries.size());
    for (int row = 0; row < entries.size(); row++) {
      out.writeLong(entries.key(row));
      for (int column = 0; column < Tally.ENTRY_COLUMNS; column++) {
        out.writeLong(entries.get(column, row));
      }
    }
  }

  /** Writes everything: the counts of all rows, then those of each thread group that is counted apart. */
  void write(DataOutputStream out) throws IOException {
    out.writeLong(firstMs);
    out.writeLong(backMs);
    labels.write(out);
    codes.write(out);
    generators.write(out);
    writeEntries(out);
    times.write(out);
    answers.write(out);
    for (int kind = 0; kind <= Tally.LOAD_KIND_LAST; kind++) {
      seconds[kind].write(out);
      out.writeInt(halvings[kind]);
      buckets[kind].write(out);
    }
    for (Whole group : groups) {
      group.write(out);
    }
  }
}
