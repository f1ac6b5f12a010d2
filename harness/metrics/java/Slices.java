import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/** The slices of a file in the first reading, so that a second one, of a window, reads few rows again. */
final class Slices {
  /** Slices beyond this are not stored: their rows are read again. */
  private static final long BYTES_MAX = 16L * 1024 * 1024;

  /** The names whose numbers the slices contain. */
  final Names labels = new Names();

  final Names codes = new Names();
  final Names generators = new Names();
  private final TreeMap<Long, Slice> byStart = new TreeMap<>();
  /** The columns of each slice's rows. */
  private final TreeMap<Long, String> columns = new TreeMap<>();

  private long bytes;

  /** Stores the slices of a file, and forgets those of the earliest other files when all take too much memory. */
  void store(Map<String, Slices> known, String file) {
    known.remove(file);
    long left = BYTES_MAX - bytes;
    for (Slices other : known.values()) {
      left -= other.bytes;
    }
    for (Iterator<Slices> others = known.values().iterator(); left < 0 && others.hasNext(); others.remove()) {
      left += others.next().bytes;
    }
    known.put(file, this);
  }

  /** Returns the empty slices of a part that has been read; none without slices, or when there is no more room. */
  Slice[] of(Part part) {
    Slice[] slices = new Slice[bytes < BYTES_MAX ? part.marks.size() : 0];
    long start = part.start;
    long lines = 0;
    int oddCount = 0;
    for (int number = 0; number < slices.length; number++) {
      Part.Mark mark = part.marks.get(number);
      slices[number] = new Slice(start, mark.offset(), mark.lines() - lines, mark.oddCount() > oddCount);
      start = mark.offset();
      lines = mark.lines();
      oddCount = mark.oddCount();
    }
    return slices;
  }

  /** Keeps the slices of a part whose rows have these columns, as long as there is room. */
  void keep(Slice[] slices, String columns) {
    for (Slice slice : slices) {
      int size = slice.close();
      if (slice.stop > slice.start && bytes + size <= BYTES_MAX) {
        bytes += size;
        byStart.put(slice.start, slice);
        this.columns.put(slice.start, columns);
      }
    }
  }

  /** Returns the slice that begins at `start` and has these columns; null without one. */
  Slice at(long start, String columns) {
    return columns.equals(this.columns.get(start)) ? byStart.get(start) : null;
  }

  /** Returns where the next slice after `start` begins, `end` without one. */
  long next(long start, long end) {
    Long found = byStart.higherKey(start);
    return found == null ? end : found;
  }
}
