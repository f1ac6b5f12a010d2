package com.acme.functions;

import java.util.Collection;
import java.util.List;
import org.apache.jmeter.engine.util.CompoundVariable;
import org.apache.jmeter.functions.AbstractFunction;
import org.apache.jmeter.samplers.SampleResult;
import org.apache.jmeter.samplers.Sampler;

/** Returns a number times two. */
public class Twice extends AbstractFunction {
    private CompoundVariable number;

    @Override public String execute(SampleResult previous, Sampler current) {
        return String.valueOf(2 * Integer.parseInt(number.execute()));
    }

    @Override public void setParameters(Collection<CompoundVariable> parameters) { number = parameters.iterator().next(); }

    @Override public String getReferenceKey() { return "__twice"; }

    @Override public List<String> getArgumentDesc() { return List.of("a number"); }
}
