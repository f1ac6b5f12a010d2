import java.util.Arrays;

/** Counts of elapsed times in two or three bytes each, one after the other: they can be added and read, not looked up. */
final class PackedTimes {
  private static final int PAIR_BYTES_MAX = 20;

  private byte[] bytes = new byte[64];
  private int length;
  private long lastMs;

  /** Adds a count; times that follow each other closely take fewest bytes. */
  void add(long elapsedMs, long count) {
    if (length + PAIR_BYTES_MAX > bytes.length) {
      bytes = Arrays.copyOf(bytes, 2 * bytes.length);
    }
    long step = elapsedMs - lastMs;
    lastMs = elapsedMs;
    put(step << 1 ^ step >> 63);
    put(count);
  }

  private void put(long value) {
    long rest = value;
    while (rest > 0x7F) {
      bytes[length++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[length++] = (byte) rest;
  }

  /** Frees what is not needed; returns the number of bytes. No count can be added any more. */
  int close() {
    bytes = Arrays.copyOf(bytes, length);
    return length;
  }

  /** Adds all counts to those of a number. */
  void addTo(Times times, int number) {
    long elapsedMs = 0;
    int at = 0;
    while (at < length) {
      long step = 0;
      int shift = 0;
      for (; bytes[at] < 0; shift += 7) {
        step |= (long) (bytes[at++] & 0x7F) << shift;
      }
      step |= (long) bytes[at++] << shift;
      elapsedMs += step >>> 1 ^ -(step & 1);
      long count = 0;
      shift = 0;
      for (; bytes[at] < 0; shift += 7) {
        count |= (long) (bytes[at++] & 0x7F) << shift;
      }
      count |= (long) bytes[at++] << shift;
      times.add(number, elapsedMs, count);
    }
  }
}
