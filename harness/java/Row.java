/** What is read of one row; names are numbers. */
final class Row {
  long startMs;
  long elapsedMs;
  long sampleCount;
  long errorCount;
  long receivedBytes;
  long sentBytes;
  long latencyMs;
  long connectMs;
  long users;
  int label;
  int code;
  int cause;
  int kind;
}
