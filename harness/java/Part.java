import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One part of a file: the records that begin from `start` to before `stop`, counted. It ends earlier at a record whose
 * bounds only the plain reader can tell (see jtl.py): a quote that does not close properly, NUL bytes, a byte order
 * mark, a header line.
 */
final class Part {
  /** A row that has other fields than it should: the plain reader says what to do with it. */
  record OddRow(long offset, long line, byte[] bytes) {}

  private static final int SLACK_BYTES = 64 * 1024;

  /** More than a part has, unless it ends in a line without an end, such as a hole in the file. */
  private static final int FIRST_BYTES_MAX = 16 * 1024 * 1024;

  /** The JVM reads no more than this without memory of its own, and two copies instead of one: half as fast. */
  private static final int READ_BYTES = 8 * 1024;
  private static final int RECORD_MAX_BYTES = 4 * 1024 * 1024;
  /** The plain reader takes a quote that spans more lines as torn. */
  private static final int RECORD_MAX_LINES = 10_001;
  private static final int ODD_ROWS_MAX = 20_000;
  private static final long ELAPSED_MAX_MS = 7L * 24 * 3600 * 1000;
  private static final byte[] HEADER = "timeStamp".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] TRANSACTION =
      "Number of samples in transaction :".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] NOTHING = {};
  private static final long LOW_BITS = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final long NEWLINES = '\n' * LOW_BITS;
  private static final long SET_UP_CAPITALS = 'U' * LOW_BITS;
  private static final long TEAR_DOWN_CAPITALS = 'D' * LOW_BITS;
  private static final long[] POWERS = {
    1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000
  };
  private static final long ZEROS = '0' * LOW_BITS;
  private static final long NINES = (0x7F - 9) * LOW_BITS;
  private static final long TRUE = 0x65757274L;
  private static final long FALSE = 0x65736C6166L;
  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  /** A reader's thread keeps its buffer from one part to the next. */
  private static final ThreadLocal<byte[]> BUFFER = ThreadLocal.withInitial(() -> new byte[0]);

  final Tally tally;
  final List<OddRow> oddRows = new ArrayList<>();
  final long start;

  /** Where the record after the last one begins, and how many lines stand before it in the part. */
  long end;

  long lineCount;

  /** Whether the plain reader has to go on from `end`. */
  boolean isStuck;

  private final RandomAccessFile file;
  private final long size;
  private final Layout layout;
  private byte[] data;
  private int filled;
  private int firstNul;

  // What the scan of a record found so far; numbers by their role.
  private final long[] row = new long[Layout.ROLES];
  private int label;
  private int code;
  private int kind;
  private int recordLines;
  private int fieldStart;
  private int fieldEnd;
  private boolean isEscaped;
  private boolean isBad;
  private boolean isFailed;
  private final int[] failure = new int[2];
  private final int[] message = new int[2];
  private byte[] failureText;
  private byte[] messageText;

  Part(RandomAccessFile file, long size, long start, Layout layout, Tally tally) {
    this.tally = tally;
    this.file = file;
    this.size = size;
    this.start = start;
    this.layout = layout;
  }

  /** Reads the part. */
  void read(long stop) throws IOException {
    fill((int) Math.min(Math.min(stop - start + SLACK_BYTES, FIRST_BYTES_MAX), size - start));
    long limit = stop - start;
    int place = 0;
    while (place < limit && !isStuck && !isFull()) {
      int next = record(place);
      if (next < 0) {
        if (start + filled < size && filled - place < RECORD_MAX_BYTES) {
          fill((int) Math.min(2L * filled, size - start));
        } else {
          isStuck = true;
        }
        continue;
      }
      place = next;
      lineCount += recordLines;
    }
    end = start + place;
    data = null;
  }

  /** Whether it had to end early, so that memory stays bounded. */
  boolean isFull() {
    return tally.isFull() || oddRows.size() >= ODD_ROWS_MAX;
  }

  private void fill(int wanted) throws IOException {
    int from = filled;
    data = BUFFER.get();
    if (data.length < wanted + Long.BYTES) {
      data = Arrays.copyOf(data, wanted + Long.BYTES);
      BUFFER.set(data);
    }
    filled = from;
    file.seek(start + filled);
    int count = 1;
    while (filled < wanted && count > 0) {
      count = file.read(data, filled, Math.min(READ_BYTES, wanted - filled));
      filled += Math.max(count, 0);
    }
    if (filled < wanted) {
      throw new EOFException(); // the file was cut off meanwhile
    }
    Arrays.fill(data, filled, filled + Long.BYTES, (byte) '\n'); // so that every search ends
    firstNul = firstNul();
  }

  private long word(int place) {
    return (long) WORDS.get(data, place);
  }

  /** Returns the high bits of the bytes that are zero; above the first of them others may be set, too. */
  private static long zeroBytes(long word) {
    return word - LOW_BITS & ~word & HIGH_BITS; // H. S. Warren, "Hacker's Delight", 6-1
  }

  private int firstNul() {
    for (int place = 0; place < filled; place += Long.BYTES) {
      long zeros = zeroBytes(word(place));
      if (zeros != 0) {
        return place + (Long.numberOfTrailingZeros(zeros) >>> 3);
      }
    }
    return filled;
  }

  /**
   * Counts the record that begins at `place`; returns where the next one begins. -1 when its end is not in the data,
   * or when it is not for this reader: then `isStuck` is set.
   */
  private int record(int place) {
    recordLines = 0;
    if (isMark(place)) {
      isStuck = true;
      return -1;
    }
    int next = blankLine(place);
    if (next >= 0) {
      return next;
    }
    begin();
    final int width = layout.width;
    final int[] roles = layout.roles;
    final byte delimiter = layout.delimiter;
    final long delimiters = layout.delimiters;
    final byte[] bytes = data;
    next = place;
    for (int field = 0; ; field++) {
      int start = next;
      int role = field < width ? roles[field] : Layout.SKIP;
      int end = Layout.isNumber(role) ? plainNumber(bytes, next, role) : -1;
      if (end >= 0 && (bytes[end] == delimiter || bytes[end] == '\n')) {
        next = end;
      } else if (bytes[next] == '"' && next < filled) {
        next = quoted(next + 1);
        if (next < 0) {
          return -1;
        }
        take(role);
      } else {
        isEscaped = false;
        long ends;
        while (true) {
          long word = (long) WORDS.get(bytes, next);
          ends = zeroBytes(word ^ delimiters) | zeroBytes(word ^ NEWLINES);
          if (ends != 0) {
            break;
          }
          next += Long.BYTES;
        }
        next += Long.numberOfTrailingZeros(ends) >>> 3;
        fieldStart = start;
        fieldEnd = next;
        if (next > start && bytes[next - 1] == '\r' && bytes[next] == '\n') {
          fieldEnd--;
        }
        take(role);
      }
      if (bytes[next] == '\n') {
        if (next >= filled && start + filled < size) {
          return -1;
        }
        if (field + 1 != width) {
          if (recordLines > 0) {
            isStuck = true; // a torn quote that was closed by chance: the lines in it may be good rows
            return -1;
          }
          isBad = true;
        }
        recordLines++;
        return finish(place, Math.min(next + 1, filled));
      }
      next++;
    }
  }

  /** Reads the digits at `place`, up to 7 of them or 9 to 13; returns where they end, -1 when there are others. */
  private int plainNumber(byte[] bytes, int place, int role) {
    long word = (long) WORDS.get(bytes, place) ^ ZEROS;
    int length = Long.numberOfTrailingZeros(otherThanDigits(word)) >>> 3;
    if (length == 0) {
      return -1;
    }
    if (length < Long.BYTES) {
      row[role] = value(word << 64 - 8 * length);
      return place + length;
    }
    long rest = (long) WORDS.get(bytes, place + Long.BYTES) ^ ZEROS;
    int restLength = Long.numberOfTrailingZeros(otherThanDigits(rest)) >>> 3;
    if (role != Layout.START || restLength == 0 || restLength > 5) {
      return -1;
    }
    row[role] = value(word) * POWERS[restLength] + value(rest << 64 - 8 * restLength);
    return place + Long.BYTES + restLength;
  }

  /** Returns the high bits of the bytes above 9; above the first of them others may be set, too. */
  private static long otherThanDigits(long word) {
    return (word + NINES | word) & HIGH_BITS;
  }

  /** Returns the number of eight digits, the first one in the lowest byte. */
  private static long value(long digits) {
    long pairs = digits * 10 + (digits >>> 8); // D. Lemire, "Quickly parsing eight digits", 2018
    return ((pairs & 0x000000FF000000FFL) * 0x000F424000000064L
            + (pairs >>> 16 & 0x000000FF000000FFL) * 0x0000271000000001L)
        >>> 32;
  }

  private boolean isMark(int place) {
    return (word(place) & 0xFFFFFFL) == 0xBFBBEFL;
  }

  private int blankLine(int place) {
    int next = data[place] == '\r' ? place + 1 : place;
    if (data[next] != '\n') {
      return -1;
    }
    if (next < filled) {
      recordLines = 1;
      return next + 1;
    }
    return start + filled == size ? filled : -1;
  }

  private void begin() {
    isBad = false;
    isFailed = false;
    failure[0] = failure[1] = message[0] = message[1] = 0;
    failureText = messageText = null;
    row[Layout.SAMPLES] = 1;
    row[Layout.RECEIVED] = row[Layout.SENT] = row[Layout.LATENCY] = row[Layout.CONNECT] = 0;
    row[Layout.USERS] = row[Layout.ERRORS] = -1;
    code = layout.hasCode ? 0 : tally.codes.number(NOTHING);
    kind = 0;
  }

  /** Reads a quoted field from behind its opening quote; returns the place behind the closing one's field. */
  private int quoted(int place) {
    byte[] bytes = data;
    int next = place;
    isEscaped = false;
    while (next < filled) {
      byte found = bytes[next++];
      if (found == '\n') {
        recordLines++;
        if (recordLines > RECORD_MAX_LINES || isMark(next)) {
          break;
        }
      } else if (found == '"') {
        if (next < filled && bytes[next] == '"') {
          isEscaped = true;
          next++;
          continue;
        }
        fieldStart = place;
        fieldEnd = next - 1;
        int behind = next;
        if (behind < filled && bytes[behind] == '\r' && (behind + 1 == filled || bytes[behind + 1] == '\n')) {
          behind++;
        }
        if (behind == filled || bytes[behind] == '\n' || behind == next && bytes[behind] == layout.delimiter) {
          return behind;
        }
        break;
      }
    }
    if (next < filled || start + filled == size) {
      isStuck = true;
    }
    return -1;
  }

  private void take(int role) {
    switch (role) {
      case Layout.LABEL -> label = isEscaped ? tally.labels.number(unescaped()) : name(tally.labels);
      case Layout.CODE -> code = isEscaped ? tally.codes.number(unescaped()) : name(tally.codes);
      case Layout.SUCCESS -> success();
      case Layout.THREAD -> thread();
      case Layout.MESSAGE -> {
        messageText = isEscaped ? unescaped() : null;
        message[0] = fieldStart;
        message[1] = fieldEnd;
        if (isTransaction()) {
          kind |= 1;
        }
      }
      case Layout.FAILURE -> {
        failureText = isEscaped ? unescaped() : null;
        failure[0] = fieldStart;
        failure[1] = fieldEnd;
      }
      case Layout.SKIP -> {}
      default -> number(role);
    }
  }

  private int name(Names names) {
    return names.number(data, fieldStart, fieldEnd);
  }

  private byte[] unescaped() {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    for (int place = fieldStart; place < fieldEnd; place++) {
      text.write(data[place]);
      if (data[place] == '"') {
        place++;
      }
    }
    return text.toByteArray();
  }

  private void success() {
    int length = fieldEnd - fieldStart;
    long word = word(fieldStart);
    if (length == 4 && (word & 0xFFFFFFFFL) == TRUE) {
      return;
    }
    isFailed = true;
    isBad |= length != 5 || (word & 0xFFFFFFFFFFL) != FALSE;
  }

  /** JMeter names a thread after its group; in a distributed run the generator's name stands before it. */
  private void thread() {
    boolean isTearDown = false;
    for (int place = fieldStart; place < fieldEnd; place += Long.BYTES) {
      long word = word(place);
      long found = zeroBytes(word ^ SET_UP_CAPITALS) | zeroBytes(word ^ TEAR_DOWN_CAPITALS);
      for (; found != 0; found &= found - 1) {
        int at = place + (Long.numberOfTrailingZeros(found) >>> 3);
        if (holds("setUp", at - 3)) {
          kind = kind & 1 | 2;
          return;
        }
        isTearDown |= holds("tearDown", at - 4);
      }
    }
    if (isTearDown) {
      kind = kind & 1 | 4;
    }
  }

  private boolean holds(String word, int place) {
    if (place < fieldStart || place + word.length() > fieldEnd) {
      return false;
    }
    for (int index = 0; index < word.length(); index++) {
      if (data[place + index] != word.charAt(index)) {
        return false;
      }
    }
    return true;
  }

  private boolean isTransaction() {
    int length = TRANSACTION.length;
    return data[fieldStart] == TRANSACTION[0]
        && fieldEnd - fieldStart >= length
        && Arrays.equals(data, fieldStart, fieldStart + length, TRANSACTION, 0, length);
  }

  /** Returns the number of 1 to 8 digits that begins at `place`; marks the record as bad when it is none. */
  private long digits(int place, int length) {
    long word = (word(place) ^ ZEROS) << 64 - 8 * length;
    isBad |= otherThanDigits(word) != 0;
    return value(word);
  }

  private void number(int role) {
    int length = fieldEnd - fieldStart;
    // Longer numbers could overflow a sum: the plain reader knows no bounds.
    if (length < 1 || length > (role == Layout.START ? 13 : 8)) {
      isBad = true;
      return;
    }
    row[role] =
        length <= 8
            ? digits(fieldStart, length)
            : digits(fieldStart, length - 8) * POWERS[8] + digits(fieldEnd - 8, 8);
  }

  /** Counts the record that was scanned from `place` to before `next`, or keeps it as odd; -1 when stuck. */
  private int finish(int place, int next) {
    if (firstNul < next) {
      isStuck = true;
      return -1;
    }
    long sampleCount = row[Layout.SAMPLES];
    if (isBad
        || row[Layout.ELAPSED] > ELAPSED_MAX_MS
        || sampleCount == 0
        || sampleCount > 1 && row[Layout.ERRORS] > sampleCount) {
      if (holdsHeader(place, next)) {
        isStuck = true;
        return -1;
      }
      oddRows.add(new OddRow(start + place, lineCount, Arrays.copyOfRange(data, place, next)));
      return next;
    }
    if (sampleCount == 1 || row[Layout.ERRORS] < 0) {
      row[Layout.ERRORS] = isFailed ? sampleCount : 0;
    }
    long endMs = row[Layout.START] + row[Layout.ELAPSED];
    if (endMs >= layout.fromMs && endMs < layout.toMs) {
      int cause = 0;
      if (row[Layout.ERRORS] > 0) {
        cause = failure[1] > failure[0] ? cause(failure, failureText) : cause(message, messageText);
      }
      tally.add(row, label, code, kind, cause, start + place, layout.missing);
    }
    return next;
  }

  private int cause(int[] span, byte[] text) {
    return text == null ? tally.causes.number(data, span[0], span[1]) : tally.causes.number(text);
  }

  private boolean holdsHeader(int place, int next) {
    for (int at = place; at + HEADER.length <= next; at++) {
      if (Arrays.equals(data, at, at + HEADER.length, HEADER, 0, HEADER.length)) {
        return true;
      }
    }
    return false;
  }
}
