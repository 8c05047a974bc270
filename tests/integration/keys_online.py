"""Keys whose effect shows in a running gateway: what upstreams and clients see, and how the process behaves."""
import json
import pathlib
import re
import select
import signal
import socket
import ssl
import struct
import threading
import time

from conftest import ROOT, chat, free_ports, request
from keys_offline import Key
from keys_site import ABSENT, MATH, check, decision, model, site
from test_http_behaviour import Wire, post_bytes

PORT = free_ports(2)
MANAGEMENT = "global.services.management_api.auth."
BACKEND = "providers.models[].backend_refs[]."
GATEWAY = "global.semroute.gateway."


def served(look):
    """A probe of a running gateway."""
    def see(config, bench):
        with bench.serve(config) as gateway:
            return look(gateway, bench)
    return see


def patience(gateway):
    """Turns that last until a probe takes it that nothing will come: two seconds, and longer where the gateway itself
    has hardly time to run."""
    for _ in range(40):
        yield
        assert request(gateway.metrics_port, "GET", "/health").status == 200
        time.sleep(0.05)


def logs(gateway, text):
    """Whether this is logged before patience ends."""
    return any(text in pathlib.Path(gateway.log_path).read_text() for _ in patience(gateway))


def ready_without_workers(gateway, bench):
    """The status of /ready once it says that all workers are down."""
    end = time.monotonic() + 60
    while "no model has a worker that is up" not in (answer := gateway.get("/ready")).body.decode():
        assert time.monotonic() < end, answer.body
        time.sleep(0.02)
    return answer.status


def post(gateway, body=None, **headers):
    return gateway.post(body or chat("hello"), headers={k.replace("_", "-"): str(v) for k, v in headers.items()})


def status(**headers):
    return served(lambda gateway, bench: post(gateway, **headers).status)


def asked_while_overloaded(gateway, bench):
    """How often the only worker is asked, which answers 429 and `Retry-After: 1`."""
    def asked():
        return json.loads(request(bench.mock.port, "GET", "/mock/stats").body)["requests"]
    before = asked()
    assert post(gateway, x_mock_status=429).status == 429
    return asked() - before


def sent(pattern, body=None, **headers):
    """What the upstream's request head has where the pattern's group is; None where it does not match."""
    def look(gateway, bench):
        assert post(gateway, body, **headers).status == 200
        found = re.search(pattern, bench.mock.last_head(), re.MULTILINE)
        return found and found[1]
    return served(look)


def worker(gateway, bench):
    return post(gateway).json()["choices"][0]["message"]["content"].split()[6]


def workers_of(requests, *faults):
    """How many workers answer so many requests, after requests that fail."""
    def look(gateway, bench):
        for fault in faults:
            post(gateway, x_mock_status=fault)
        return len({worker(gateway, bench) for _ in range(requests)})
    return served(look)


def listed(key):
    return served(lambda gateway, bench: gateway.get("/v1/models/one").json().get(key))


def cost(gateway, bench):
    assert post(gateway).status == 200
    end = time.monotonic() + 60  # an answer is counted right after it was sent
    while time.monotonic() < end:
        if found := re.search(r'llm_model_cost_total\{model="one",currency="(\w+)"\} (\S+)', gateway.metrics()):
            return found[1], float(found[2])
        time.sleep(0.01)
    return None


def log_line(gateway, bench):
    post(gateway)
    end = time.monotonic() + 60
    while not (lines := re.findall(r'^\{"time".*/v1/chat.*\}$', gateway.output(), re.MULTILINE)) and time.monotonic() < end:
        time.sleep(0.01)
    return json.loads(lines[-1])


KEYWORD = {"keywords": [{"name": "k", "operator": "OR", "keywords": ["cat"]}]}


def count_threads(gateway):
    """How many threads the process has, once no more begin or end."""
    tasks, same, count = pathlib.Path(f"/proc/{gateway.pid}/task"), 0, 0
    while same < 20:
        before, count = count, len(list(tasks.iterdir()))
        same = same + 1 if count == before else 0
        time.sleep(0.02)
    return count


def threads(gateway, bench):
    long_text(gateway, bench)  # workers start with the first job
    return count_threads(gateway)


