import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * Inserts a call of a static method at the start of some methods of a class file.
 *
 * The called method takes one parameter of the patched method, and optionally the int after it, or the object whose method
 * it is.
 */
final class MethodPatch extends ClassPatch {
    /** As `parameter`: the object whose method it is. */
    static final String THIS = "this";

    /** The length of the call in bytes: a multiple of four, so that the padding of switch tables stays valid. */
    private final int length;

    private final String method;
    private final String parameter;
    private final boolean withInt;
    private final boolean isInstead;

    /** Patches each `method` that has code and a parameter with the descriptor `parameter`: it calls callee.called. */
    MethodPatch(String method, String parameter, boolean withInt, String callee, String called) {
        this(method, parameter, withInt, callee, called, parameter, false);
    }

    /** The same for a called method whose parameter has the descriptor `passedAs`, a supertype. */
    MethodPatch(String method, String parameter, boolean withInt, String callee, String called, String passedAs) {
        this(method, parameter, withInt, callee, called, passedAs, false);
    }

    /** Patches a void method: it calls callee.called with its object, and returns at once when that returns true. */
    static MethodPatch instead(String method, String callee, String called) {
        return new MethodPatch(method, THIS, false, callee, called, "Ljava/lang/Object;", true);
    }

    private MethodPatch(
            String method, String parameter, boolean withInt, String callee, String called, String passedAs, boolean isInstead) {
        super(callee, called, "(" + passedAs + (withInt ? "I" : "") + (isInstead ? ")Z" : ")V"));
        this.isInstead = isInstead;
        this.length = isInstead ? 12 : 8;
        this.method = method;
        this.parameter = parameter;
        this.withInt = withInt;
    }

    @Override
    byte[] code(String name, String descriptor, boolean isStatic, byte[] attribute) throws IOException {
        int slot = name.equals(method) ? slot(descriptor, isStatic) : -1;
        return slot < 0 ? null : code(attribute, slot);
    }

    /** Returns the local variable of the parameter; -1 when the method has no such parameter. */
    private int slot(String descriptor, boolean isStatic) {
        if (parameter.equals(THIS)) {
            return isStatic ? -1 : 0;
        }
        int slot = isStatic ? 0 : 1;
        int at = 1;
        while (descriptor.charAt(at) != ')') {
            if (descriptor.startsWith(parameter, at)) {
                return withInt && descriptor.charAt(at + parameter.length()) != 'I' ? -1 : slot;
            }
            char kind = descriptor.charAt(at);
            while (descriptor.charAt(at) == '[') {
                at++;
            }
            at = descriptor.charAt(at) == 'L' ? descriptor.indexOf(';', at) + 1 : at + 1;
            slot += kind == 'J' || kind == 'D' ? 2 : 1;
        }
        return -1;
    }

    /** Returns a Code attribute that starts with the call; tables for debuggers are dropped. */
    private byte[] code(byte[] attribute, int slot) throws IOException {
        DataInputStream from = new DataInputStream(new ByteArrayInputStream(attribute));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(attribute.length + length);
        DataOutputStream to = new DataOutputStream(bytes);
        to.writeShort(Math.max(from.readUnsignedShort(), 2)); // the stack
        to.writeShort(from.readUnsignedShort()); // the local variables
        int size = from.readInt();
        to.writeInt(size + length);
        to.writeByte(0x19); // aload
        to.writeByte(slot);
        if (withInt) {
            to.writeByte(0x15); // iload
            to.writeByte(slot + 1);
        }
        for (int left = length - (withInt ? 7 : 5) - (isInstead ? 4 : 0); left > 0; left--) {
            to.writeByte(0); // nop
        }
        to.writeByte(0xb8); // invokestatic
        to.writeShort(calleeIndex);
        if (isInstead) {
            to.writeByte(0x99); // ifeq: to the method's own code
            to.writeShort(4);
            to.writeByte(0xb1); // return
        }
        to.write(from.readNBytes(size));
        int handlers = from.readUnsignedShort();
        to.writeShort(handlers);
        for (int left = handlers; left > 0; left--) {
            for (int position = 0; position < 3; position++) {
                to.writeShort(from.readUnsignedShort() + length);
            }
            to.writeShort(from.readUnsignedShort());
        }
        byte[] frames = null;
        int framesName = 0;
        for (int left = from.readUnsignedShort(); left > 0; left--) {
            int name = from.readUnsignedShort();
            byte[] content = from.readNBytes(from.readInt());
            if (texts[name].equals("StackMapTable")) {
                framesName = name;
                frames = frames(content);
            }
        }
        if (isInstead && frames == null) {
            throw new IOException(method + " has no branches: the table of a new one is not written");
        }
        to.writeShort(frames == null ? 0 : 1);
        if (frames != null) {
            to.writeShort(framesName);
            to.writeInt(frames.length);
            to.write(frames);
        }
        return bytes.toByteArray();
    }

    /**
     * Returns a StackMapTable whose first frame moves by the length of the call; the others are relative to the previous
     * frame. A call with a branch adds a frame at its end, with the variables at the start of the method.
     */
    private byte[] frames(byte[] table) throws IOException {
        DataInputStream from = new DataInputStream(new ByteArrayInputStream(table));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(table.length + 3);
        DataOutputStream to = new DataOutputStream(bytes);
        int count = from.readUnsignedShort();
        to.writeShort(count + (isInstead ? 1 : 0));
        if (isInstead) {
            to.writeByte(length); // same_frame
        }
        for (int frame = 0; frame < count; frame++) {
            int shift = frame > 0 ? 0 : isInstead ? -1 : length;
            int kind = from.readUnsignedByte();
            boolean isShort = kind < 128;
            int delta = shift + (isShort ? kind & 63 : from.readUnsignedShort());
            if (delta < 0) {
                throw new IOException(method + " begins with the target of a branch");
            }
            boolean hasItem = kind >= 64 && kind < 128 || kind == 247;
            if (isShort && delta < 64) {
                to.writeByte(hasItem ? 64 + delta : delta);
            } else {
                to.writeByte(!isShort ? kind : hasItem ? 247 : 251);
                to.writeShort(delta);
            }
            if (hasItem) {
                types(from, to, 1);
            } else if (kind == 255) {
                types(from, to, copyShort(from, to));
                types(from, to, copyShort(from, to));
            } else if (kind > 251) {
                types(from, to, kind - 251);
            }
        }
        return bytes.toByteArray();
    }

    private void types(DataInputStream from, DataOutputStream to, int count) throws IOException {
        for (int left = count; left > 0; left--) {
            int tag = from.readUnsignedByte();
            to.writeByte(tag);
            if (tag == 7) { // an object, by its class
                to.writeShort(from.readUnsignedShort());
            } else if (tag == 8) { // an object that is not initialised yet, by the offset of its `new`
                to.writeShort(from.readUnsignedShort() + length);
            }
        }
    }
}
