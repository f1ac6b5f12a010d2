"""Maps, programs and attachments of BPF, by the system call bpf(2); all end when their descriptor is closed."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator

_CALLS = {"x86_64": 321, "aarch64": 280}
_MAP_CREATE, _LOOKUP, _UPDATE, _DELETE, _NEXT_KEY, _LOAD, _LINK = 0, 1, 2, 3, 4, 5, 28
_HASH = 1
_LICENSE = ctypes.create_string_buffer(b"GPL")  # the helper that returns the name of the process asks for it
SOCKET_ADDRESS, SKB = 18, 8
CONNECT4, CONNECT6, EGRESS = 10, 11, 1


class Map:
    """A hash map in the kernel; OSError where it cannot be."""

    def __init__(self, key_bytes: int, value_bytes: int, entries_most: int) -> None:
        self._value_bytes = value_bytes
        self._key_bytes = key_bytes
        self.descriptor = _bpf(_MAP_CREATE, struct.pack("=IIII", _HASH, key_bytes, value_bytes, entries_most))

    def put(self, key: bytes, value: bytes) -> None:
        """Add or replace an entry; OSError when the map is full."""
        with_key, with_value = (
            ctypes.create_string_buffer(key, len(key)),
            ctypes.create_string_buffer(value, len(value)),
        )
        self._element(_UPDATE, with_key, with_value)

    def take(self) -> Iterator[tuple[bytes, bytes]]:
        """Remove and yield all entries."""
        following = ctypes.create_string_buffer(self._key_bytes)
        value = ctypes.create_string_buffer(self._value_bytes)
        while True:
            try:
                self._element(_NEXT_KEY, None, following)
                self._element(_LOOKUP, following, value)
                entry = (following.raw, value.raw)
                self._element(_DELETE, following, None)
            except FileNotFoundError:
                return
            yield entry

    def _element(self, command: int, key: ctypes.Array[ctypes.c_char] | None, other: object) -> None:
        addresses = [0 if one is None else ctypes.addressof(one) for one in (key, other)]  # type: ignore[arg-type]
        _bpf(command, struct.pack("=IIQQQ", self.descriptor, 0, *addresses, 0))

    def close(self) -> None:
        """Give the map back."""
        os.close(self.descriptor)


def loaded(kind: int, attached_to: int, code: bytes) -> int:
    """Return the descriptor of a program that the kernel has verified; OSError when it refuses it."""
    instructions = ctypes.create_string_buffer(code, len(code))
    start = struct.pack(
        "=IIQQIIQII", kind, len(code) // 8, ctypes.addressof(instructions), ctypes.addressof(_LICENSE), 0, 0, 0, 0, 0
    )
    return _bpf(_LOAD, start + b"\0" * 16 + struct.pack("=II", 0, attached_to))


def attached(program: int, cgroup: int, attached_to: int) -> int:
    """Attach a program to a cgroup and return the descriptor of the attachment, which ends with it."""
    return _bpf(_LINK, struct.pack("=IIII", program, cgroup, attached_to, 0))


def _bpf(command: int, attributes: bytes) -> int:
    number = _CALLS.get(platform.machine())
    if number is None:
        raise OSError(f"bpf is not known on {platform.machine()}")
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result: int = ctypes.CDLL(None, use_errno=True).syscall(number, command, buffer, len(attributes))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