class Between:
    """Equal to two numbers of which the second is this much larger."""

    def __init__(self, more):
        self.more = more

    def __eq__(self, other):
        return other[1] - other[0] == self.more


MORE = Between(3)


def scraped(gateway, bench, headers=None):
    return request(gateway.metrics_port, "GET", "/metrics", headers=headers).status


def managed(role="viewer"):
    config = site()
    auth = {"mode": "bearer", "tokens": [{"env": "LANG_TOKEN", "role": role}], "roles": {"reader": ["cache.read"]}}
    config["global"]["services"] = {"management_api": {"auth": auth}}
    return config


def unproved(config, bench):
    with bench.serve(config, env={"LANG_TOKEN": "t"}) as gateway:
        return scraped(gateway, bench)


def with_token(config, bench):
    """What a token opens: the metrics, and a text to classify."""
    with bench.serve(config, env={"LANG_TOKEN": "t", "OTHER_TOKEN": "u"}) as gateway:
        header = {"authorization": "Bearer t"}
        return (scraped(gateway, bench, header),
                request(gateway.api_port, "POST", "/api/v1/classify/security", {"text": "hello"}, headers=header).status)


def everywhere(config, bench):
    """The status of the metrics on a listener that other machines reach."""
    with bench.serve(config, flags=["--metrics", f"0.0.0.0:{PORT}"]) as gateway:
        assert request(PORT, "GET", "/health").status == 200
        return request(PORT, "GET", "/metrics").status


def can_connect(address, port):
    try:
        socket.create_connection((address, port), timeout=5).close()
        return True
    except OSError:
        return False


def listening(look):
    """A probe of a gateway on its own listeners."""
    def see(config, bench):
        with bench.listen(config) as process:
            return look(process)
    return see


def slow_answer(_):
    return request(PORT, "POST", "/v1/chat/completions", chat("hello"), {"x-mock-delay-ms": "2000"}).status


def after(data):
    """What comes back when a client sends only this: a status, `closed` or `waits`."""
    def look(gateway, bench):
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as s:
            s.sendall(data)
            if not any(select.select([s], [], [], 0)[0] for _ in patience(gateway)):
                return "waits"
            line = s.makefile("rb").readline()
        return int(line.split()[1]) if line else "closed"
    return served(look)


def asked(**headers):
    """What comes back for a whole request: a status or `waits`."""
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return after(post_bytes(json.dumps(chat("hello")).encode(), extra.encode()))


def second_client(gateway, bench):
    first = Wire(gateway.port)
    first.socket.sendall(post_bytes(json.dumps(chat("hello")).encode()))
    assert first.read()[0] == 200
    seen = gateway.get("/health").status
    first.close()
    return seen


def beside_half_a_body(gateway, bench):
    """The status of a request while another one has sent half of its body."""
    first = Wire(gateway.port)
    whole = post_bytes(json.dumps(chat("hello " * 500)).encode())
    first.socket.sendall(whole[:-1000])
    end = time.monotonic() + 60
    while int(re.search(r"^semroute_buffered_bytes (\d+)$", gateway.metrics(), re.M).group(1)) <= 1024:
        assert time.monotonic() < end
        time.sleep(0.02)
    seen = post(gateway, chat("hello " * 500)).status
    first.close()
    return seen


def stream(gateway, chunks, delay):
    wire = Wire(gateway.port)
    wire.socket.sendall(post_bytes(json.dumps(chat("hello", stream=True)).encode(),
                                   b"x-mock-chunks: %d\r\nx-mock-chunk-delay-ms: %d\r\n" % (chunks, delay)))
    wire.file.readline()
    return wire


def rest(wire):
    try:
        return b"[DONE]" in wire.file.read()
    except OSError:
        return False


def whole_stream(gateway, bench):
    wire = Wire(gateway.port)
    wire.socket.sendall(post_bytes(json.dumps(chat("hello", stream=True)).encode(),
                                   b"connection: close\r\nx-mock-chunks: 1\r\nx-mock-chunk-delay-ms: 500\r\n"))
    return rest(wire)


def drained_stream(gateway, bench):
    wire = stream(gateway, 20, 100)
    gateway.signal(signal.SIGTERM)
    return rest(wire)


