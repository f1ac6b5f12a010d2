"""The BPF programs that refuse connections and datagrams of a cgroup to addresses that are not in a map.

The instructions are those of https://docs.kernel.org/bpf/standardization/instruction-set.html, for little-endian
machines. All three programs build a record on their stack: the address (IPv4 as ::ffff:a.b.c.d), the port, the
protocol, the process and its name. They look up its first fields in the map of allowed addresses, and count the whole
in the map of refused ones.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable
from typing import NamedTuple

# The key of an allowed address, and that of a refused one, which begins with it. Ports are in network byte order.
ALLOWED_KEY = struct.Struct("=16sI")
REFUSED_KEY = struct.Struct("=16sIII16s")
COUNT = struct.Struct("=Q")
# As the port of an allowed address: any port; and what has none, such as a ping.
ANY_PORT, NO_PORT = 0, 0xFFFFFFFF
TCP, UDP = 6, 17

_R0, _R1, _R2, _R3, _R4, _R6, _R7, _R8, _FP = 0, 1, 2, 3, 4, 6, 7, 8, 10
# Offsets from the frame pointer: the record, the count of one, and what is read of a packet.
_RECORD, _ONE, _PACKET = -48, -56, -104
_PORT, _PROTOCOL, _PID, _NAME, _NAME_BYTES = _RECORD + 16, _RECORD + 20, _RECORD + 24, _RECORD + 28, 16
_LOOKUP, _UPDATE, _PID_TGID, _COMM, _LOAD_BYTES = 1, 2, 14, 16, 26
# Fields of struct bpf_sock_addr and __sk_buff.
_IP4, _IP6, _USER_PORT, _TYPE, _SKB_PROTOCOL = 4, 8, 24, 32, 16
_STREAM = 1
_IPV4_PROTOCOL = 0x0008  # in network byte order
_IPV4_BYTES, _IPV6_BYTES, _PORTS_BYTES = 20, 40, 4
_MAPPED, _LOOPBACK_6, _LOOPBACK_4 = 0xFFFF0000, 0x01000000, 127
# The jumps; a value of 64 bits would have the sign of its 32.
_IS, _IS_NOT, _IS_NOT_32, _ALWAYS = 0x15, 0x55, 0x56, 0x05
_PASS = "pass"


class _Jump(NamedTuple):
    """A conditional jump to a label; without a register it is unconditional."""

    code: int
    register: int
    value: int
    label: str


def _instruction(code: int, target: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("<BBhI", code, source << 4 | target, offset, value & 0xFFFFFFFF)


def _load(target: int, source: int, offset: int) -> bytes:
    return _instruction(0x61, target, source, offset)


def _store(offset: int, source: int) -> bytes:
    return _instruction(0x63, _FP, source, offset)


def _store_value(offset: int, value: int) -> bytes:
    return _instruction(0x62, _FP, 0, offset, value)


def _set(target: int, value: int) -> bytes:
    return _instruction(0xB7, target, value=value)


def _copy(target: int, source: int) -> bytes:
    return _instruction(0xBF, target, source)


def _add(target: int, value: int) -> bytes:
    return _instruction(0x07, target, value=value)


def _and(target: int, value: int) -> bytes:
    return _instruction(0x57, target, value=value)


def _address_of(target: int, offset: int) -> bytes:
    return _copy(target, _FP) + _add(target, offset)


def _map(target: int, descriptor: int) -> bytes:
    return _instruction(0x18, target, 1, 0, descriptor) + _instruction(0)


def _call(helper: int) -> bytes:
    return _instruction(0x85, value=helper)


def _if(register: int, value: int, label: str) -> _Jump:
    return _Jump(_IS, register, value, label)


def _unless(register: int, value: int, label: str) -> _Jump:
    return _Jump(_IS_NOT, register, value, label)


_Part = bytes | _Jump | str


def _assembled(parts: Iterable[_Part]) -> bytes:
    """Return the program; a text is a label for the jumps before it."""
    code: list[bytes | _Jump] = []
    labels: dict[str, int] = {}
    for part in parts:
        if isinstance(part, str):
            labels[part] = len(code)
        elif isinstance(part, _Jump):
            code.append(part)
        else:
            code += [part[at : at + 8] for at in range(0, len(part), 8)]
    done = (
        _instruction(instruction.code, instruction.register, 0, labels[instruction.label] - at - 1, instruction.value)
        if isinstance(instruction, _Jump)
        else instruction
        for at, instruction in enumerate(code)
    )
    return b"".join(done)


def _decision(allowed: int, refused: int, *, with_process: bool) -> list[_Part]:
    """Return the end of a program: pass (1) when the record's address is allowed, else count it and refuse (0)."""
    lookup: list[_Part] = [_map(_R1, allowed), _address_of(_R2, _RECORD), _call(_LOOKUP), _unless(_R0, 0, _PASS)]
    process: list[_Part] = [_store_value(_PID, 0), *(_store_value(_NAME + at, 0) for at in range(0, _NAME_BYTES, 4))]
    if with_process:
        process = [
            _call(_PID_TGID), _instruction(0x77, _R0, value=32), _store(_PID, _R0),
            *(_store_value(_NAME + at, 0) for at in range(0, _NAME_BYTES, 4)),
            _address_of(_R1, _NAME), _set(_R2, _NAME_BYTES), _call(_COMM),
        ]  # fmt: skip
    return [
        _load(_R8, _FP, _PORT),
        *lookup,
        _store_value(_PORT, ANY_PORT),
        *lookup,
        _store(_PORT, _R8),
        *process,
        _map(_R1, refused), _address_of(_R2, _RECORD), _call(_LOOKUP), _if(_R0, 0, "new"),
        _set(_R1, 1), _instruction(0xDB, _R0, _R1), _Jump(_ALWAYS, 0, 0, "refuse"),
        "new",
        _set(_R1, 1), _instruction(0x7B, _FP, _R1, _ONE),
        _map(_R1, refused), _address_of(_R2, _RECORD), _address_of(_R3, _ONE), _set(_R4, 0), _call(_UPDATE),
        "refuse",
        _set(_R0, 0), _instruction(0x95),
        _PASS,
        _set(_R0, 1), _instruction(0x95),
    ]  # fmt: skip


