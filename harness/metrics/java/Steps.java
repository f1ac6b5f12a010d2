import java.util.Arrays;

/** The columns of a record as steps of the quick reader: neighbouring columns of texts that repeat are one step. */
final class Steps {
  // The quick compiler tries these one after the other: the most frequent ones first.
  static final int NUMBER = 0;
  static final int OTHER = 1;
  /** A number that seldom changes. */
  static final int STEADY = 2;
  static final int LABEL = 3;
  static final int OUTCOME = 4;
  static final int THREAD = 5;
  static final int INSTANT = 6;

  /** What each step is, the role of its number, and its first and last column. */
  final int[] kinds;

  final int[] roles;
  final int[] firsts;
  final int[] lasts;

  private Steps(int[] kinds, int[] roles, int[] firsts, int[] lasts) {
    this.kinds = kinds;
    this.roles = roles;
    this.firsts = firsts;
    this.lasts = lasts;
  }

  /** Returns the steps; null when label, code and message, or success and failure message, are not neighbours. */
  static Steps orNull(int width, int[] indexes) {
    int[] roleOf = new int[width];
    Arrays.fill(roleOf, -1);
    for (int role = 0; role < indexes.length; role++) {
      if (indexes[role] >= 0 && role != Layout.GROUP_USERS) {
        roleOf[indexes[role]] = role;
      }
    }
    int[] kinds = new int[width];
    int[] roles = new int[width];
    int[] firsts = new int[width];
    int[] lasts = new int[width];
    int count = 0;
    int seen = 0;
    for (int column = 0; column < width; column++) {
      int kind = kind(roleOf[column]);
      boolean isText = kind == LABEL || kind == OUTCOME;
      if (isText && count > 0 && kinds[count - 1] == kind) {
        lasts[count - 1] = column;
        continue;
      }
      if (isText && (seen & 1 << kind) != 0) {
        return null;
      }
      seen |= 1 << kind;
      kinds[count] = kind;
      roles[count] = Math.max(0, roleOf[column]);
      firsts[count] = lasts[count] = column;
      count++;
    }
    return new Steps(
        Arrays.copyOf(kinds, count), Arrays.copyOf(roles, count), Arrays.copyOf(firsts, count), Arrays.copyOf(lasts, count));
  }

  private static int kind(int role) {
    return switch (role) {
      case -1 -> OTHER;
      case Layout.START -> INSTANT;
      case Layout.LABEL, Layout.CODE, Layout.MESSAGE -> LABEL;
      case Layout.SUCCESS, Layout.FAILURE -> OUTCOME;
      case Layout.THREAD -> THREAD;
      case Layout.USERS, Layout.CONNECT, Layout.SAMPLES, Layout.ERRORS -> STEADY;
      default -> NUMBER;
    };
  }
}