def moved(gateway, bench):
    """Whether a request is taken back from a worker that is ejected while it waits there."""
    behave = lambda delay, status: request(bench.mock.port, "PUT", "/mock/behaviour", b"",
                                           {"x-mock-delay-ms": delay, "x-mock-status": status})
    came = lambda: json.loads(request(bench.mock.port, "GET", "/mock/stats").body)["requests"]
    behave("600000", "200")
    before, waiting = came(), [threading.Thread(target=gateway.post, args=(chat("hello", "one"),)) for _ in range(2)]
    for thread in waiting:
        thread.start()
    end = time.monotonic() + 60
    while came() == before:
        assert time.monotonic() < end
        time.sleep(0.01)
    behave("0", "500")
    for _ in range(4):
        gateway.post(chat("hello", "one"))
    taken = any("semroute_upstream_taken_back_total{" in gateway.metrics() for _ in patience(gateway))
    for order in ("kill", "recover"):
        assert request(bench.mock.port + 2, "PUT", f"/mock/{order}?worker=0").status == 200
    for thread in waiting:
        thread.join()
    return taken


def new_connections(pause):
    """Connections that the upstream sees for two requests."""
    def look(gateway, bench):
        before = bench.upstream.connections
        for _ in range(2):
            assert post(gateway).status == 200
            time.sleep(pause)
        return bench.upstream.connections - before
    return served(look)


def certificate(process):
    """The name in the certificate that a client gets; None where the gateway did not start."""
    if process.child.poll() is not None:
        return None
    context = ssl._create_unverified_context()
    with socket.create_connection(("127.0.0.1", PORT), timeout=10) as s, context.wrap_socket(s) as tls:
        return "server" if b"server" in tls.getpeercert(True) else "other"


def other_labels(config, bench):
    """The model of a text about mathematics, with a file in which math and physics have changed their names;
    the file is made when it is not there."""
    path = bench.directory / "turned.safetensors"
    if not path.exists():
        data = (ROOT / "models" / "domain-linear" / "model.safetensors").read_bytes()
        length, = struct.unpack("<Q", data[:8])
        head = data[8:8 + length].decode().replace("math|", "@|").replace("physics|", "math|").replace("@|", "physics|")
        path.write_bytes(data[:8] + head.encode() + data[8 + length:])
    with bench.serve(config) as gateway:
        return post(gateway, chat(MATH)).headers["x-vsr-selected-model"]


def long_text(gateway, bench):
    """Which model gets a request whose text takes long to look through."""
    return post(gateway, chat("lorem ipsum dolor " * 200_000 + "kubernetes")).headers["x-vsr-selected-model"]


def priced(**prices):
    return site(model("one", "@u", pricing={"currency": "USD", **prices}))


def tls_site(ca="ca.pem"):
    return site(model("one", {"endpoint": "@t", "protocol": "https", "tls_ca_file": f"%/{ca}"}))


def own_listener(**more):
    return {**site(), "listeners": [{"name": "main", "address": "127.0.0.1", "port": PORT, **more}]}


def backend(**more):
    return site(model("one", {"endpoint": "@0", **more}), allow_anonymous=True)


MUTATES = site(model("two"), default="two", decisions=[decision(plugins=[{"type": "header_mutation", "configuration": {
    "add": [{"name": "x-a", "value": "1"}], "update": [{"name": "x-b", "value": "2"}], "delete": ["x-c"]}}])])
MUTATION = "routing.decisions[].plugins[header_mutation].configuration."
CARDS = site(cards=[{"name": "one", "capabilities": ["tools"], "tags": ["cheap"], "loras": [{"name": "sql"}]}])
CARD = "routing.modelCards[]."
SLOW_WORDS = {"keywords": [{"name": "k", "keywords": ["kubernetes", "traceback", "segfault"], "fuzzy_match": True}]}

def slow(**semroute):
    """A decision whose signal needs a while for a long text."""
    return site(decisions=[decision(rules={"keyword": "k"})], signals=SLOW_WORDS, **semroute)


WORKING = site(decisions=[decision(rules={"keyword": "k"})], signals=SLOW_WORDS)
TLS_LISTENER = own_listener()
TLS_LISTENER["global"]["semroute"]["gateway"] = {"tls": {"cert_file": "%/server.pem", "key_file": "%/server.key"}}

