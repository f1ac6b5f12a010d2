import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Counts rows that look like earlier ones of the part: numbers of usual length, and texts that {@link Part} has read before,
 * recognised by their bytes. It needs no look for the ends of fields. Every other row it leaves to {@link Part}, and learns
 * its texts afterwards.
 */
final class Quick {
  private static final int LABELS_MAX = 1024;
  private static final int OUTCOME_BITS = 5;
  private static final int OUTCOMES_MAX = 1 << OUTCOME_BITS;
  private static final int THREADS_MAX = 64;
  private static final int INSTANT_DIGITS = 13;
  /** How far behind its last byte a window of the file must be readable. */
  static final int READABLE_BYTES = Texts.LENGTH_MAX + 4 * Long.BYTES;

  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** The number of lines of the row that was counted last. */
  int lines;

  private final Layout layout;
  private final Steps steps;
  private final Texts labels = new Texts(LABELS_MAX);
  private final Texts outcomes = new Texts(OUTCOMES_MAX);
  private final Texts threads = new Texts(THREADS_MAX);
  /** The thread of all rows in a file without such a column. */
  private final Text anyThread = new Text(0, 0, 0, new long[0], 0);

  private final long[] numbers = new long[Layout.ROLES];
  private final Step[] row;
  private long highMs;
  private int batch;

  Quick(Layout layout, Tally unnamed) {
    this.layout = layout;
    steps = layout.steps;
    row = new Step[steps.kinds.length];
    Arrays.setAll(row, number -> new Step(steps.kinds[number], steps.roles[number]));
    anyThread.tally = unnamed;
    numbers[Layout.USERS] = -1;
    numbers[Layout.SAMPLES] = 1;
  }

  /**
   * Counts the row that begins at `position`, whose offset in the file is `offset`; returns the index after it, -1 when the
   * row is left to the other reader. `filled` is the index after the last byte.
   */
  int row(byte[] bytes, int position, int filled, long offset) {
    final Step[] row = this.row;
    final long[] numbers = this.numbers;
    final byte delimiter = layout.delimiter;
    final int last = row.length - 1;
    Text label = null;
    Text outcome = null;
    Text thread = anyThread;
    long startMs = 0;
    int at = position;
    for (int number = 0; ; number++) {
      Step step = row[number];
      switch (step.kind) {
        case Steps.NUMBER -> {
          long word = (long) WORDS.get(bytes, at) ^ Part.ZEROS;
          int digits = Part.digits(Part.otherThanDigits(word));
          if (digits <= 0 || digits > 1 && (byte) word == 0) {
            return -1;
          }
          numbers[step.role] = Part.value(word << -8 * digits);
          at += digits;
        }
        case Steps.STEADY -> {
          long raw = (long) WORDS.get(bytes, at);
          if (((raw ^ step.lastWord) & step.lastMask) == 0) {
            at += step.lastLength;
          } else {
            long word = raw ^ Part.ZEROS;
            int digits = Part.digits(Part.otherThanDigits(word));
            if (digits <= 0 || digits > 1 && (byte) word == 0) {
              return -1;
            }
            numbers[step.role] = Part.value(word << -8 * digits);
            step.remember(raw, digits);
            at += digits;
          }
        }
        case Steps.LABEL -> {
          label = labels.find(bytes, at);
          if (label == null) {
            return -1;
          }
          at += label.length;
        }
        case Steps.OUTCOME -> {
          outcome = outcomes.findAgain(bytes, at);
          if (outcome == null) {
            return -1;
          }
          at += outcome.length;
        }
        case Steps.THREAD -> {
          thread = threads.findAgain(bytes, at);
          if (thread == null) {
            return -1;
          }
          at += thread.length;
          int digits = Part.digits(Part.otherThanDigits((long) WORDS.get(bytes, at) ^ Part.ZEROS));
          if (digits <= 0) {
            return -1;
          }
          at += digits;
        }
        case Steps.INSTANT -> {
          long high = ((long) WORDS.get(bytes, at) ^ Part.ZEROS) << 8 * (2 * Long.BYTES - INSTANT_DIGITS);
          long low = (long) WORDS.get(bytes, at + INSTANT_DIGITS - Long.BYTES) ^ Part.ZEROS;
          if (high != step.lastWord) { // changes once a day
            if (Part.otherThanDigits(high) != 0 || bytes[at] == '0') {
              return -1;
            }
            step.lastWord = high;
            highMs = Part.value(high) * Part.EIGHT_DIGITS;
          }
          if (Part.otherThanDigits(low) != 0) {
            return -1;
          }
          startMs = highMs + Part.value(low);
          if (startMs < layout.firstMs || startMs > layout.lastMs) {
            return -1;
          }
          at += INSTANT_DIGITS;
        }
        case Steps.OTHER -> {
          long raw = (long) WORDS.get(bytes, at);
          if (((raw ^ step.lastWord) & step.lastMask) == 0) {
            at += step.lastLength;
          } else {
            if (bytes[at] == '"') {
              return -1;
            }
            int end = Part.end(bytes, at, layout.delimiters);
            if (end - at < Long.BYTES) {
              step.remember(raw, end - at);
            }
            at = end;
          }
        }
        default -> throw new AssertionError(step.kind);
      }
      if (number == last) {
        break;
      }
      if (bytes[at] != delimiter) {
        return -1;
      }
      at++;
    }
    if (bytes[at] == '\r') {
      at++;
    }
    if (bytes[at] != '\n' || at >= filled || numbers[Layout.SAMPLES] != 1) {
      return -1;
    }
    return count(label, outcome, thread, startMs, offset) ? at + 1 : -1;
  }

