"""Packets of TUN devices in; the same packets at their destinations, as over a slow network, out.

Arguments are pairs of an address and the number of an open device. An address on standard input is cut off
until the next line, which may be empty.
"""

import heapq
import os
import select
import socket
import sys
from contextlib import suppress
from itertools import count
from time import monotonic

SECONDS, BYTES_PER_SECOND = 1e-3, 100e6 / 8


def forward(devices):
    """Pass packets on until standard input ends."""
    free = dict.fromkeys(devices, 0.0)  # when the line to each device can take the next packet
    waiting, cut_off, numbers = [], None, count()
    while True:
        pause = max(waiting[0][0] - monotonic(), 0) if waiting else None
        for file in select.select([*devices.values(), 0], [], [], pause)[0]:
            packet = os.read(file, 65536)
            if not file and not packet:
                return
            if not file:
                line = packet.decode().strip()
                cut_off = socket.inet_aton(line) if line else None
                continue
            source, target = packet[12:16], packet[16:20]
            if target in devices and cut_off not in (source, target):
                free[target] = max(free[target], monotonic()) + len(packet) / BYTES_PER_SECOND
                heapq.heappush(waiting, (free[target] + SECONDS, next(numbers), target, packet))
        while waiting and waiting[0][0] <= monotonic():
            _, _, target, packet = heapq.heappop(waiting)
            with suppress(OSError):  # the device is gone
                os.write(devices[target], packet)


if __name__ == "__main__":
    pairs = zip(sys.argv[1::2], sys.argv[2::2])
    forward({socket.inet_aton(address): int(file) for address, file in pairs})
