import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/** The counts of all parts so far, except failures: those are written part by part. */
final class Whole {
  /** Buckets are doubled in width until there are at most this many of them and of times in them: see timeline.py. */
  private static final int BUCKETS_MAX = 600;

  private static final int PAIRS_MAX = 500_000;
  /** More entries or seconds take memory that the caller needs. */
  private static final int SMALL_ENTRIES_MAX = 2000;

  private static final int SMALL_SECONDS_MAX = 50_000;

  /** In keys of entries and seconds, the load generator's number has the highest bits. */
  private static final int GENERATOR_SHIFT = 40;

  private static final long BELOW_GENERATOR = (1L << GENERATOR_SHIFT) - 1;

  long rowCount;
  /** Those of the file: new ones, or in a window those of the first reading; null for a thread group. */
  private final Slices slices;

  private final boolean hasBuckets;
  private final int batchCount;
  /** Whether all rows count; of a window only the labels, their times and the codes of batches are counted. */
  private final boolean isAll;
  private long firstMs = Long.MAX_VALUE;
  // The order of the rows without a load generator's name, as in Tally.
  private long mostEndMs = Long.MIN_VALUE / 2;
  private long backMs;
  private final Names labels;
  private final Names codes;
  private final Names generators;
  private final Table entries = new Table(Tally.ENTRY_JOINS);
  /** By kind of time. */
  private final Times[] times = {newTimes(), newTimes(), newTimes()};

  private final Table answers = new Table(Table.Join.SUM, Table.Join.SUM);
  private final Table[] seconds = {Tally.newSeconds(), Tally.newSeconds()};
  private final Table[] waits = {new Table(Table.Join.SUM), new Table(Table.Join.SUM)};
  private final Table[] buckets = {new Table(Table.Join.SUM), new Table(Table.Join.SUM)};
  private final int[] halvings = {0, 0};
  /** The counts of the thread groups that are counted apart. */
  private final Whole[] groups;

  Whole(Samples counted, boolean hasBuckets, Slices slices) {
    this.hasBuckets = hasBuckets;
    batchCount = counted.batchCount();
    isAll = !counted.isWindow();
    this.slices = slices;
    labels = slices.labels;
    codes = slices.codes;
    generators = slices.generators;
    groups = new Whole[counted.threadGroups().length];
    Arrays.setAll(groups, number -> new Whole(this));
  }

  /** The counts of one thread group; the names have the same numbers as in the counts of all rows. */
  private Whole(Whole all) {
    hasBuckets = false;
    batchCount = 1;
    isAll = all.isAll;
    slices = null;
    labels = all.labels;
    codes = all.codes;
    generators = all.generators;
    groups = new Whole[0];
  }

  private static Times newTimes() {
    return new Times(16 * 1024, 1024 * 1024);
  }

  /** Returns the current width of buckets, for parts that begin now. Null without buckets. */
  int[] halvings() {
    return hasBuckets ? halvings.clone() : null;
  }

  /** Adds the next part, with its tally of each load generator; its rows have these columns. */
  void merge(Part part, String columns) {
    int[] label = numbers(part.labels, labels);
    int[] code = numbers(part.codes, codes);
    Slice[] own = slices.of(part);
    for (int number = 0; number < part.tallies.size(); number++) {
      Tally tally = part.tallies.get(number);
      long generatorBits = (long) generators.number(part.generators, number) << GENERATOR_SHIFT;
      merge(tally, generatorBits, label, code, part.layout.missing);
      if (own.length > 0) {
        Slice.add(own, tally, generatorBits, label, code, part.layout.missing);
      }
    }
    slices.keep(own, columns);
    follow(part.unnamed.leastEndMs, part.unnamed.mostEndMs, part.unnamed.backMs);
  }

  /** Adds counts that are all of one batch; the keys of `more` and `moreAnswers` are those without batches. */
  void add(Table more, PackedTimes[][] moreTimes, Table moreAnswers, int batch, long rows) {
    rowCount += rows;
    for (int row = 0; row < more.size(); row++) {
      long key = more.key(row);
      int entry = entries.row(key & ~BELOW_GENERATOR | inBatch(key & BELOW_GENERATOR, batch));
      entries.merge(more, row, entry);
      for (int kind = 0; kind < times.length; kind++) {
        moreTimes[row][kind].addTo(times[kind], entry);
      }
      firstMs = Math.min(firstMs, more.get(Tally.ENTRY_FIRST_MS, row));
    }
    for (int row = 0; batchCount > 1 && row < moreAnswers.size(); row++) {
      long key = moreAnswers.key(row);
      long index = inBatch(key >> Integer.SIZE, batch) << Integer.SIZE;
      answers.add(0, answers.row(index | key & Tally.LOW), moreAnswers.get(0, row));
    }
  }

