import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/** Rows of numbers by key, numbered from 0 in order of first appearance. */
final class Table {
  /** How two values of a column are combined. */
  enum Join {
    SUM(0),
    LEAST(Long.MAX_VALUE),
    GREATEST(-1),
    UNION(0);

    final long start;

    Join(long start) {
      this.start = start;
    }
  }

  private final Join[] joins;
  private final int width;
  private long[] keys;
  private int[] slots;
  private long[] values;
  private int size;

  Table(Join... joins) {
    this(256, joins);
  }

  private Table(int capacity, Join[] joins) {
    this.joins = joins;
    width = joins.length;
    keys = new long[capacity];
    slots = new int[2 * capacity];
    values = new long[width * capacity];
  }

  /** Returns a table that takes little memory for a few rows. */
  static Table small(Join... joins) {
    return new Table(8, joins);
  }

  int size() {
    return size;
  }

  long key(int row) {
    return keys[row];
  }

  long get(int column, int row) {
    return values[row * width + column];
  }

  void add(int column, int row, long value) {
    values[row * width + column] += value;
  }

  void least(int column, int row, long value) {
    int index = row * width + column;
    if (value < values[index]) {
      values[index] = value;
    }
  }

  void greatest(int column, int row, long value) {
    int index = row * width + column;
    if (value > values[index]) {
      values[index] = value;
    }
  }

  void union(int column, int row, long value) {
    values[row * width + column] |= value;
  }

  /** Returns the row of a key, created if necessary. */
  int row(long key) {
    int mask = slots.length - 1;
    int slot = spread(key) & mask;
    while (slots[slot] != 0) {
      int row = slots[slot] - 1;
      if (keys[row] == key) {
        return row;
      }
      slot = (slot + 1) & mask;
    }
    if (size == keys.length) {
      grow();
      return row(key);
    }
    keys[size] = key;
    for (int column = 0; column < width; column++) {
      values[size * width + column] = joins[column].start;
    }
    slots[slot] = ++size;
    return size - 1;
  }

  /** Adds the rows of another table, their keys renamed. */
  void merge(Table other, LongUnaryOperator rename) {
    for (int from = 0; from < other.size; from++) {
      merge(other, from, row(rename.applyAsLong(other.keys[from])));
    }
  }

  /** Adds a row of another table to a row. */
  void merge(Table other, int from, int to) {
    for (int column = 0; column < width; column++) {
      long value = other.get(column, from);
      switch (joins[column]) {
        case SUM -> add(column, to, value);
        case LEAST -> least(column, to, value);
        case GREATEST -> greatest(column, to, value);
        case UNION -> union(column, to, value);
      }
    }
  }

  /** Returns all keys in order. */
  long[] sortedKeys() {
    long[] ordered = Arrays.copyOf(keys, size);
    Arrays.sort(ordered);
    return ordered;
  }

  /** Writes the number of rows, and per row the key and the columns, in order of the keys. */
  void write(DataOutputStream out) throws IOException {
    out.writeInt(size);
    for (long key : sortedKeys()) {
      out.writeLong(key);
      int row = row(key);
      for (int column = 0; column < width; column++) {
        out.writeLong(get(column, row));
      }
    }
  }

  private void grow() {
    int length = 2 * keys.length;
    keys = Arrays.copyOf(keys, length);
    values = Arrays.copyOf(values, width * length);
    slots = new int[2 * length];
    int mask = slots.length - 1;
    for (int row = 0; row < size; row++) {
      int slot = spread(keys[row]) & mask;
      while (slots[slot] != 0) {
        slot = (slot + 1) & mask;
      }
      slots[slot] = row + 1;
    }
  }

  private static int spread(long key) {
    long mixed = key * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 32) ^ (int) (mixed >>> 47);
  }
}
