/** Replaces a call in some methods of a class file by one of a static method, which gets the object first, then the arguments. */
final class CallPatch extends InstructionPatch {
    private static final int VIRTUAL = 0xb6;
    private static final int STATIC = 0xb8;
    private static final int OF_INTERFACE = 0xb9;

    private final String method;
    private final String replaced;

    /** Replaces calls of `replaced`, which is class, name and descriptor, in `method` by those of callee.called. */
    CallPatch(String method, String replaced, String callee, String called, String descriptor) {
        super(callee, called, descriptor);
        this.method = method;
        this.replaced = replaced;
    }

    @Override
    boolean isIn(String name) {
        return name.equals(method);
    }

    @Override
    void replace(byte[] code, int at) {
        int opcode = code[at] & 0xff;
        boolean isCall = opcode >= VIRTUAL && opcode < STATIC || opcode == OF_INTERFACE;
        if (isCall && member(shortAt(code, at + 1)).equals(replaced)) {
            code[at] = (byte) STATIC;
            code[at + 1] = (byte) (calleeIndex >> 8);
            code[at + 2] = (byte) calleeIndex;
            if (opcode == OF_INTERFACE) {
                code[at + 3] = 0; // nop, as is the next one
                code[at + 4] = 0;
            }
        }
    }
}