LISTENERS = [
    Key("listeners[].name", own_listener(), ("main", "side"), listening(lambda p: "side http://" in p.output()), (False, True)),
    Key("listeners[].address", own_listener(), ("127.0.0.1", "127.0.0.2"),
        listening(lambda p: can_connect("127.0.0.1", PORT)), (True, False)),
    Key("listeners[].port", own_listener(), (PORT, PORT + 1), listening(lambda p: can_connect("127.0.0.1", PORT)), (True, False)),
    Key("listeners[].timeout", own_listener(), ("0", "100ms"), listening(slow_answer), (200, 504)),
]

UPSTREAMS = [
    Key("providers.models[].pricing.currency", priced(prompt_per_1m=1000), ("USD", "EUR"), served(cost),
        (("USD", 1.0), ("EUR", 1.0))),
    Key("providers.models[].pricing.prompt_per_1m", priced(), (1000, 2000), served(cost), (("USD", 1.0), ("USD", 2.0))),
    Key("providers.models[].pricing.completion_per_1m", priced(), (10000, 20000), served(cost), (("USD", 1.0), ("USD", 2.0))),
    Key("providers.models[].pricing.cached_input_per_1m", priced(), (5000, 10000), served(cost), (("USD", 1.0), ("USD", 2.0))),
    Key("providers.models[].pricing.cache_write_per_1m", priced(), (10000, 20000), served(cost), (("USD", 3.0), ("USD", 6.0))),
    Key(BACKEND + "name", site(access_log="stdout"), ("a", "b"), served(lambda g, b: log_line(g, b)["target"]), ("a", "b")),
    Key(BACKEND + "endpoint", site(), ("@0", "@1"), served(worker), ("0", "1")),
    Key(BACKEND + "base_url", site(model("one", {"base_url": "http://@0"})), ("http://@0", "http://@0/base"),
        sent(r"^POST (\S+)"), ("/v1/chat/completions", "/base/v1/chat/completions")),
    Key(BACKEND + "protocol", backend(), ("http", "https"), status(), (200, 502)),
    Key(BACKEND + "weight", site(model("one", "@0", "@1")), (1, 3),
        served(lambda g, b: [worker(g, b) for _ in range(40)].count("0")), (20, 30)),
    Key(BACKEND + "auth_header", backend(api_key="k"), ("Authorization", "X-Key"), sent(r"^(\S+): Bearer k\r"),
        ("authorization", "x-key")),
    Key(BACKEND + "auth_prefix", backend(api_key="k"), ("Bearer", "Token"), sent(r"^authorization: (.*)\r"),
        ("Bearer k", "Token k")),
    Key(BACKEND + "extra_headers.*", backend(extra_headers={"X-Team": "a"}), ("a", "b"), sent(r"^x-team: (.*)\r"), ("a", "b")),
    Key(BACKEND + "chat_path", backend(), (ABSENT, "/x/v1/chat/completions"), sent(r"^POST (\S+)"),
        ("/v1/chat/completions", "/x/v1/chat/completions")),
    Key(BACKEND + "api_version", site(model("one", {"base_url": "http://@0", "type": "azure-openai", "chat_path": "/x/v1/chat/completions"})), ("2024-10-21", "v2"),
        sent(r"^POST (\S+)"), tuple(f"/openai/deployments/one/x/v1/chat/completions?api-version={v}" for v in ("2024-10-21", "v2"))),
    Key(BACKEND + "api_key", backend(), (ABSENT, "mine"), sent(r"^authorization: (.*)\r", authorization="Bearer yours"),
        ("Bearer yours", "Bearer mine")),
    Key(BACKEND + "api_key_env", backend(), ("HOME", "NO_SUCH_VARIABLE"),
        lambda config, bench: check(config, bench.directory, {"HOME": "/root"}).removeprefix("error: "),
        ("good", "warning: `api_key_env`: the environment variable `NO_SUCH_VARIABLE` is not set")),
    Key(BACKEND + "tls_ca_file", tls_site(), ("%/ca.pem", "%/stranger.pem"), status(), (200, 502)),
    Key(BACKEND + "tls_verify", tls_site("stranger.pem"), (True, False), status(), (502, 200)),
]