  /** Learns the texts of a row that {@link Part} has just counted; `cause` is that of a failed row. */
  void learn(Part part, Tally tally, int group, int label, int code, int kind, int cause) {
    boolean isOfFailure = part.hasFailure() && !part.isOwnFailure();
    int last = steps.kinds.length - 1;
    for (int step = 0; step <= last; step++) {
      if (steps.kinds[step] == Steps.LABEL) {
        Text text = learned(labels, part, step, step < last);
        if (text != null) {
          text.label = label;
          text.code = code;
          text.kind = kind;
          text.isOwnFailure = part.isOwnFailure();
          text.messageCause = isOfFailure ? text.messageCause : Math.max(text.messageCause, cause);
        }
      } else if (steps.kinds[step] == Steps.OUTCOME) {
        Text text = learned(outcomes, part, step, step < last);
        if (text != null) {
          text.isFailed = cause != Cell.NO_CAUSE;
          text.hasFailure = part.hasFailure();
          text.failureCause = isOfFailure ? cause : text.failureCause;
        }
      } else if (steps.kinds[step] == Steps.THREAD) {
        learnThread(part, tally, group);
      }
    }
  }

  private static Text learned(Texts texts, Part part, int step, boolean hasDelimiter) {
    Steps steps = part.layout.steps;
    int from = part.rawStart(steps.firsts[step]);
    return learned(texts, part.data, from, part.rawEnd(steps.lasts[step]) + (hasDelimiter ? 1 : 0), hasDelimiter);
  }

  private static Text learned(Texts texts, byte[] bytes, int from, int end, boolean hasDelimiter) {
    Text text = texts.find(bytes, from);
    if (text == null) {
      return texts.add(bytes, from, end, hasDelimiter);
    }
    return text.length == end - from - (hasDelimiter ? 1 : 0) ? text : null;
  }

  /** Learns a thread's name up to its number: only that differs between the threads of a group. */
  private void learnThread(Part part, Tally tally, int group) {
    int start = part.rawStart(layout.thread);
    int end = part.rawEnd(layout.thread);
    int dash = end - 1;
    while (dash >= start && Part.isDigit(part.data[dash])) {
      dash--;
    }
    if (dash < start || dash == end - 1 || part.data[dash] != '-') {
      return;
    }
    Text text = learned(threads, part.data, start, dash + 1, false);
    if (text != null) {
      text.tally = tally;
      text.group = group;
    }
  }

  private boolean count(Text label, Text outcome, Text thread, long startMs, long offset) {
    final long[] numbers = this.numbers;
    long elapsedMs = numbers[Layout.ELAPSED];
    long endMs = startMs + elapsedMs;
    lines = 1 + label.lines + outcome.lines;
    if (endMs < layout.fromMs || endMs >= layout.toMs) {
      return true;
    }
    if (layout.batchCount > 1 && layout.batch(endMs) != batch) {
      begin(layout.batch(endMs));
    }
    int index = label.number << OUTCOME_BITS | outcome.number;
    Cell cell = thread.cellOrNull(index);
    if (cell == null) {
      cell = newCell(label, outcome, thread, index, offset);
      if (cell == null) {
        return false;
      }
    }
    cell.receivedBytes += numbers[Layout.RECEIVED];
    cell.sentBytes += numbers[Layout.SENT];
    thread.tally.count(cell, startMs, endMs, elapsedMs, numbers[Layout.USERS]);
    thread.tally.countParts(cell, numbers[Layout.LATENCY], numbers[Layout.CONNECT], 1);
    return true;
  }

  /** Counts the next rows in cells of this batch. */
  void begin(int number) {
    batch = number;
    anyThread.cells = new Cell[0];
    threads.forgetCells();
  }

  private Cell newCell(Text label, Text outcome, Text thread, int index, long offset) {
    int cause = Cell.NO_CAUSE;
    if (outcome.isFailed) {
      cause = outcome.hasFailure && !label.isOwnFailure ? outcome.failureCause : label.messageCause;
      if (cause == Cell.NO_CAUSE) {
        return null;
      }
    }
    Cell cell = thread.tally.cell(label.label, label.code, thread.group << 1 | label.kind, batch, cause, offset);
    thread.setCell(index, cell);
    return cell;
  }
}
