import java.rmi.Remote;
import java.rmi.RemoteException;
import java.util.List;
import java.util.Map;

/**
 * What a generator offers beside JMeter's own engine, in the same registry and by the same keys.
 *
 * <p>A harness claims it before anything starts, and says every second that it is still there. A claim that nobody
 * renews lapses after {@link #LAPSE_MS}: the load that goes on then is stopped. So no generator drives a system for a
 * harness that was killed, and two harnesses never drive by one generator.
 */
public interface Generator extends Remote {
    /** The name in the registry. */
    String NAME = "HarnessGenerator";

    /** Changed with every change of this interface: two checkouts that differ in it must not talk to each other. */
    String PROTOCOL = "1";

    long LAPSE_MS = 15_000;

    /** Return what is to be the same on all machines, and what is told of this one; see {@link Facts}. */
    Map<String, String> facts() throws RemoteException;

    /** Take the generator for {@code who}; IllegalStateException when somebody else has it. */
    void claim(String claim, String who) throws RemoteException;

    /** Say that the harness that has the claim is still there; return the generator's clock in ms since 1970. */
    long renew(String claim) throws RemoteException;

    /**
     * Empty the folder in which the plan runs, put the files into it and set JMeter's properties; an empty value removes
     * one. IllegalStateException when the process lacks one of the environment variables.
     */
    void begin(String claim, Map<String, String> properties, List<String> variables, Map<String, byte[]> files)
            throws RemoteException;

    /** Stop what still runs; return whether there was something. */
    boolean stop(String claim) throws RemoteException;

    /** Return JMeter's log since {@link #begin} and the files that the plan saved, by name. */
    Map<String, byte[]> left(String claim) throws RemoteException;

    /** Stop what still runs, and give the generator free. */
    void release(String claim) throws RemoteException;
}