MODELS = [
    Key(CARD + "name", CARDS, ("one", "two"), listed("tags"), (["cheap"], None)),
    Key(CARD + "description", CARDS, (ABSENT, "quick"), listed("description"), (None, "quick")),
    Key(CARD + "param_size", CARDS, (ABSENT, "8B"), listed("param_size"), (None, "8B")),
    Key(CARD + "context_window_size", CARDS, (ABSENT, "32K"), listed("max_model_len"), (None, 32000)),
    Key(CARD + "modality", CARDS, (ABSENT, "text"), listed("modality"), (None, "text")),
    Key(CARD + "quality_score", CARDS, (ABSENT, 0.5), listed("quality_score"), (None, 0.5)),
    Key(CARD + "capabilities[]", CARDS, ("tools", "vision"), listed("capabilities"), (["tools"], ["vision"])),
    Key(CARD + "tags[]", CARDS, ("cheap", "fast"), listed("tags"), (["cheap"], ["fast"])),
    Key(CARD + "loras[]", CARDS, ("sql", "law"), listed("loras"), (["sql"], ["law"])),
    Key(CARD + "loras[].name", CARDS, ("sql", "law"), listed("loras"), (["sql"], ["law"])),
    Key(CARD + "loras[].description", CARDS, (ABSENT, "queries"), listed("loras"),
        (["sql"], [{"name": "sql", "description": "queries"}])),
    Key("global.router.include_config_models_in_list", site(), (False, True),
        served(lambda g, b: "one" in [m["id"] for m in g.get("/v1/models").json()["data"]]), (False, True)),
    Key(MUTATION + "add[].name", MUTATES, ("x-a", "x-z"), sent(r"^(x-[az]): 1\r"), ("x-a", "x-z")),
    Key(MUTATION + "add[].value", MUTATES, ("1", "9"), sent(r"^x-a: (.*)\r"), ("1", "9")),
    Key(MUTATION + "update[].name", MUTATES, ("x-b", "x-z"), sent(r"^(x-[bz]): 2\r", x_b="0"), ("x-b", "x-z")),
    Key(MUTATION + "update[].value", MUTATES, ("2", "9"), sent(r"^x-b: (.*)\r", x_b="0"), ("2", "9")),
    Key(MUTATION + "delete[]", MUTATES, ("x-c", "x-z"), sent(r"^x-c: (.*)\r", x_c="0"), (None, "0")),
]

