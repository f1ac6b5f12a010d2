"""Lists the sockets of this machine that are connected to other addresses, by sock_diag(7) of Linux; it needs no root.

The kernel itself leaves out the addresses of this machine and the allowed ones, so that a list is short and cheap also
beside thousands of connections of the load.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from harness.run.network.addresses import Allowed
from harness.run.network.programs import TCP, UDP, packed

_SOCK_DIAG, _BY_FAMILY = 4, 20
_REQUEST, _DUMP = 1, 0x300
_DONE, _ERROR = 3, 2
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
# Family, protocol, extensions, padding, states; the socket's id is empty.
_QUERY = struct.Struct("=BBBBI48x")
# Family, state, timer, retransmissions; then ports and addresses of both sides; skipped; the inode.
_ANSWER = struct.Struct("=BBBB2s2s16s16s4x8x4x4x4x4xI")
_FILTER = 1
_JUMP, _TO = 1, 8
_OPERATION = struct.Struct("=BBH")
_CONDITION = struct.Struct("=BBHi")
_CLOSED, _LISTENS, _TIME_WAIT = 7, 10, 6
# Those that were connected, or try to; not the rests of connections, which have no owner.
_STATES = ~(1 << _CLOSED | 1 << _LISTENS | 1 << _TIME_WAIT) & 0xFFF
_BUFFER_BYTES = 1 << 16
_MAPPED = b"\0" * 10 + b"\xff\xff"
# The kernel reads so many operations of a filter as a jump of 16 bits can skip.
_FILTER_MOST = 1000
_HERE = (
    (_MAPPED + b"\x7f\0\0\0", 8, -1),
    (_MAPPED + b"\0\0\0\0", 32, -1),
    (packed("::1"), 128, -1),
    (packed("::"), 128, -1),
)


class Socket(NamedTuple):
    """A socket that is connected to another address, or tries to; `is_accepted` when the other side connected."""

    protocol: int
    address: bytes
    port: int
    inode: int
    is_accepted: bool


class Sockets:
    """Lists the sockets of this machine, and knows the ports that it listened at; OSError where that cannot be."""

    def __init__(self) -> None:
        self._listening: set[bytes] = set()
        self.elsewhere(())

    def elsewhere(self, allowed: Iterable[Allowed]) -> list[Socket]:
        """Return the connected sockets of this machine, but not those to its own addresses or `allowed` ones."""
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as channel:
            return list(self._elsewhere(channel, _filter(allowed)))

    def _elsewhere(self, channel: socket.socket, code: bytes) -> Iterator[Socket]:
        for family in (socket.AF_INET, socket.AF_INET6):
            self._listening |= {own for own, *_ in _dump(channel, family, TCP, 1 << _LISTENS, b"")}
            for protocol in (TCP, UDP):
                for own, other, address, inode in _dump(channel, family, protocol, _STATES, code):
                    accepted = protocol == TCP and own in self._listening
                    whole = address if family == socket.AF_INET6 else _MAPPED + address[:4]
                    yield Socket(protocol, whole, int.from_bytes(other), inode, accepted)


def _dump(
    channel: socket.socket, family: int, protocol: int, states: int, code: bytes
) -> Iterator[tuple[bytes, bytes, bytes, int]]:
    """Yield own port, other port, other address and inode of sockets."""
    attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(code), _FILTER) + code if code else b""
    query = _QUERY.pack(family, protocol, 0, 0, states) + attribute
    channel.send(_HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST | _DUMP, 0, 0) + query)
    while True:
        data = channel.recv(_BUFFER_BYTES)
        at = 0
        while at + _HEADER.size <= len(data):
            length, kind, *_ = _HEADER.unpack_from(data, at)
            if kind == _DONE:
                return
            if kind == _ERROR:
                number = -struct.unpack_from("=i", data, at + _HEADER.size)[0]
                raise OSError(number, "the kernel lists no sockets")
            *_, own, other, _, address, inode = _ANSWER.unpack_from(data, at + _HEADER.size)
            yield own, other, address, inode
            at += length + 3 & ~3


def _filter(allowed: Iterable[Allowed]) -> bytes:
    """Return the program that leaves out this machine's addresses and the allowed ones, as many as it may have."""
    excluded = [*_HERE, *((one.address, 128, one.port or -1) for one in sorted(allowed)[:_FILTER_MOST])]
    conditions = [_condition(*one) for one in excluded]
    left = sum(len(one) + _OPERATION.size for one in conditions)
    code = b""
    for condition in conditions:
        left -= len(condition) + _OPERATION.size
        # To the end and four bytes on: leave it out.
        code += condition + _OPERATION.pack(_JUMP, _OPERATION.size, left + 2 * _OPERATION.size)
    return code


def _condition(address: bytes, prefix: int, port: int) -> bytes:
    """Return what goes on to the next operation if the other side has the address, else to that after it."""
    family, text = socket.AF_INET6, address
    if address.startswith(_MAPPED):
        family, text, prefix = socket.AF_INET, address[12:], min(prefix, 32)
    length = _OPERATION.size + _CONDITION.size + len(text)
    return _OPERATION.pack(_TO, length, length + _OPERATION.size) + _CONDITION.pack(family, prefix, 0, port) + text
