import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Byte strings, numbered from 0 in order of first appearance. */
final class Names {
  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Each has eight extra bytes, so that it can be read word by word. */
  private final List<byte[]> padded = new ArrayList<>();

  private int[] lengths = new int[64];
  private long[] hashes = new long[64];
  private int[] slots = new int[128];

  int size() {
    return padded.size();
  }

  /** Returns the number here of a name in other names. */
  int number(Names other, int number) {
    return number(other.padded.get(number), 0, other.lengths[number]);
  }

  /** Returns the number of a name. */
  int number(byte[] name) {
    return number(Arrays.copyOf(name, name.length + Long.BYTES), 0, name.length);
  }

  /** Returns the number of the name from `start` to before `end`; eight more bytes must be readable after it. */
  int number(byte[] bytes, int start, int end) {
    long hash = end - start;
    int next = start;
    for (; next + Long.BYTES <= end; next += Long.BYTES) {
      hash = mixed(hash ^ (long) WORDS.get(bytes, next));
    }
    if (next < end) {
      hash = mixed(hash ^ (long) WORDS.get(bytes, next) << 8 * (Long.BYTES - (end - next)));
    }
    int mask = slots.length - 1;
    int slot = (int) (hash >>> 40) & mask;
    while (slots[slot] != 0) {
      int number = slots[slot] - 1;
      if (hashes[number] == hash && lengths[number] == end - start && same(padded.get(number), bytes, start, end)) {
        return number;
      }
      slot = (slot + 1) & mask;
    }
    int number = padded.size();
    if (number == hashes.length) {
      grow();
      return number(bytes, start, end);
    }
    padded.add(Arrays.copyOf(Arrays.copyOfRange(bytes, start, end), end - start + Long.BYTES));
    hashes[number] = hash;
    lengths[number] = end - start;
    slots[slot] = number + 1;
    return number;
  }

  private static long mixed(long value) {
    long mixed = value * 0x9E3779B97F4A7C15L;
    return mixed ^ mixed >>> 32;
  }

  /** Returns whether a padded name equals the bytes from `start` to before `end`, which have the same length. */
  private static boolean same(byte[] name, byte[] bytes, int start, int end) {
    int next = start;
    for (; next + Long.BYTES <= end; next += Long.BYTES) {
      if ((long) WORDS.get(name, next - start) != (long) WORDS.get(bytes, next)) {
        return false;
      }
    }
    long difference = (long) WORDS.get(name, next - start) ^ (long) WORDS.get(bytes, next);
    return next == end || difference << 8 * (Long.BYTES - (end - next)) == 0;
  }

  private void grow() {
    hashes = Arrays.copyOf(hashes, 2 * hashes.length);
    lengths = Arrays.copyOf(lengths, hashes.length);
    slots = new int[2 * hashes.length];
    int mask = slots.length - 1;
    for (int number = 0; number < padded.size(); number++) {
      int slot = (int) (hashes[number] >>> 40) & mask;
      while (slots[slot] != 0) {
        slot = (slot + 1) & mask;
      }
      slots[slot] = number + 1;
    }
  }

  /** Writes the number of names, then each name. */
  void write(DataOutputStream out) throws IOException {
    out.writeInt(padded.size());
    for (int number = 0; number < padded.size(); number++) {
      write(out, number);
    }
  }

  /** Writes a name after its length. */
  void write(DataOutputStream out, int number) throws IOException {
    out.writeInt(lengths[number]);
    out.write(padded.get(number), 0, lengths[number]);
  }
}
