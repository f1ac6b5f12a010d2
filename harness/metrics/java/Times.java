import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/** Counts of elapsed times by a small number, optimised for adding: short times in arrays, long ones in a table. */
final class Times {
  private static final int SHORT_MS = 1024;
  private static final int NUMBERS_MAX = 4096;
  /** Many numbers with one or two times each would fill their arrays with zeros. */
  private static final int SHORT_TIMES_MAX = 512 * 1024;
  /** A part has less than a million rows: their counts cannot overflow. */
  private static final int COUNT_MAX = 1000;

  private int[][] shortTimes = new int[16][];
  private int shortLength;
  private final Table longTimes = new Table(Table.Join.SUM);

  void add(int number, long elapsedMs, long count) {
    if (elapsedMs < SHORT_MS && number < NUMBERS_MAX && count <= COUNT_MAX) {
      int place = (int) elapsedMs;
      int[] counts = number < shortTimes.length ? shortTimes[number] : null;
      if (counts == null || place >= counts.length) {
        counts = grown(number, place);
      }
      if (counts != null) {
        counts[place] += (int) count;
        return;
      }
    }
    longTimes.add(0, longTimes.row((long) number << Tally.TIME_BITS | elapsedMs), count);
  }

  /** Returns the counts of a number with room for `place`; null when there are already too many counts. */
  private int[] grown(int number, int place) {
    if (number >= shortTimes.length) {
      shortTimes = Arrays.copyOf(shortTimes, Math.max(2 * shortTimes.length, number + 1));
    }
    int length = Math.max(64, 2 * Integer.highestOneBit(place));
    int[] counts = shortTimes[number];
    int added = length - (counts == null ? 0 : counts.length);
    if (shortLength + added > SHORT_TIMES_MAX) {
      return null;
    }
    shortLength += added;
    shortTimes[number] = counts == null ? new int[length] : Arrays.copyOf(counts, length);
    return shortTimes[number];
  }

  /** Adds all counts to a table whose keys combine the renamed number (high bits) and the elapsed time. */
  void addTo(Table table, LongUnaryOperator rename) {
    for (int number = 0; number < shortTimes.length; number++) {
      int[] counts = shortTimes[number];
      for (int place = 0; counts != null && place < counts.length; place++) {
        if (counts[place] != 0) {
          table.add(0, table.row(rename.applyAsLong(number) << Tally.TIME_BITS | place), counts[place]);
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
