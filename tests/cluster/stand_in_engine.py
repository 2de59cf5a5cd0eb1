"""An interpreter that plays an engine's environment, for runs that need an engine and no model."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cluster.driving import ROOT

# Plays the interpreter of an engine's environment: says that vLLM is there, and serves in its place. Its behaviour is
# ordered by files in its folder: `die` = die (once) at the fourth request of a process that finds it, `die-at-start`,
# `hang-at-start` = start a child and never answer.
ENGINE = """#!{python}
import os, sys, signal
from pathlib import Path
sys.path.insert(0, {root!r})
if sys.argv[1] == "-c":
    print("vllm 0.0.0")
    sys.exit(0)
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
from tests.cluster.stand_in import completion
here = Path(__file__).parent
served = 0
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def send(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self):
        self.send({{"version": "0.0.0"}} if self.path == "/version" else {{"data": [{{"id": "m"}}]}})
    def do_POST(self):
        global served
        assert self.headers["authorization"] == "Bearer " + os.environ["VLLM_API_KEY"]
        self.rfile.read(int(self.headers["content-length"]))
        served += 1
        if served == 4 and (here / "die").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        with (here / "served").open("a") as file:
            file.write("x")
        self.send(completion())
    def log_message(self, *a):
        pass
(here / "starts").open("a").write("s")
if (here / "die-at-start").exists():
    sys.exit("no GPU for you")
if (here / "hang-at-start").exists():
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    (here / "pids.tmp").write_text(f"{{os.getpid()}} {{child.pid}}")
    (here / "pids.tmp").rename(here / "pids")
    signal.pause()
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


def make_engine(folder: Path) -> list[str]:
    """Put one into `folder`, which orders its behaviour; the arguments of a run that uses it."""
    folder.mkdir()
    interpreter = folder / "python"
    interpreter.write_text(ENGINE.format(python=sys.executable, root=str(ROOT)))
    interpreter.chmod(0o755)
    (folder / "config.json").write_text("{}")
    return ["model=demo", f"engine.python={interpreter}", f"engine.model={folder}", "engine.startup_deadline_s=60"]
