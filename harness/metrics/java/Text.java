import java.util.Arrays;

/** The bytes of neighbouring fields as rows have them, delimiters and quotes included, and what they say. */
final class Text {
  /** Its number in Texts. */
  final int number;

  /** The number of bytes up to the delimiter after the last field, and of newlines in them. */
  final int length;

  final int lines;

  // The bytes with that delimiter, eight at a time; the last word is compared under a mask.
  final long[] words;
  final long lastMask;

  // Of a label, code and message.
  int label;
  int code;
  int kind;
  /** The message as a cause; -1 until a row needs it. */
  int messageCause = Cell.NO_CAUSE;
  /** Whether the sampler failed itself: then the message is the cause, not an assertion's. */
  boolean isOwnFailure;

  // Of success and failure message: the failure message as a cause, -1 until a row needs it.
  boolean isFailed;
  boolean hasFailure;
  int failureCause = Cell.NO_CAUSE;

  // Of a thread's name up to its number.
  Tally tally;
  int group;
  /** By the numbers of the other texts. */
  Cell[] cells = {};

  Text(int number, int length, int lines, long[] words, long lastMask) {
    this.number = number;
    this.length = length;
    this.lines = lines;
    this.words = words;
    this.lastMask = lastMask;
  }

  Cell cellOrNull(int index) {
    return index < cells.length ? cells[index] : null;
  }

  void setCell(int index, Cell cell) {
    if (index >= cells.length) {
      cells = Arrays.copyOf(cells, Math.max(64, 2 * index));
    }
    cells[index] = cell;
  }
}
