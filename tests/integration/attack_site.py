"""What attack tests share: two routers (unread text blocks, or passes), each with a gateway and an Envoy in front of recording
upstreams in Python and Go; and cases that are sent through a door and compared with what the upstreams executed."""
import contextlib
import dataclasses
import json
import threading

import pytest

import envoy as real
from conftest import BINARY, Process, free_ports, wait_http
from recorders import Raw, Upstream
from surface import OTHER

MODELS = {"python": "general", "go": "coder"}


def configuration(ports, on_error, tiers):
    """Attacks are blocked and private data is redacted, at both upstreams; `tiers` are the options of inference. The linear tier
    alone is less sure of some attacks: what is tested is that all text is read, wherever it stands, not where 0.7 lies."""
    threshold = 0.5 if tiers is LINEAR else 0.7
    def guard(name, priority, kind, action):
        return {"name": name, "priority": priority, "rules": {"type": kind, "name": kind, "on_error": on_error},
                "plugins": [{"type": "guard", "configuration": {"action": action}}]}
    where = {"general": ports["python"], "coder": ports["go"], "reasoner": ports["python"], "expert": ports["python"]}
    return {"version": "v0.3",
            "providers": {"defaults": {"default_model": "general"},
                          "models": [{"name": m, "backend_refs": [{"name": m, "endpoint": f"127.0.0.1:{port}"}]}
                                     for m, port in where.items()]},
            "routing": {"signals": {"jailbreak": [{"name": "jailbreak", "threshold": threshold}], "pii": [{"name": "pii"}]},
                        "decisions": [guard("block-attacks", 1000, "jailbreak", "block"),
                                      guard("hide-private", 900, "pii", "redact")]},
            "global": {"semroute": {**tiers, "loops": 1, "endpoints": ["default", OTHER]}}}


LINEAR = {"inference": {"ask_below": 0}, "signal_deadline_ms": 20000}
SHIPPED = {"signal_deadline_ms": 20000}  # the linear tier and the neural classifier; slow machines have time for both


class Site:
    """Two routers (unread text blocks, unread text passes), Envoys in front of each, and both upstreams. Doors are "gateway",
    and the Envoys by their names in `modes`."""

    def __init__(self, directory, stack, modes, tiers):
        self.modes, self.tiers = modes, tiers
        self.upstreams = {}
        for language in MODELS:
            self.upstreams[language] = Upstream(language, directory)
            stack.callback(self.upstreams[language].stop)
        self.ports = {}
        for on_error in ("match", "no_match"):
            self.router(directory, stack, on_error)

    def router(self, directory, stack, on_error):
        gateway, extproc, metrics = free_ports(), free_ports(), free_ports()
        ports = {language: upstream.port for language, upstream in self.upstreams.items()}
        path = directory / f"{on_error}.yaml"
        path.write_text(json.dumps(configuration(ports, on_error, self.tiers)))
        process = Process([BINARY, "serve", "-c", path, "--gateway", f"127.0.0.1:{gateway}", "--extproc", f"127.0.0.1:{extproc}",
                           "--metrics", f"127.0.0.1:{metrics}", "--api", "off"], directory / f"{on_error}.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)

        def towards(text):
            for worker, model in enumerate(real.MODELS):
                text = text.replace(f"port_value: {61000 + worker}",
                                    f"port_value: {ports['go' if model == MODELS['go'] else 'python']}")
            return text

        self.ports["gateway", on_error] = gateway
        for door, mode in self.modes.items():
            envoy = real.Envoy(directory, mode, extproc, 61000, change=towards)
            stack.callback(envoy.stop)
            self.ports[door, on_error] = envoy.port


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield Site(tmp_path_factory.mktemp("attack"), stack, {"envoy": "FULL_DUPLEX"}, LINEAR)


@dataclasses.dataclass
class Case:
    """One request, and the text that no upstream may see unless the answer says that it was not read."""
    name: str
    path: str
    body: object
    needle: str
    door: str
    on_error: str
    language: str
    headers: tuple = ()
    status: int = 0
    coverage: str = ""

    def told(self, record):
        where = next((t for t in record["texts"] if self.needle in t), "")
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return (f"{self.name}\n    {self.door}, on_error {self.on_error}: {self.status}, coverage {self.coverage or 'absent'}; {self.language} "
                f"ran {record['endpoint']}, read {where!r}\n    POST {self.path} {body[:300].decode(errors='replace')}")


def run(site, cases, threads=3):
    """Sends all cases; returns those whose needle reached an upstream although the answer says that all was read."""
    def send(part):
        clients = {}
        for number in range(part, len(cases), threads):
            case = cases[number]
            port = site.ports[case.door, case.on_error]
            client = clients.setdefault(port, Raw(port))
            case.status, headers, _ = client.post(case.path, case.body, (("x-case", str(number)), *case.headers))
            case.coverage = headers.get("x-vsr-scan-coverage", "")
        for client in clients.values():
            client.close()

    for upstream in site.upstreams.values():
        upstream.seen()
    failed = []

    def guarded(part):
        try:
            send(part)
        except Exception as error:  # told below: a thread's exception would be lost
            failed.append(error)

    workers = [threading.Thread(target=guarded, args=(part,)) for part in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed, failed
    for (door, on_error), port in site.ports.items():
        client = Raw(port)
        assert client.post("/v1/chat/completions", {"model": "general", "messages": [{"role": "user", "content": "hello"}]})[0] == 200, (
            door, on_error)
        client.close()
    records = {}
    for upstream in site.upstreams.values():
        records.update(upstream.seen())
    holes = []
    for number, case in enumerate(cases):
        record = records.get(str(number))
        if not record or not any(case.needle in text for text in record["texts"]):
            continue
        unread = case.coverage and float(case.coverage) < 1
        if case.on_error == "match" or not unread:
            holes.append(case.told(record))
    return holes


def fill(body, model):
    return json.loads(json.dumps(body).replace('"MODEL"', json.dumps(model)))