PROGRAM = [
    Key("global.semroute.endpoints[]", site(endpoints=["x"]), ("default", "/v1/completions"), status(), (200, 404)),
    Key("global.semroute.allow_anonymous", backend(api_key="k"), (ABSENT, True), status(), (401, 200)),
    Key("global.semroute.admin.token", site(admin={}), (ABSENT, "t0ken"), served(scraped), (200, 401)),
    Key(MANAGEMENT + "mode", managed(), ("none", "bearer"), unproved, (200, 401)),
    Key(MANAGEMENT + "tokens[].env", managed(), ("LANG_TOKEN", "OTHER_TOKEN"), with_token, ((200, 401), (401, 401))),
    Key(MANAGEMENT + "tokens[].role", managed(), ("operator", "viewer"), with_token, ((200, 200), (200, 401))),
    Key(MANAGEMENT + "roles.*[]", managed("reader"), ("cache.read", "cache.manage"), with_token,
        ((200, 401), (401, 401))),
    Key("global.semroute.admin.open", site(admin={}), (False, True), everywhere, (403, 200)),
    Key("global.semroute.admin.hosts[]", site(admin={"hosts": ["x"]}), ("other.example", "own.example"),
        served(lambda g, b: scraped(g, b, {"host": "own.example"})), (403, 200)),
    Key("global.router.skip_processing.enabled", site(decisions=[decision()]), (False, True),
        served(lambda g, b: post(g, x_vsr_skip_processing="true").headers["x-vsr-selected-model"]), ("two", "one")),
    Key("global.services.observability.metrics.enabled", site(), (True, False),
        served(lambda g, b: request(g.metrics_port, "GET", "/metrics").status), (200, 404)),
    Key("global.model_catalog.modules.classifier.domain.model_id",
        site(decisions=[decision(rules={"domain": "math"})], signals={"domains": [{"name": "math"}]}),
        (ABSENT, "%/turned.safetensors"), other_labels, ("two", "one")),
    Key("global.semroute.signal_deadline_ms", slow(signal_deadline_ms_per_kib=0), (60000, 1), served(long_text), ("two", "one")),
    Key("global.semroute.signal_deadline_ms_per_kib", slow(signal_deadline_ms=1, signal_deadline_max_ms=60000), (1000, 0),
        served(long_text), ("two", "one")),
    Key("global.semroute.signal_deadline_max_ms", slow(signal_deadline_ms=1, signal_deadline_ms_per_kib=1000), (60000, 1),
        served(long_text), ("two", "one")),
    Key("routing.decisions[].rules.on_error", slow(signal_deadline_ms=1, signal_deadline_ms_per_kib=0), ("no_match", "match"),
        served(long_text), ("one", "two")),
    Key("global.semroute.request_headers", site(), (True, False), sent(r"^(x-vsr-model):"), ("x-vsr-model", None)),
    Key("global.semroute.debug_headers", site(decisions=[decision()]), (False, True),
        served(lambda g, b: "x-vsr-context-token-count" in post(g).headers), (False, True)),
    Key("global.semroute.access_log", site(access_log="stdout"), ("stdout", "%/access.log"),
        served(lambda g, b: (post(g), g.stop(), '"status":200' in g.output())[2]), (True, False)),
    Key("global.semroute.access_log_signals", site(decisions=[decision(rules={"keyword": "k"})], signals=KEYWORD, access_log="stdout"),
        (False, True), served(lambda g, b: log_line(g, b).get("signals")), (None, {"keyword": {"k": 0}})),
    Key("global.semroute.log_level", site(), ("info", "error"), served(lambda g, b: (g.stop(), "ready in" in g.output())[1]), (True, False)),
    Key("global.semroute.ready_needs_worker",
        site(*(model(name, worker, reliability={"health_check_path": "/nowhere", "health_check_interval": "100ms"})
               for name, worker in (("one", "@0"), ("two", "@1")))),
        (False, True), served(ready_without_workers), (200, 503)),
    Key("global.semroute.loops", WORKING, (1, 4), served(threads), MORE),
    Key("global.semroute.workers", WORKING, (1, 4), served(threads), MORE),
]

LIMITS = [
    Key(GATEWAY + "max_body_bytes", site(), (1024, "1MiB"), served(lambda g, b: post(g, chat("hello " * 500)).status),
        (413, 200)),
    Key(GATEWAY + "max_body_values", site(), (64, 1000),
        served(lambda g, b: post(g, {**chat(""), "messages": 40 * chat("hello")["messages"]}).status), (413, 200)),
    Key(GATEWAY + "max_buffered_bytes", site(), (4096, "256MiB"), served(beside_half_a_body), (503, 200)),
    Key(GATEWAY + "max_header_bytes", site(), (1024, "64KiB"), status(x_long="a" * 3000), (431, 200)),
    Key(GATEWAY + "cors_origins[]", site(gateway={"cors_origins": ["x"]}), ("https://a.example", "https://b.example"),
        served(lambda g, b: g.get("/v1/models", {"origin": "https://a.example"}).headers.get("access-control-allow-origin")),
        ("https://a.example", None)),
    Key(GATEWAY + "max_connections", site(), (1, 9), served(second_client), (503, 200)),
    Key(GATEWAY + "max_connections_per_client", site(), (1, 9), served(second_client), (503, 200)),
    Key(GATEWAY + "request_timeout_ms", site(), (100, 60000), after(post_bytes(b" " * 10)[:-1]), (408, "waits")),
    Key(GATEWAY + "header_timeout_ms", site(), (100, 60000), after(b"GET /v1/models HTTP/1.1\r\nHost"), (408, "waits")),
    Key(GATEWAY + "body_timeout_ms", site(), (100, 60000), after(post_bytes(b" " * 10)[:-1]), (408, "waits")),
    Key(GATEWAY + "idle_timeout_ms", site(), (100, 60000), after(b""), ("closed", "waits")),
    Key(GATEWAY + "drain_timeout_ms", site(), (50, 30000), served(drained_stream), (False, True)),
    Key(GATEWAY + "tls.cert_file", TLS_LISTENER, ("%/server.pem", "%/other.pem"), listening(certificate), ("server", "other")),
    Key(GATEWAY + "tls.key_file", TLS_LISTENER, ("%/server.key", "%/stranger.key"), listening(certificate), ("server", None)),
    Key(GATEWAY + "upstream.connect_timeout_ms", site(model("one", {"endpoint": "@s", "protocol": "https"})), (100, 60000),
        asked(), (504, "waits")),
    Key(GATEWAY + "upstream.response_timeout_ms", site(), (100, 60000), status(x_mock_delay_ms=1500), (504, 200)),
    Key(GATEWAY + "upstream.idle_timeout_ms", site(), (100, 60000), served(whole_stream), (False, True)),
    Key(GATEWAY + "upstream.keepalive_ms", site(model("one", "@u")), (50, 60000), new_connections(0.4), (2, 1)),
    Key(GATEWAY + "upstream.max_idle", site(model("one", "@u")), (0, 64), new_connections(0), (2, 1)),
    Key(GATEWAY + "upstream.retries",
        site(model("one", {"endpoint": "@x", "weight": 1000}, "@0")), (0, 1), status(), (502, 200)),
    Key(GATEWAY + "upstream.back_off_ms", site(model("one", "@0"), upstream={"retries": 1}), (1, 60000),
        asked(x_mock_status=502), (502, "waits")),
    Key(GATEWAY + "upstream.retry_after_ms", site(model("one", "@0"), upstream={"retries": 1}), (0, 2000),
        served(asked_while_overloaded), (1, 2)),
    Key(GATEWAY + "upstream.take_back", site(model("one", "@0", "@1", reliability={"consecutive_5xx": 1})),
        (True, False), served(moved), (True, False)),
]