def _ip4(register: int) -> list[_Part]:
    """Store the IPv4 address in a register as the record's, unless it is one of this machine: 127.x.x.x or 0.0.0.0."""
    return [
        _if(register, 0, _PASS), _copy(_R2, register), _and(_R2, 0xFF), _if(_R2, _LOOPBACK_4, _PASS),
        _store_value(_RECORD, 0), _store_value(_RECORD + 4, 0), _store_value(_RECORD + 8, _MAPPED),
        _store(_RECORD + 12, register),
    ]  # fmt: skip


def _ip6() -> list[_Part]:
    """Compare the record's address with those of this machine: ::1, ::, and IPv4 ones in IPv6 form."""
    return [
        _load(_R2, _FP, _RECORD), _unless(_R2, 0, "decide"),
        _load(_R2, _FP, _RECORD + 4), _unless(_R2, 0, "decide"),
        _load(_R2, _FP, _RECORD + 8), _load(_R3, _FP, _RECORD + 12),
        _if(_R2, 0, "plain"),
        _Jump(_IS_NOT_32, _R2, _MAPPED, "decide"),
        _if(_R3, 0, _PASS), _and(_R3, 0xFF), _if(_R3, _LOOPBACK_4, _PASS), _Jump(_ALWAYS, 0, 0, "decide"),
        "plain",
        _if(_R3, 0, _PASS), _if(_R3, _LOOPBACK_6, _PASS),
        "decide",
    ]  # fmt: skip


def connect4(allowed: int, refused: int, *, with_process: bool) -> bytes:
    """Return the program for connections by IPv4; datagrams are seen when they leave."""
    return _assembled([
        _copy(_R6, _R1), _load(_R2, _R6, _TYPE), _unless(_R2, _STREAM, _PASS),
        _load(_R7, _R6, _IP4), *_ip4(_R7),
        _load(_R8, _R6, _USER_PORT), _store(_PORT, _R8), _store_value(_PROTOCOL, TCP),
        *_decision(allowed, refused, with_process=with_process),
    ])  # fmt: skip


def connect6(allowed: int, refused: int, *, with_process: bool) -> bytes:
    """Return the program for connections by IPv6."""
    words = [part for at in range(0, 16, 4) for part in (_load(_R2, _R6, _IP6 + at), _store(_RECORD + at, _R2))]
    return _assembled([
        _copy(_R6, _R1), _load(_R2, _R6, _TYPE), _unless(_R2, _STREAM, _PASS),
        *words,
        _load(_R8, _R6, _USER_PORT), _store(_PORT, _R8), _store_value(_PROTOCOL, TCP),
        *_ip6(),
        *_decision(allowed, refused, with_process=with_process),
    ])  # fmt: skip


def egress(allowed: int, refused: int, *, with_process: bool) -> bytes:
    """Return the program for packets that leave; it looks only at those that are not TCP."""
    return _assembled([
        _copy(_R6, _R1), _store_value(_PORT, NO_PORT),
        _load(_R2, _R6, _SKB_PROTOCOL), _unless(_R2, _IPV4_PROTOCOL, "version 6"),
        *_read_packet(0, _IPV4_BYTES),
        _instruction(0x71, _R7, _FP, _PACKET + 9), _store(_PROTOCOL, _R7), _if(_R7, TCP, _PASS),
        _load(_R7, _FP, _PACKET + 16), *_ip4(_R7),
        _instruction(0x71, _R2, _FP, _PACKET), _and(_R2, 15), _instruction(0x67, _R2, value=2),
        _Jump(_ALWAYS, 0, 0, "port"),
        "version 6",
        *_read_packet(0, _IPV6_BYTES),
        _instruction(0x71, _R7, _FP, _PACKET + 6), _store(_PROTOCOL, _R7), _if(_R7, TCP, _PASS),
        *(part for at in range(0, 16, 4) for part in (_load(_R2, _FP, _PACKET + 24 + at), _store(_RECORD + at, _R2))),
        *_ip6(),
        _set(_R2, _IPV6_BYTES),
        "port",
        _load(_R7, _FP, _PROTOCOL), _unless(_R7, UDP, "known"),
        *_read_packet(None, _PORTS_BYTES),
        _instruction(0x69, _R7, _FP, _PACKET + 2), _store(_PORT, _R7),
        "known",
        *_decision(allowed, refused, with_process=with_process),
    ])  # fmt: skip


def _read_packet(offset: int | None, byte_count: int) -> list[_Part]:
    """Read bytes of the packet onto the stack, from an offset or from that in R2."""
    return [
        _copy(_R1, _R6), b"" if offset is None else _set(_R2, offset), _address_of(_R3, _PACKET), _set(_R4, byte_count),
        _call(_LOAD_BYTES), _unless(_R0, 0, _PASS),
    ]  # fmt: skip


def packed(address: str) -> bytes:
    """Return the 16 bytes of an IPv4 or IPv6 address, without its zone."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    return parsed.packed if parsed.version == 6 else b"\0" * 10 + b"\xff\xff" + parsed.packed


def unpacked(address: bytes) -> str:
    """Return the text of an address of 16 bytes."""
    parsed = ipaddress.IPv6Address(address)
    return str(parsed.ipv4_mapped or parsed)
