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

  private final List<byte[]> names = new ArrayList<>();
  private long[] hashes = new long[64];
  private int[] places = new int[128];

  int size() {
    return names.size();
  }

  byte[] get(int number) {
    return names.get(number);
  }

  /** Returns the number of a name. */
  int number(byte[] name) {
    return number(Arrays.copyOf(name, name.length + Long.BYTES), 0, name.length);
  }

  /** Returns the number of the name from `start` to before `end`; eight bytes more can be read behind it. */
  int number(byte[] bytes, int start, int end) {
    long hash = end - start;
    int next = start;
    for (; next + Long.BYTES <= end; next += Long.BYTES) {
      hash = mixed(hash ^ (long) WORDS.get(bytes, next));
    }
    if (next < end) {
      hash = mixed(hash ^ (long) WORDS.get(bytes, next) << 8 * (Long.BYTES - (end - next)));
    }
    int mask = places.length - 1;
    int place = (int) (hash >>> 40) & mask;
    while (places[place] != 0) {
      int number = places[place] - 1;
      if (hashes[number] == hash && same(names.get(number), bytes, start, end)) {
        return number;
      }
      place = (place + 1) & mask;
    }
    int number = names.size();
    if (number == hashes.length) {
      grow();
      return number(bytes, start, end);
    }
    names.add(Arrays.copyOfRange(bytes, start, end));
    hashes[number] = hash;
    places[place] = number + 1;
    return number;
  }

  private static long mixed(long value) {
    long mixed = value * 0x9E3779B97F4A7C15L;
    return mixed ^ mixed >>> 32;
  }

  private static boolean same(byte[] name, byte[] bytes, int start, int end) {
    if (name.length != end - start) {
      return false;
    }
    for (int place = 0; place < name.length; place++) {
      if (name[place] != bytes[start + place]) {
        return false;
      }
    }
    return true;
  }

  private void grow() {
    hashes = Arrays.copyOf(hashes, 2 * hashes.length);
    places = new int[2 * hashes.length];
    int mask = places.length - 1;
    for (int number = 0; number < names.size(); number++) {
      int place = (int) (hashes[number] >>> 40) & mask;
      while (places[place] != 0) {
        place = (place + 1) & mask;
      }
      places[place] = number + 1;
    }
  }

  /** Writes how many names there are, and each with its length before it. */
  void write(DataOutputStream out) throws IOException {
    out.writeInt(names.size());
    for (byte[] name : names) {
      out.writeInt(name.length);
      out.write(name);
    }
  }
}
