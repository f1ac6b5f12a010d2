"""The live objects of a system's JVMs as text: how many bytes at each moment of a soak, and the classes that grew."""

from __future__ import annotations

from harness.base import units
from harness.metrics.window import Window
from harness.report.tables import cell, table
from harness.system.histograms import CLASSES_MOST, MIDDLE, LiveHeap


def live_heap_text(heap: LiveHeap, window: Window) -> str:
    """Return the title, the table and the notes of one JVM."""
    names = [moment.moment for moment in heap.moments]
    sizes = ", ".join(f"{units.mb_text(moment.live_bytes, 1)} MB at the {moment.moment}" for moment in heap.moments)
    parts = [f"### Live objects of {cell(heap.process)}", f"{sizes}."]
    if heap.classes:
        heads = ["class", *(f"{name} MB" for name in names), "growth MB", *(f"{name} objects" for name in names)]
        rows = [
            [
                cell(one.class_name),
                *(units.mb_text(size_bytes, 2) for size_bytes in one.size_bytes),
                units.mb_text(one.size_bytes[-1] - one.size_bytes[-2], 2),
                *map(str, one.instances),
            ]
            for one in heap.classes
        ]
        since = f"from the {names[-2]} to the {names[-1]}"
        parts += [table(heads, rows), f"The {CLASSES_MOST} classes that grew most {since} at most; shallow sizes."]
    parts.append(_pauses_text(heap, window))
    return "\n\n".join(parts)


def _pauses_text(heap: LiveHeap, window: Window) -> str:
    """Return that histograms stop the JVM, and whether one did within the window."""
    within = [moment for moment in heap.moments if window.from_s <= moment.at_s < window.to_s]
    pauses = ", ".join(f"at {units.clock_text(moment.at_s)} for up to {moment.took_ms} ms" for moment in within)
    stops = f"within the window {pauses}" if within else "outside of the window"
    where = (
        "before, in the middle of and after"
        if any(one.moment == MIDDLE for one in heap.moments)
        else "before and after"
    )
    taken = f"Histograms were taken {where} the load."
    return f"{taken} Each forced a full garbage collection, which stopped the JVM: {stops}."
