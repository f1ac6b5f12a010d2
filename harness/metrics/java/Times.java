import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/** Counts of elapsed times by a small number, optimised for adding: short times in arrays, long ones in a table. */
final class Times {
  private static final int NUMBERS_MAX = 4096;

  private final int shortMs;
  /** Many numbers with one or two times each would fill their arrays with zeros. */
  private final int shortTimesMax;
  private long[][] shortTimes = new long[16][];
  private int shortLength;
  private final Table longTimes = new Table(Table.Join.SUM);

  /** Times below `shortMs` are in arrays, until these have `shortTimesMax` counts. */
  Times(int shortMs, int shortTimesMax) {
    this.shortMs = shortMs;
    this.shortTimesMax = shortTimesMax;
  }

  void add(int number, long elapsedMs, long count) {
    if (elapsedMs < shortMs && number < NUMBERS_MAX) {
      int ms = (int) elapsedMs;
      long[] counts = number < shortTimes.length ? shortTimes[number] : null;
      if (counts == null || ms >= counts.length) {
        counts = grown(number, ms);
      }
      if (counts != null) {
        counts[ms] += count;
        return;
      }
    }
    longTimes.add(0, longTimes.row((long) number << Tally.TIME_BITS | elapsedMs), count);
  }

  /** Returns the counts of a number with room for `ms`; null when there are already too many counts. */
  private long[] grown(int number, int ms) {
    if (number >= shortTimes.length) {
      shortTimes = Arrays.copyOf(shortTimes, Math.max(2 * shortTimes.length, number + 1));
    }
    int length = Math.max(64, 2 * Integer.highestOneBit(ms));
    long[] counts = shortTimes[number];
    int added = length - (counts == null ? 0 : counts.length);
    if (shortLength + added > shortTimesMax) {
      return null;
    }
    shortLength += added;
    shortTimes[number] = counts == null ? new long[length] : Arrays.copyOf(counts, length);
    return shortTimes[number];
  }

  /** Adds all counts to a table whose keys combine the renamed number (high bits) and the elapsed time. */
  void addTo(Table table, LongUnaryOperator rename) {
    for (int number = 0; number < shortTimes.length; number++) {
      long[] counts = shortTimes[number];
      for (int ms = 0; counts != null && ms < counts.length; ms++) {
        if (counts[ms] != 0) {
          table.add(0, table.row(rename.applyAsLong(number) << Tally.TIME_BITS | ms), counts[ms]);
        }
      }
    }
    for (int row = 0; row < longTimes.size(); row++) {
      long key = longTimes.key(row);
      long number = rename.applyAsLong(key >> Tally.TIME_BITS);
      table.add(0, table.row(number << Tally.TIME_BITS | key & Tally.TIME_MASK), longTimes.get(0, row));
    }
  }
}
