import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The known texts of the same fields, found by their bytes without a look for the ends of the fields. */
final class Texts {
  static final int LENGTH_MAX = 512;
  private static final int PROBES_MAX = 32;
  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final int countMax;
  private Text[] known = new Text[16];
  private int count;
  private Text[] slots;
  // The bytes that all texts are long enough for: the first and the last eight of them choose the slot.
  private int least = LENGTH_MAX;
  private int second;
  private Text last;
  private long mask;

  /** `countMax` is a power of two. */
  Texts(int countMax) {
    this.countMax = countMax;
    slots = new Text[4 * countMax];
    spread();
  }

  /** Returns the text that begins at `position`, null when it is not known; it is usually the one before. */
  Text findAgain(byte[] bytes, int position) {
    Text text = last;
    if (text == null || !same(text, bytes, position)) {
      last = text = find(bytes, position);
    }
    return text;
  }

  /** Returns the text that begins at `position`, null when it is not known. */
  Text find(byte[] bytes, int position) {
    Text[] slots = this.slots;
    int next = home((long) WORDS.get(bytes, position), (long) WORDS.get(bytes, position + second));
    for (int probe = 0; probe < PROBES_MAX; probe++) {
      Text text = slots[next & slots.length - 1];
      if (text == null) {
        return null;
      }
      if (same(text, bytes, position)) {
        return text;
      }
      next++;
    }
    return null;
  }

  private static boolean same(Text text, byte[] bytes, int position) {
    long[] words = text.words;
    int last = words.length - 1;
    int behind = position + last * Long.BYTES; // texts often differ only at their ends
    if ((((long) WORDS.get(bytes, behind) ^ words[last]) & text.lastMask) != 0) {
      return false;
    }
    for (int index = last - 1; index >= 0; index--) {
      if ((long) WORDS.get(bytes, position + index * Long.BYTES) != words[index]) {
        return false;
      }
    }
    return true;
  }

  private int home(long first, long last) {
    long mixed = (first & mask) * 0x9E3779B97F4A7C15L ^ (last & mask) * 0xC2B2AE3D27D4EB4FL;
    return (int) (mixed ^ mixed >>> 32) >>> 1;
  }

  /**
   * Returns the new text of the bytes from `position` to before `end`, whose last is a delimiter unless the fields are the
   * last ones of a record; null when there are too many texts, or when it is too long.
   */
  Text add(byte[] bytes, int position, int end, boolean hasDelimiter) {
    int size = end - position;
    if (count == countMax || size > LENGTH_MAX || size == 0) {
      return null;
    }
    byte[] padded = Arrays.copyOf(Arrays.copyOfRange(bytes, position, end), size + Long.BYTES);
    long[] words = new long[(size + 7) / Long.BYTES];
    for (int index = 0; index < words.length; index++) {
      words[index] = (long) WORDS.get(padded, index * Long.BYTES);
    }
    int lines = 0;
    for (byte one : padded) {
      lines += one == '\n' ? 1 : 0;
    }
    long lastMask = -1L >>> 8 * (words.length * Long.BYTES - size);
    Text text = new Text(count, hasDelimiter ? size - 1 : size, lines, words, lastMask);
    if (count == known.length) {
      known = Arrays.copyOf(known, 2 * count);
    }
    known[count++] = text;
    if (size < least) {
      least = size;
      spread();
    } else {
      put(text);
    }
    return text;
  }

  /** Forgets the cells of all texts. */
  void forgetCells() {
    for (int number = 0; number < count; number++) {
      known[number].cells = new Cell[0];
    }
  }

  private void spread() {
    second = Math.max(0, least - Long.BYTES);
    mask = least >= Long.BYTES ? -1L : -1L >>> 8 * (Long.BYTES - least);
    Arrays.fill(slots, null);
    for (int number = 0; number < count; number++) {
      put(known[number]);
    }
  }

  private void put(Text text) {
    long first = text.words[0];
    long last = first;
    if (second > 0) {
      int shift = 8 * (second % Long.BYTES);
      int index = second / Long.BYTES;
      last = shift == 0 ? text.words[index] : text.words[index] >>> shift | text.words[index + 1] << 64 - shift;
    }
    int next = home(first, last);
    while (slots[next & slots.length - 1] != null) {
      next++;
    }
    slots[next & slots.length - 1] = text;
  }
}
