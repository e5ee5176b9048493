"""Publishes transfers to NATS at a rate: ``publish.py URL SUBJECT FILE RATE PER_MESSAGE``.

The file has a line of JSON for each transfer, without its last brace: the moment at which it is sent is
added. What is printed at the end is by how much the slowest message left later than planned, in seconds.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import nats

_STEP = 0.001


async def publish(url: str, subject: str, lines: list[bytes], rate: float, per_message: int) -> float:
    connection = await nats.connect(url, pending_size=64 * 2**20)
    begin, latest, at = time.time(), 0.0, 0
    while at < len(lines):
        now = time.time()
        due = min(len(lines), int((now - begin) * rate))
        while at < due:
            end = min(at + per_message, len(lines))
            sent = b',"sent":%.6f}' % time.time()
            await connection.publish(subject, b"\n".join(line + sent for line in lines[at:end]))
            latest = max(latest, time.time() - begin - at / rate)
            at = end
        await connection.flush() if at % 1000 < per_message else await asyncio.sleep(0)
        await asyncio.sleep(_STEP)
    await connection.flush()
    await connection.close()
    return latest


if __name__ == "__main__":
    address, topic, file, speed, size = sys.argv[1:]
    made = [line for line in Path(file).read_bytes().split(b"\n") if line]
    print(asyncio.run(publish(address, topic, made, float(speed), int(size))))
