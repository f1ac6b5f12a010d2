"""Fixes the addresses of samplers of other protocols than HTTP: they become the run's TARGET, or properties."""

from __future__ import annotations

from collections import Counter

from harness.plan.adopt.draft import Fix
from harness.plan.adopt.variables import Variables
from harness.plan.jmx.addresses import PORTS, ServerAddress, address_of
from harness.plan.jmx.trace import HTTP_SAMPLER
from harness.plan.jmx.tree import Node


def fix_addresses(mapping: Variables, defaults: dict[str, str]) -> str:
    """Let the elements read host and port; return the address of the most common, as for --target, or an empty text.

    In a plan without HTTP the most common address is that of the run's TARGET. Any other one gets properties of its
    own, such as server_1, whose defaults are what the JMX has. `defaults` gets the target's, unless the JMX has them.
    """
    found = [(node, address) for node in mapping.nodes if (address := address_of(node, mapping.known))]
    known = [(node, one, (mapping.known(one.host) or "", mapping.known(one.port) or "")) for node, one in found]
    known = [entry for entry in known if all(entry[2])]
    if not known:
        return ""
    has_http = any(HTTP_SAMPLER.fullmatch(node.kind) for node in mapping.nodes)
    main = Counter(place for _, _, place in known).most_common(1)[0][0]
    if has_http or "host" in defaults:
        main = ("", "") if has_http else (defaults["host"], defaults.get("port", ""))
    if main[0]:
        defaults.setdefault("host", main[0])
        defaults.setdefault("port", main[1])
    numbers: dict[tuple[str, str], int] = {}
    for node, address, place in known:
        names = ("host", "port")
        if place != main:
            number = numbers.setdefault(place, len(numbers) + 1)
            names = (f"server_{number}", f"server_{number}_port")
        texts = (f"${{__P({names[0]},{place[0]})}}", f"${{__P({names[1]},{place[1]})}}")
        _read(mapping, node, address, names, texts)
    return next((_target(one, place) for _, one, place in known if place == main), "")


def _read(
    mapping: Variables, node: Node, address: ServerAddress, names: tuple[str, str], texts: tuple[str, str]
) -> None:
    """Let an element read its host and port from properties, unless it does already."""
    read = mapping.values.properties_in(f"{address.host} {address.port}")
    if set(names) <= read:
        return
    if address.url_field:
        mapping.map(node, address.url_field, address.url(*texts), reads=names[0], fix=Fix.TARGET)
        return
    for field, text, name in zip((address.host_field, address.port_field), texts, names, strict=True):
        mapping.map(node, field, text, reads=name, fix=Fix.TARGET)


def _target(address: ServerAddress, place: tuple[str, str]) -> str:
    scheme = address.scheme if address.scheme in PORTS else "tcp"
    return f"{scheme}://{place[0]}:{place[1]}"
