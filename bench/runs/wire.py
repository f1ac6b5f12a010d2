"""Measures response times on the loopback interface, without the client and without the server: by its packets.

A response time is from the arrival of a request's last packet at the server's socket until the arrival of the last
packet of its response at the client's socket, by the kernel's clock. It includes the time in which the request waits
for the server to read it, and excludes connecting, and all time in which the client does not read what is there.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from collections.abc import Sequence
from typing import NamedTuple, Self

from harness.base.units import MS_PER_S

_IP, _SNAP_BYTES, _BUFFER_BYTES = 0x0800, 80, 256 << 20
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS, _SOL_PACKET, _PACKET_STATISTICS = 26, 33, 35, 263, 6
_TIMEOUT_S = 0.2
_NS_PER_S = 1_000_000_000


class Exchange(NamedTuple):
    """A request and its response: when the request arrived, ns since 1970, and the response time in ms."""

    at_ns: int
    elapsed_ms: float


class Packet(NamedTuple):
    """A packet with data: when it arrived, ns since 1970, the client's port, and whether it is of a request."""

    at_ns: int
    client_port: int
    is_request: bool


class Wire:
    """Records the packets of a server's port on the loopback interface during a block; Linux, as root."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._packets: list[Packet] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._record)
        # Bound to one protocol, a socket sees each packet once: when it arrives.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._lost_count = 0

    def __enter__(self) -> Self:
        taps = self._socket
        instructions = _filter(self._port)
        code = ctypes.create_string_buffer(instructions)
        program = struct.pack("HP", len(instructions) // 8, ctypes.addressof(code))
        taps.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
        taps.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        taps.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        taps.settimeout(_TIMEOUT_S)
        taps.bind(("lo", _IP))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        _, self._lost_count = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        self._socket.close()

    def exchanges(self) -> list[Exchange]:
        """Return the exchanges of the block; an empty list when a packet was lost."""
        return [] if self._lost_count else exchanges_of(self._packets)

    def _record(self) -> None:
        while True:
            try:
                data, extra, _, _ = self._socket.recvmsg(_SNAP_BYTES, 64)
            except TimeoutError:
                if self._is_over.is_set():
                    return
                continue
            seconds, nanoseconds = struct.unpack("qq", extra[0][2][:16])
            packet = packet_of(data, seconds * _NS_PER_S + nanoseconds, self._port)
            if packet:
                self._packets.append(packet)


def packet_of(data: bytes, at_ns: int, port: int) -> Packet | None:
    """Return an IPv4 packet of TCP; None for one without data, such as an acknowledgement."""
    (total_bytes,) = struct.unpack_from("!H", data, 2)
    from_port, to_port = struct.unpack_from("!HH", data, 20)
    if total_bytes <= 20 + (data[32] >> 4) * 4:
        return None
    is_request = to_port == port
    return Packet(at_ns, from_port if is_request else to_port, is_request)


def exchanges_of(packets: Sequence[Packet]) -> list[Exchange]:
    """Return the exchanges, sorted by request, of connections on which a request follows the last response."""
    asked_ns: dict[int, int] = {}
    answered_ns: dict[int, int] = {}
    found = []
    for packet in packets:
        client = packet.client_port
        if not packet.is_request:
            answered_ns[client] = packet.at_ns
            continue
        if client in answered_ns:
            found.append(_exchange(asked_ns.pop(client, None), answered_ns.pop(client)))
        asked_ns[client] = packet.at_ns
    found += [_exchange(asked_ns.get(client), at_ns) for client, at_ns in answered_ns.items()]
    return sorted(one for one in found if one)


def _exchange(asked_ns: int | None, answered_ns: int) -> Exchange | None:
    return None if asked_ns is None else Exchange(asked_ns, (answered_ns - asked_ns) * MS_PER_S / _NS_PER_S)


def _filter(port: int) -> bytes:
    """Return the filter (classic BPF) for packets from or to a port, behind an IP header without options."""
    load_half, equals, give = 0x28, 0x15, 0x06
    steps = (
        (load_half, 0, 0, 20), (equals, 2, 0, port), (load_half, 0, 0, 22), (equals, 0, 1, port),
        (give, 0, 0, _SNAP_BYTES), (give, 0, 0, 0),
    )  # fmt: skip
    return b"".join(struct.pack("HBBI", *step) for step in steps)
