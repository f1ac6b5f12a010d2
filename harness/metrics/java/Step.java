/** A step of the quick reader, and the bytes that it found last: in many columns they are the same in row after row. */
final class Step {
  /** What it is, and the role of its number: see {@link Steps}. */
  final int kind;

  final int role;
  /** The last bytes with the delimiter after them, their mask, and their number without it. */
  long lastWord;

  long lastMask = -1L; // no field consists of eight bytes of zero
  int lastLength;

  Step(int kind, int role) {
    this.kind = kind;
    this.role = role;
    lastWord = kind == Steps.INSTANT ? -1L : 0; // not one of digits
  }

  /** Remembers bytes, the first of a word, that end before its last one. */
  void remember(long word, int length) {
    lastMask = -1L >>> 8 * (Long.BYTES - 1 - length);
    lastWord = word & lastMask;
    lastLength = length;
  }
}
