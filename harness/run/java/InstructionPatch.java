import java.io.IOException;
import java.util.Arrays;

/**
 * Replaces single instructions in methods of a class file.
 *
 * An instruction keeps its length, so that nothing else of the code changes.
 */
abstract class InstructionPatch extends ClassPatch {
    private static final int TABLE = 0xaa;
    private static final int LOOKUP = 0xab;
    private static final int WIDE = 0xc4;
    private static final int INCREMENT = 0x84;
    /** Where the instructions are in a Code attribute, after two sizes and their own length. */
    private static final int START = 8;
    /** By ranges of instructions (JVMS 6.5) their length: up to this one, so many bytes. */
    private static final int[][] LENGTHS = {
        {0x0f, 1}, {0x10, 2}, {0x11, 3}, {0x12, 2}, {0x14, 3}, {0x19, 2}, {0x35, 1}, {0x3a, 2}, {0x83, 1}, {0x84, 3},
        {0x98, 1}, {0xa8, 3}, {0xa9, 2}, {0xb1, 1}, {0xb8, 3}, {0xba, 5}, {0xbb, 3}, {0xbc, 2}, {0xbd, 3}, {0xbf, 1},
        {0xc1, 3}, {0xc3, 1}, {0xc4, 4}, {0xc5, 4}, {0xc7, 3}, {0xc9, 5},
    };

    InstructionPatch(String callee, String called, String descriptor) {
        super(callee, called, descriptor);
    }

    /** Returns whether the instructions of a method may be replaced. */
    abstract boolean isIn(String method);

    /** Replaces the instruction of `code` that begins at `at`, or leaves it as it is. */
    abstract void replace(byte[] code, int at);

    @Override
    final byte[] code(String name, String methodDescriptor, boolean isStatic, byte[] attribute) throws IOException {
        if (!isIn(name)) {
            return null;
        }
        byte[] code = attribute.clone();
        int end = START + intAt(code, 4);
        for (int at = START; at < end; at += length(code, at)) {
            replace(code, at);
        }
        return Arrays.equals(code, attribute) ? null : code;
    }

    private static int length(byte[] code, int at) throws IOException {
        int opcode = code[at] & 0xff;
        int operands = (at - START | 3) + 1 + START; // those of a table begin at a multiple of four
        if (opcode == TABLE) {
            return operands + 12 + 4 * (intAt(code, operands + 8) - intAt(code, operands + 4) + 1) - at;
        }
        if (opcode == LOOKUP) {
            return operands + 8 + 8 * intAt(code, operands + 4) - at;
        }
        if (opcode == WIDE && (code[at + 1] & 0xff) == INCREMENT) {
            return 6;
        }
        for (int[] range : LENGTHS) {
            if (opcode <= range[0]) {
                return range[1];
            }
        }
        throw new IOException("instruction of the unknown kind " + opcode);
    }

    static int shortAt(byte[] code, int at) {
        return (code[at] & 0xff) << 8 | code[at + 1] & 0xff;
    }

    private static int intAt(byte[] code, int at) {
        return shortAt(code, at) << 16 | shortAt(code, at + 2);
    }
}