RELIABILITY = "providers.models[].reliability."
def health(gateway, bench):
    """Whether a health check takes a worker down before patience ends."""
    return "down" if logs(gateway, " is down: ") else "up"


def checking(backend, **more):
    return site(model("one", backend, reliability={"health_check_path": "/nothing", "health_check_interval": "100ms", **more}))


DECIDED = "routing.decisions[0].reliability."


def decided():
    """A decision for a model whose first worker is away."""
    return site(model("one", {"endpoint": "@x", "weight": 1000}, "@0"), decisions=[decision("all", "one")])


def decided_status(gateway, bench):
    return post(gateway, chat("hello", "auto")).status


UNEVEN = site(model("one", {"endpoint": "@0", "weight": 3}, "@1"))
UNREACHABLE = site(model("one", {"endpoint": "@x", "weight": 1000}, "@0"))
EJECTING = site(model("one", "@0", "@1", reliability={"consecutive_5xx": 1}))

FAILOVER = [
    Key(RELIABILITY + "lb_policy", UNEVEN, ("round_robin", "least_request"), workers_of(4), (2, 1)),
    Key(RELIABILITY + "retry_count", UNREACHABLE, (0, 1), status(), (502, 200)),
    Key(RELIABILITY + "retry_on", UNREACHABLE, ("429", "connect-failure"), status(), (502, 200)),
    Key(DECIDED + "retry_count", decided(), (0, 1), served(decided_status), (502, 200)),
    Key(DECIDED + "retry_on", decided(), ("429", "connect-failure"), served(decided_status), (502, 200)),
    Key(RELIABILITY + "consecutive_5xx", EJECTING, (0, 1), workers_of(4, 500), (2, 1)),
    Key(RELIABILITY + "base_ejection_time", EJECTING, ("1ms", "60s"), workers_of(4, 500), (2, 1)),
    Key(RELIABILITY + "health_check_path", checking("@0"), ("/health", "/nothing"), served(health), ("up", "down")),
    Key(RELIABILITY + "health_check_interval", checking("@0"), ("100ms", "60s"), served(health), ("down", "up")),
    Key(RELIABILITY + "health_check_timeout", checking("@s"), ("100ms", "60s"), served(health), ("down", "up")),
    Key(RELIABILITY + "max_ejection_percent",
        site(model("one", "@0", "@1", "@2", reliability={"consecutive_5xx": 1})), (50, 100), workers_of(4, 500), (2, 1)),
]

KEYS = FAILOVER + LISTENERS + UPSTREAMS + MODELS + PROGRAM + LIMITS