  /** Returns the key of a label and a kind in a batch. */
  private long inBatch(long key, int batch) {
    return ((key >> Tally.KIND_BITS) * batchCount + batch) << Tally.KIND_BITS | key & Tally.KIND_MASK;
  }

  /** Adds the next rows, given by their least and greatest end and by how far they go back themselves. */
  void follow(long leastEndMs, long mostEndMs, long backMs) {
    this.backMs = Math.max(this.backMs, Math.max(backMs, this.mostEndMs - leastEndMs));
    this.mostEndMs = Math.max(this.mostEndMs, mostEndMs);
  }

  private void merge(Tally part, long generatorBits, int[] label, int[] code, int missing) {
    int[] entryOf = new int[part.cellCount];
    for (int number = 0; number < part.cellCount; number++) {
      Cell cell = part.cells[number];
      // Without batches of the window, those of the cells are slices.
      long index = (long) label[cell.label] * batchCount + (batchCount == 1 ? 0 : cell.batch);
      entryOf[number] = entries.row(generatorBits | index << Tally.KIND_BITS | cell.kind);
      merge(cell, entryOf[number], missing);
      if (isAll) {
        int answer = answers.row(((long) label[cell.label] << 1 | cell.kind & 1) << 32 | code[cell.code]);
        answers.add(0, answer, cell.sampleCount());
        answers.add(1, answer, cell.errorCount());
      } else if (batchCount > 1) {
        long key = index << Tally.KIND_BITS | cell.kind;
        answers.add(0, answers.row(key << Integer.SIZE | code[cell.code]), cell.sampleCount());
      }
    }
    for (int kind = 0; kind < times.length; kind++) {
      Table beyond = part.times[kind];
      for (int row = 0; row < beyond.size(); row++) {
        long key = beyond.key(row);
        int entry = entryOf[(int) (key >> Tally.TIME_BITS)];
        long ms = key & Tally.TIME_MASK;
        times[kind].add(entry, ms, beyond.get(0, row));
        entries.add(Tally.ENTRY_MS[kind], entry, ms * beyond.get(0, row));
      }
    }
    for (int kind = 0; isAll && kind <= Tally.LOAD_KIND_LAST; kind++) {
      seconds[kind].merge(part.seconds[kind], key -> generatorBits | key);
      waits[kind].merge(part.waits[kind], key -> key);
      if (hasBuckets) {
        mergeBuckets(part, kind);
      }
    }
    for (int number = 0; number < groups.length; number++) {
      Tally own = part.groupOrNull(number);
      if (own != null) {
        groups[number].merge(own, generatorBits, label, code, missing);
      }
    }
  }

  private void merge(Cell cell, int entry, int missing) {
    rowCount += cell.rowCount;
    firstMs = Math.min(firstMs, cell.firstMs);
    for (int kind = 0; kind < times.length; kind++) {
      long sumMs = 0;
      int[] counts = cell.counts(kind);
      for (int ms = 0; ms < counts.length; ms++) {
        if (counts[ms] != 0) {
          sumMs += (long) ms * counts[ms];
          times[kind].add(entry, ms, counts[ms]);
        }
      }
      entries.add(Tally.ENTRY_MS[kind], entry, sumMs);
    }
    cell.addTo(entries, entry, missing);
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
      for (int column = 0; column < Tally.ENTRY_JOINS.length; column++) {
        out.writeLong(entries.get(column, row));
      }
    }
  }

  /** Returns whether the counts take little memory: those of few labels, load generators, batches and seconds. */
  boolean isSmall() {
    return entries.size() <= SMALL_ENTRIES_MAX && seconds[0].size() + seconds[1].size() <= SMALL_SECONDS_MAX;
  }

  /** Writes everything: the counts of all rows, then those of each thread group that is counted apart. */
  void write(DataOutputStream out) throws IOException {
    out.writeLong(firstMs);
    out.writeLong(backMs);
    labels.write(out);
    codes.write(out);
    generators.write(out);
    writeEntries(out);
    for (Times ofKind : times) {
      Table sorted = new Table(Table.Join.SUM);
      ofKind.addTo(sorted, entry -> entry);
      sorted.write(out);
    }
    answers.write(out);
    for (int kind = 0; kind <= Tally.LOAD_KIND_LAST; kind++) {
      seconds[kind].write(out);
      waits[kind].write(out);
      out.writeInt(halvings[kind]);
      buckets[kind].write(out);
    }
    for (Whole group : groups) {
      group.write(out);
    }
  }
}
