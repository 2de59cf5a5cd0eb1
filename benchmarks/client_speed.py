#!/usr/bin/env python3
"""What the job's HTTP client costs: completions a second against a stand-in server of known latency.

    python benchmarks/client_speed.py [--connections 512 2000] [--median 0.2] [--sigma 0] [--rounds 12]

Ideal = connections / mean latency. The ramp and the tail are dropped: completions are counted in a window that begins
when every connection has answered twice and ends when the last request has been sent. The server is a process of its own on
loopback and shares the machine. Beside the ratio: the CPU time of the client's process (cores), most requests in flight
as the server saw them, and the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import resource
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import uvloop

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cluster.client import ChatClient, EndPoint  # noqa: E402
from cluster.config import Client, Sampling  # noqa: E402

MESSAGES = [{"role": "user", "content": "Write the result as a JSON document. " * 120}]  # about 4,400 characters


async def measure(port: int, connections: int, mean_s: float, rounds: int) -> dict[str, Any]:
    client = ChatClient(
        [EndPoint(f"http://127.0.0.1:{port}/v1")],
        "stand-in",
        Sampling(temperature=0.0, max_tokens=512),
        Client(connections=connections, deadline_s=600),
    )
    total = connections * rounds
    done: list[float] = []
    failed = 0
    last_sent = 0.0

    async def one() -> None:
        nonlocal failed, last_sent

        async def sending() -> bool:
            nonlocal last_sent
            last_sent = time.monotonic()
            return True

        completion = await client.complete(MESSAGES, still_wanted=sending)
        failed += completion is None or completion.status != "ok"
        done.append(time.monotonic())

    cpu, begun = time.process_time(), time.monotonic()
    await asyncio.gather(*(one() for _ in range(total)))
    cpu, wall = time.process_time() - cpu, time.monotonic() - begun
    await client.close()
    done.sort()
    first = done[2 * connections]
    window = [t for t in done if first < t <= last_sent]
    rate = len(window) / (last_sent - first)
    seen = json.loads(urllib.request.urlopen(f"http://127.0.0.1:{port}/").read())
    return {
        "connections": connections,
        "requests": total,
        "failed": failed,
        "completions_per_s": rate,
        "ideal_per_s": connections / mean_s,
        "ratio": rate * mean_s / connections,
        "client_cores": cpu / wall,
        "client_cpu_ms_per_request": 1000 * cpu / total,
        "most_in_flight": seen["most_in_flight"],
        "load": os.getloadavg()[0],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=[512, 2000])
    parser.add_argument("--median", type=float, default=0.2, help="seconds")
    parser.add_argument("--sigma", type=float, default=0.0, help="of the log-normal latency; 0 = constant")
    parser.add_argument("--rounds", type=int, default=12, help="requests a connection")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    mean_s = options.median * math.exp(options.sigma**2 / 2)
    figures = []
    for connections in options.connections:
        command = [sys.executable, "-m", "cluster.latency_server", "--median", str(options.median)]
        with subprocess.Popen([*command, "--sigma", str(options.sigma)], cwd=ROOT, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                port = int(server.stdout.readline().split()[1])
                figures.append(uvloop.run(measure(port, connections, mean_s, options.rounds)))
            finally:
                server.terminate()
        print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in figures[-1].items()}), flush=True)
    if options.out:
        options.out.write_text(
            json.dumps({"median_s": options.median, "sigma": options.sigma, "runs": figures}, indent=1)
        )
    return 1 if any(f["failed"] for f in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
