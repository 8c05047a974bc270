#!/usr/bin/env python3
"""Starts mock upstreams and the gateway with its built-in configuration, sends real requests of different meaning
through it, and shows where each went and why. On a terminal it then stays up until Ctrl-C; elsewhere it ends, with 1
when a request failed. Standard library only."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("SEMROUTE", ROOT / "build" / "semroute")).resolve()
BUILTIN = ROOT / "src" / "config" / "builtin.yaml"
MOCK_PORTS = range(9001, 9005)  # as the built-in configuration has them
GATEWAY_PORT, METRICS_PORT, API_PORT = 8801, 9190, 8080
START_SECONDS = 60

WEATHER_TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "Current weather at a place",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}

# kind, text, what else is in the body
REQUESTS = [
    ("plain", "Solve x^2 - 5x + 6 = 0 and show why both roots are right.", {}),
    ("plain", "A 2 kg block slides down a frictionless incline of 30 degrees. What is its acceleration?", {}),
    ("stream", "Derive the integral of x * e^x by parts, step by step.", {"stream": True}),
    ("plain", "Why does this crash?\n```c\nint *p = NULL;\n*p = 1;\n```", {}),
    ("stream", "Write a SQL query: SELECT name FROM users WHERE age > 30 ORDER BY name", {"stream": True}),
    ("plain", "Can my landlord terminate the lease without notice if the contract is silent about it?", {}),
    ("plain", "Which drugs are contraindicated for a patient with chronic kidney disease and hypertension?", {}),
    ("plain", "Who was emperor of Rome when the Visigoths crossed the Danube, and what happened next?", {}),
    ("tools", "What should I wear in Oslo this afternoon?", {"tools": [WEATHER_TOOL], "tool_choice": "auto"}),
    ("plain", "Calcula la derivada de f(x) = x^3 + 2x y explica cada paso.", {}),
    ("plain", "一个物体以10米每秒的初速度竖直上抛，求它能达到的最大高度。", {}),
    ("named", "What is 2 + 2?", {"model": "expert"}),
]
COLUMNS = [("kind", "<"), ("request", "<"), ("decision", "<"), ("category", "<"), ("confidence", ">"),
           ("model", "<"), ("reasoning", "<"), ("routing us", ">"), ("total ms", ">")]


class Failure(Exception):
    pass


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def port_or_free(port, name):
    """`port`, or one that is free when another process has it."""
    if is_free(port):
        return port
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        other = s.getsockname()[1]
    print(f"port {port} is taken: {name} uses {other}")
    return other


class Child:
    def __init__(self, directory, *args):
        self.name = args[0]
        self.log = directory / f"{self.name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([str(BINARY), *map(str, args)], cwd=directory, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT)

    def output(self):
        return self.log.read_text(errors="replace")

    def wait_for(self, condition):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failure(f"semroute {self.name} ended with {self.process.returncode}:\n{self.output()}")
            found = condition()
            if found:
                return found
            time.sleep(0.01)
        raise Failure(f"semroute {self.name} was not ready after {START_SECONDS} s:\n{self.output()}")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def answers(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def start_mock(directory, children):
    """Four workers; returns their ports."""
    first = MOCK_PORTS[0] if all(map(is_free, MOCK_PORTS)) else 0
    if not first:
        print(f"ports {MOCK_PORTS[0]}-{MOCK_PORTS[-1]}: one is taken, the mock upstreams use free ones")
    mock = Child(directory, "mock", "--port", first, "--workers", len(MOCK_PORTS))
    children.append(mock)

    def ports():
        found = re.findall(r"^worker \d+ on http://[\d.]+:(\d+)/v1$", mock.output(), re.M)
        return len(found) == len(MOCK_PORTS) and [int(port) for port in found]

    return mock.wait_for(ports)


def start_gateway(directory, children, mock_ports):
    gateway = port_or_free(GATEWAY_PORT, "the gateway")
    metrics = port_or_free(METRICS_PORT, "the metrics listener")
    api = port_or_free(API_PORT, "the API listener")
    args = ["serve", "--gateway", f"127.0.0.1:{gateway}", "--metrics", f"127.0.0.1:{metrics}", "--api",
            f"127.0.0.1:{api}", "--extproc", "off"]
    if mock_ports != list(MOCK_PORTS):  # the built-in configuration, with other ports behind it
        text = BUILTIN.read_text()
        for usual, port in zip(MOCK_PORTS, mock_ports):
            text = text.replace(f'"127.0.0.1:{usual}"', f'"127.0.0.1:{port}"')
        config = directory / "moved.yaml"
        config.write_text(text)
        args += ["-c", config]
    begin = time.monotonic()
    child = Child(directory, *args)
    children.append(child)
    child.wait_for(lambda: answers(gateway, "/ready"))
    print(f"gateway on http://127.0.0.1:{gateway}/v1, ready after {(time.monotonic() - begin) * 1000:.0f} ms\n"
          f"metrics on http://127.0.0.1:{metrics}/metrics, the live page on http://127.0.0.1:{api}/ui/\n")
    return gateway


def text_of(body, stream):
    """The answer's text, from a plain or a streamed body."""
    if not stream:
        return json.loads(body)["choices"][0]["message"]["content"]
    frames = [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
    if not frames or frames[-1] != "[DONE]":
        raise Failure("the stream did not end with [DONE]")
    choices = [choice for frame in frames[:-1] for choice in json.loads(frame)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def ask(connection, kind, text, more):
    """Sends one request; returns the cells of its row."""
    body = {"model": "auto", "messages": [{"role": "user", "content": text}], **more}
    begin = time.monotonic()
    connection.request("POST", "/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    answer = connection.getresponse()
    got = answer.read()
    total = (time.monotonic() - begin) * 1000
    if answer.status != 200:
        raise Failure(f"{answer.status} {got[:300].decode(errors='replace')}")
    said = answer.getheader
    model = said("x-vsr-selected-model", "")
    if f", from {model}." not in text_of(got, body.get("stream", False)):
        raise Failure(f"the answer is not from {model}: {got[:300].decode(errors='replace')}")
    sure = said("x-vsr-selected-confidence")
    reasons = {"on": "yes", "off": "no"}.get(said("x-vsr-selected-reasoning", ""), "-")
    return [kind, " ".join(text.split()), said("x-vsr-selected-decision") or "-",
            said("x-vsr-selected-category") or "-", f"{float(sure):.2f}" if sure else "-", model, reasons,
            said("x-vsr-overhead-us") or "-", f"{total:.1f}"]


def columns_of(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text, width):
    if columns_of(text) <= width:
        return text
    while columns_of(text) > width - 3:
        text = text[:-1]
    return text + "..."


def print_table(rows):
    head = [name for name, _ in COLUMNS]
    widths = [max(columns_of(row[i]) for row in [head, *rows]) for i in range(len(head))]
    room = shutil.get_terminal_size((120, 24)).columns - sum(widths) + widths[1] - 2 * (len(widths) - 1)
    widths[1] = max(16, min(widths[1], room, 60))
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for number, row in enumerate([head, *rows]):
        cells = []
        for (_, side), width, cell in zip(COLUMNS, widths, row):
            cell = cut(cell, width)
            space = " " * (width - columns_of(cell))
            cells.append(cell + space if side == "<" else space + cell)
        line = "  ".join(cells).rstrip()
        print(f"\033[1m{line}\033[0m" if bold and number == 0 else line)


def send_all(port):
    """True when every request was answered."""
    rows, failures = [], []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for kind, text, more in REQUESTS:
        try:
            rows.append(ask(connection, kind, text, more))
        except (Failure, OSError, http.client.HTTPException, ValueError, LookupError) as error:
            connection.close()
            failures.append(f"{text!r}: {error or type(error).__name__}")
    connection.close()
    print_table(rows)
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    print(f"""
{len(rows)} of {len(REQUESTS)} requests answered. The answers come from `semroute mock`, which plays the models.
`routing us` is the time that the gateway added. `-`: not asked for, as with a request that names its model; or not known
in time, as the first text in another script can be: it opens the encoder for other languages.""")
    return not failures


def stay(port, children):
    print(f"""
Try one of your own:
  curl -si http://127.0.0.1:{port}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{{"model":"auto","messages":[{{"role":"user","content":"Prove that sqrt(2) is irrational."}}]}}'
and see why:
  {os.path.relpath(BINARY)} explain "Prove that sqrt(2) is irrational."
Ctrl-C ends it.""", flush=True)
    while all(child.process.poll() is None for child in children):
        time.sleep(0.2)


def main():
    if not BINARY.exists():
        print(f"{BINARY} is not there: run `make` first", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    children = []
    done = False
    with tempfile.TemporaryDirectory(prefix="semroute-demo-") as name:
        directory = pathlib.Path(name)
        try:
            port = start_gateway(directory, children, start_mock(directory, children))
            done = send_all(port)
            if sys.stdout.isatty():
                stay(port, children)
        except Failure as failure:
            print(failure, file=sys.stderr)
            done = False
        except KeyboardInterrupt:
            print()
        except BrokenPipeError:  # the reader closed the pipe; nothing more can be said
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            done = False
        finally:
            for child in reversed(children):
                child.stop()
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
