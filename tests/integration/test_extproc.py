"""semroute behind the real Envoy: every body mode, size, shape of answer and protocol, and what happens when
semroute is gone, or the wire to it is slow or breaks.

`pairwise` chooses the cases of `make test` so that every pair of values meets; `make test-full` runs the whole
product (SEMROUTE_EXTPROC_FULL=1). The files in deploy/envoy are what runs here, with other ports.
"""
import concurrent.futures
import itertools
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, builtin_on, chat, free_ports, request, wait_http
from test_pools import until

SIZES = {"1B": 1, "900KiB": 900 << 10, "1.1MiB": 1153434, "10MiB": 10 << 20}
DIMENSIONS = {
    "mode": list(real.MODES),
    "size": list(SIZES),
    "answer": ["plain", "sse"],
    "protocol": ["http1.1", "http2"],
    "ask": ["explicit", "auto", "here", "error"],
    "processor": ["ok", "slow", "reset", "killed"],
    "allow": [False, True],
}
carried = {"requests": 0}


def every_case():
    """Those where semroute is gone come last, so that it is not started again for each."""
    cases = list(itertools.product(*DIMENSIONS.values()))
    return sorted(cases, key=lambda case: case[5] == "killed")


def pairwise(cases):
    """Greedy: the case that brings most pairs that did not meet yet, until none is left."""
    def pairs(case):
        return {(i, j, case[i], case[j]) for i, j in itertools.combinations(range(len(case)), 2)}

    chosen, missing = [], set().union(*map(pairs, cases))
    cases = cases[:]
    random.Random(7).shuffle(cases)
    while missing:
        best = max(cases, key=lambda case: len(pairs(case) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return sorted(chosen, key=lambda case: case[5] == "killed")


CASES = every_case() if os.environ.get("SEMROUTE_EXTPROC_FULL") else pairwise(every_case())


class Site:
    """Mock upstreams, one semroute that can be killed and started again, an Envoy for each mode and policy."""

    def __init__(self, directory):
        self.directory = directory
        self.mock = Mock(directory / "mock.log")
        self.extproc_port, self.metrics_port = free_ports(), free_ports()
        self.config = directory / "semroute.yaml"
        self.config.write_text(with_fast_response(builtin_on(self.mock.port)))
        self.semroute = None
        self.envoys = {}
        self.wire = real.Wire(self.extproc_port)
        self.start()

    def start(self):
        if self.semroute is None:
            self.semroute = Process([BINARY, "serve", "-c", self.config, "--gateway", "off", "--api", "off",
                                     "--metrics", f"127.0.0.1:{self.metrics_port}",
                                     "--extproc", f"127.0.0.1:{self.extproc_port}"], self.directory / "semroute.log")
            wait_http(self.metrics_port, "/metrics", self.semroute)

    def kill(self):
        if self.semroute is not None:
            self.semroute.child.kill()
            self.semroute.child.wait()
            self.semroute.log.close()
            self.semroute = None

    def envoy(self, mode, allow=False, change=None, behind_wire=False):
        key = (mode, allow, change, behind_wire)
        if key not in self.envoys:
            port = self.wire.port if behind_wire else self.extproc_port
            self.envoys[key] = real.Envoy(self.directory, mode, port, self.mock.port, allow, change)
        return self.envoys[key]

    def metrics(self):
        return request(self.metrics_port, "GET", "/metrics").body.decode()

    def unrouted(self, reason):
        name = f'semroute_extproc_unrouted_total{{reason="{reason}"}} '
        return sum(int(line.removeprefix(name)) for line in self.metrics().splitlines() if line.startswith(name))

    def stop(self):
        for process in [*self.envoys.values(), *([self.semroute] if self.semroute else []), self.mock, self.wire]:
            process.stop()


def with_fast_response(text):
    """The built-in configuration with one decision more: a word that is answered here. Reading 10 MiB on a busy machine
    may take longer than decisions usually have."""
    text = text.replace("\nglobal:\n", "\nglobal:\n  semroute: {signal_deadline_ms: 20000}\n", 1)
    assert "signal_deadline_ms" in text
    text = text.replace("    keywords:\n", "    keywords:\n      - {name: say-hi, operator: OR, keywords: [say-hi]}\n", 1)
    return text.replace("  decisions:                     #", """  decisions:
    - name: hi
      priority: 900
      rules: {type: keyword, name: say-hi}
      plugins: [{type: fast_response, configuration: {message: Hi there.}}]
    #""", 1)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("extproc")
    site = Site(directory)
    yield site
    site.stop()


class Answer:
    def __init__(self, out, headers, status, exit, protocol):
        self.body, self.status, self.exit = out, status, exit
        self.protocol = protocol
        self.headers = dict(line.lower().split(": ", 1) for line in headers.splitlines() if ": " in line)


    def cut_short(self):
        """Envoy answered before the upload's end and closed (HTTP/1.1) or reset (HTTP/2) it: curl may see that
        before it has read the status."""
        return self.status == 0 and self.exit in ((92,) if self.protocol == "http2" else (52, 55, 56))


def curl(site, port, body, protocol="http1.1", path="/v1/chat/completions", headers=(), method="POST", timeout=40):
    """One request through Envoy; the client is curl, because it speaks HTTP/2 without TLS."""
    carried["requests"] += 1
    sent, head = site.directory / "sent", site.directory / "head"
    args = ["curl", "-s", "-X", method, "--max-time", str(timeout), "-D", head, "-w", "%{stderr}%{http_code}",
            "--http2-prior-knowledge" if protocol == "http2" else "--http1.1", "-H", "expect:"]
    if body is not None:
        sent.write_bytes(body)
        args += ["-H", "content-type: application/json", "--data-binary", f"@{sent}"]
    for header in headers:
        args += ["-H", header]
    head.write_text("")
    done = subprocess.run([*map(str, args), f"http://127.0.0.1:{port}{path}"], capture_output=True, timeout=timeout + 5)
    return Answer(done.stdout, head.read_text(), int(done.stderr or 0), done.returncode, protocol)


def body_of(ask, size, answer):
    """A request of about `size` bytes."""
    text = {"explicit": "tell me", "auto": "what does ``` mean", "here": "say-hi", "error": "tell me"}[ask]
    model = {"explicit": "expert", "error": "no-such-model"}.get(ask, "auto")
    body = chat(text, model, **({"stream": True} if answer == "sse" else {}))
    fill = SIZES[size] - len(json.dumps(body))
    if fill > 0:
        body["messages"][0]["content"] += " a few words more" * (fill // 17)
    return json.dumps(body).encode()


@pytest.mark.parametrize("mode,size,answer,protocol,ask,processor,allow", CASES)
def test_matrix(site, mode, size, answer, protocol, ask, processor, allow):
    site.wire.behaviour = processor
    envoy = site.envoy(mode, allow, behind_wire=processor in ("slow", "reset"))
    body = b"x" if size == "1B" and ask == "error" else body_of(ask, size, answer)
    if processor == "killed":
        check_killed(site, envoy, mode, allow, body, protocol)
        return
    site.start()
    if processor == "reset":
        resets = site.wire.resets
        check_unserved(site, envoy, mode, allow, body, protocol)
        assert site.wire.resets > resets
        return
    late = site.unrouted("late")
    reply = wait_for_semroute(site, envoy, body, protocol)
    if reply.cut_short():
        assert ask in ("error", "here") and len(body) > 1 << 16
        return
    if ask == "error":
        assert reply.status == (400 if body == b"x" else 404), reply.body
        assert json.loads(reply.body)["error"]["type"] == "invalid_request_error"
        return
    assert reply.status == 200, (reply.status, reply.body[:300])
    if ask == "here":
        assert b"Hi" in reply.body and reply.headers["x-vsr-fast-response"] == "true"
        return
    model = "expert" if ask == "explicit" else "coder"
    worker = real.MODELS.index(model)
    assert reply.headers["x-vsr-selected-model"] == model
    if site.unrouted("late") > late:  # counted exactly when the headers could not route
        assert mode in ("STREAMED", "NO_WAIT") and size != "1B"
        worker = 0
    got = json.loads(site.mock.last_body(worker))
    want = json.loads(body)
    assert got["model"] == model and got["messages"][-1]["content"] == want["messages"][-1]["content"]
    if ask == "explicit":
        assert site.mock.last_body(worker) == body
    head = site.mock.last_head(worker).lower()
    assert "x-selected-model: " + model in head or worker == 0
    if answer == "sse":
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.body.endswith(b"data: [DONE]\n\n") and b'"usage"' not in reply.body
    else:
        assert json.loads(reply.body)["model"] == model


def wait_for_semroute(site, envoy, body, protocol):
    """Envoy may need a moment until it connects again to a semroute that was killed before."""
    end = time.monotonic() + 60
    while True:
        reply = curl(site, envoy.port, body, protocol)
        if "x-vsr-schema-version" in reply.headers or reply.cut_short() or time.monotonic() > end:
            return reply
        time.sleep(0.1)


def check_killed(site, envoy, mode, allow, body, protocol):
    site.kill()
    check_unserved(site, envoy, mode, allow, body, protocol)


def check_unserved(site, envoy, mode, allow, body, protocol):
    """What failure_mode_allow covers, and what it does not: a FULL_DUPLEX body that was handed over."""
    reply = curl(site, envoy.port, body, protocol)
    if not allow:
        assert reply.status == 500 or reply.cut_short(), (reply.status, reply.exit)
        assert reply.body == b""
    elif mode != "FULL_DUPLEX" or not (reply.status == 500 or reply.cut_short()):
        assert reply.status in (200, 400)  # the mock's word: nobody else looked at the request
        assert site.mock.last_body(0) == body


def test_many_requests_at_once(site):
    """Many clients are many streams of the one connection between Envoy and semroute."""
    site.start()
    envoy = site.envoy("FULL_DUPLEX")
    body = body_of("auto", "1B", "plain")
    wait_for_semroute(site, envoy, body, "http2")
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda _: request(envoy.port, "POST", "/v1/chat/completions", body), range(300)))
    carried["requests"] += 300
    assert [a.status for a in answers] == [200] * 300
    assert {a.headers["x-vsr-selected-model"] for a in answers} == {"coder"}


@pytest.mark.parametrize("mode", list(real.MODES))
def test_without_a_body(site, mode):
    site.start()
    envoy = site.envoy(mode)
    wait_for_semroute(site, envoy, body_of("auto", "1B", "plain"), "http1.1")
    models = curl(site, envoy.port, None, method="GET", path="/v1/models")
    assert models.status == 200 and "auto" in [m["id"] for m in json.loads(models.body)["data"]]
    assert curl(site, envoy.port, None, method="GET", path="/v1/chat/completions").status == 405
    health = curl(site, envoy.port, None, method="GET", path="/health")  # not an endpoint that is forwarded
    assert health.status == 404 and json.loads(health.body)["error"]["code"] == "endpoint_not_found"


@pytest.mark.parametrize("mode", list(real.MODES))
def test_request_trailers(site, mode):
    """curl sends no trailers, so a chunked request with some is written by hand."""
    site.start()
    envoy = site.envoy(mode, False, enable_trailers)
    body = body_of("auto", "1B", "plain")
    wait_for_semroute(site, envoy, body, "http1.1")
    carried["requests"] += 1
    with socket.create_connection(("127.0.0.1", envoy.port), timeout=20) as s:
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n"
                  b"trailer: x-sum\r\ncontent-type: application/json\r\n\r\n")
        for at in range(0, len(body), 20):
            piece = body[at:at + 20]
            s.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        s.sendall(b"0\r\nx-sum: 1\r\n\r\n")
        answer = b""
        while data := s.recv(65536):
            answer += data
    assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
    assert b"x-vsr-selected-model: coder" in answer
    late_or_routed = [json.loads(site.mock.last_body(w) or b"{}").get("model") for w in (0, 1)]
    assert "coder" in late_or_routed


def enable_trailers(text):
    return text.replace("          codec_type: AUTO", "          http_protocol_options: {enable_trailers: true}\n"
                        "          codec_type: AUTO", 1)


@pytest.mark.parametrize("ask,status", [("explicit", 200), ("auto", 413)])
def test_a_named_model_passes_beyond_what_is_kept(site, ask, status):
    """40 MiB go by in chunks; a body that has to be read may have 32 MiB."""
    site.start()
    envoy = site.envoy("FULL_DUPLEX")
    wait_for_semroute(site, envoy, body_of("auto", "1B", "plain"), "http1.1")
    end = time.monotonic() + 300
    while "semroute_encoders_open 2" not in site.metrics():  # the second reader is opened in the background, behind all else
        assert time.monotonic() < end
        time.sleep(0.05)
    before = site.semroute.rss_kib()
    body = body_of(ask, "1B", "plain")[:-1] + b" " * (40 << 20) + b"}"
    reply = curl(site, envoy.port, body)
    assert reply.status == status or (status == 413 and reply.cut_short()), (reply.status, reply.body[:300])
    if status == 200:
        assert reply.headers["x-vsr-selected-model"] == "expert" and site.mock.last_body(real.MODELS.index("expert")) == body
        assert site.semroute.rss_kib() - before < 40 << 10, "nothing of it is kept"


def test_a_partial_mode_is_refused(site):
    site.start()
    envoy = site.envoy("BUFFERED", False, partial)
    reply = curl(site, envoy.port, body_of("auto", "1B", "plain"))
    assert reply.status == 500
    assert "FULL_DUPLEX_STREAMED" in json.loads(reply.body)["error"]["message"]


def partial(text):
    return text.replace("request_body_mode: BUFFERED", "request_body_mode: BUFFERED_PARTIAL")


def test_a_buffered_sse_answer_is_switched_to_streamed(site):
    """All of the first answer would be there after 100 seconds only."""
    site.start()
    envoy = site.envoy("BUFFERED", False, buffered_answers)
    body = body_of("auto", "1B", "sse")
    started = time.monotonic()
    process = subprocess.Popen(["curl", "-sN", "-H", "x-mock-chunk-delay-ms: 100", "-H", "x-mock-chunks: 1000",
                                "-H", "content-type: application/json", "--data-binary", body.decode(),
                                f"http://127.0.0.1:{envoy.port}/v1/chat/completions"], stdout=subprocess.PIPE)
    carried["requests"] += 1
    first = process.stdout.read(6)
    early = time.monotonic() - started
    process.kill()
    process.communicate()
    assert first == b"data: "
    assert early < 90, "the first frame came before the last was sent"
    assert curl(site, envoy.port, body, headers=["x-mock-chunks: 16"]).body.endswith(b"data: [DONE]\n\n")


def buffered_answers(text):
    return text.replace("response_body_mode: STREAMED ", "response_body_mode: BUFFERED ")


def test_a_route_can_switch_the_filter_off(site):
    site.start()
    envoy = site.envoy("FULL_DUPLEX", False, without_filter)
    reply = curl(site, envoy.port, body_of("error", "1B", "plain"), path="/v1/chat/completions?raw=1")
    assert reply.status == 200 and "x-vsr-schema-version" not in reply.headers


def without_filter(text):
    return text.replace("              - match: {prefix: /}\n                route: {cluster: general, timeout: 0s}", """\
              - match: {prefix: /}
                route: {cluster: general, timeout: 0s}
                typed_per_filter_config:
                  envoy.filters.http.ext_proc:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute
                    disabled: true""")


BY_HEADER = """\
              - match: {prefix: /, headers: [{name: x-way, string_match: {exact: buffered}}]}
                route: {cluster: general, timeout: 0s}
                typed_per_filter_config:
                  envoy.filters.http.ext_proc:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute
                    overrides: {processing_mode: {request_body_mode: BUFFERED, request_trailer_mode: SKIP}}
              - match: {prefix: /, headers: [{name: x-way, string_match: {exact: unseen}}]}
                route: {cluster: general, timeout: 0s}
                typed_per_filter_config:
                  envoy.filters.http.ext_proc:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute
                    overrides: {processing_mode: {request_body_mode: NONE, request_trailer_mode: SKIP}}
"""


def other_modes(text):
    last = "              - match: {prefix: /}\n"
    assert text.count(last) == 1
    return text.replace(last, BY_HEADER + last)


def test_a_route_can_have_a_mode_of_its_own(site):
    """The mode is what Envoy says with each request, not what any file of semroute's says."""
    site.start()
    envoy = site.envoy("FULL_DUPLEX", False, other_modes)
    body = body_of("auto", "1B", "plain")
    wait_for_semroute(site, envoy, body, "http1.1")
    for way, framing in (("duplex", "transfer-encoding: chunked"), ("buffered", "content-length: ")):
        reply = curl(site, envoy.port, body, headers=[f"x-way: {way}"])
        assert reply.status == 200 and reply.headers["x-vsr-selected-model"] == "coder", (way, reply.body)
        assert framing in site.mock.last_head(1).lower() and json.loads(site.mock.last_body(1))["model"] == "coder"
    unseen = site.unrouted("no_body_mode")
    reply = curl(site, envoy.port, body, headers=["x-way: unseen"])
    assert "x-vsr-selected-model" not in reply.headers and site.mock.last_body(0) == body
    assert site.unrouted("no_body_mode") == unseen + 1


def with_retries(text):
    """The model's cluster gets a first endpoint where nobody listens, and the routes another try."""
    text = text.replace("timeout: 0s}", "timeout: 0s, retry_policy: {retry_on: connect-failure, num_retries: 3}}")
    name = "    load_assignment: {cluster_name: coder, endpoints: [{lb_endpoints: ["
    dead = f"{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {with_retries.dead}}}}}}}}}, "
    assert name in text
    return text.replace(name, name + dead)


@pytest.mark.parametrize("mode", list(real.MODES))
@pytest.mark.parametrize("size", ["1B", "900KiB"])
def test_retries_carry_the_rewritten_body(site, mode, size):
    site.start()
    with_retries.dead = getattr(with_retries, "dead", None) or free_ports()
    envoy = site.envoy(mode, False, with_retries)
    body = body_of("auto", "1B", "plain")
    wait_for_semroute(site, envoy, body, "http1.1")
    for number in range(4):
        late = site.unrouted("late")
        fill = " " * (SIZES[size] - len(body) - 20) if size != "1B" else ""
        text = json.dumps({**json.loads(body), "user": f"try-{number}", "metadata": {"fill": "x" * 500}}).encode()
        reply = curl(site, envoy.port, text + fill.encode())
        assert reply.status == 200, (number, reply.body)
        got = json.loads(site.mock.last_body(0 if site.unrouted("late") > late else 1))
        assert got["model"] == "coder" and got["user"] == f"try-{number}"


def with_little_time(text):
    return text.replace("message_timeout: 5s", "message_timeout: 1s", 1)


@pytest.mark.parametrize("mode,allow", [("BUFFERED", False), ("BUFFERED", True), ("STREAMED", False), ("STREAMED", True),
                                        ("NO_WAIT", False), ("NO_WAIT", True), ("FULL_DUPLEX", False)])
def test_a_processor_that_says_nothing(site, mode, allow):
    """Envoy's own timer: 504, or on without us. In FULL_DUPLEX there is none: the request waits until we wake up."""
    site.start()
    envoy = site.envoy(mode, allow, with_little_time)
    body = body_of("auto", "1B", "plain")
    wait_for_semroute(site, envoy, body, "http1.1")
    site.semroute.signal(signal.SIGSTOP)
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(curl, site, envoy.port, body)
            if mode == "FULL_DUPLEX":
                with pytest.raises(concurrent.futures.TimeoutError):
                    waiting.result(2)
                site.semroute.signal(signal.SIGCONT)
            reply = waiting.result(30)
    finally:
        site.semroute.signal(signal.SIGCONT)
    if mode == "FULL_DUPLEX":
        assert reply.status == 200 and reply.headers["x-vsr-selected-model"] == "coder"
    elif allow:
        assert reply.status == 200 and "x-vsr-selected-model" not in reply.headers and site.mock.last_body(0) == body
    else:
        assert reply.status == 504


def with_answer_trailers(text):
    text = enable_trailers(text).replace("response_trailer_mode: SKIP", "response_trailer_mode: SEND")
    options = ("    typed_extension_protocol_options:\n"
               "      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:\n"
               '        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions\n'
               "        explicit_http_config: {http_protocol_options: {enable_trailers: true}}\n")
    name = "  - name: coder\n    type: STATIC\n    connect_timeout: 1s\n"
    assert name in text
    text = text.replace(name, name + options)
    return re.sub(r"(cluster_name: coder.*port_value: )\d+", rf"\g<1>{with_answer_trailers.port}", text)


def with_duplex_answers(text):
    return re.sub(r"response_body_mode: STREAMED\b", "response_body_mode: FULL_DUPLEX_STREAMED", with_answer_trailers(text))


@pytest.mark.parametrize("change", [with_answer_trailers, with_duplex_answers])
def test_answer_trailers(site, change):
    """An upstream that ends with trailers: they reach the client, and the answer's stages know that it is over."""
    site.start()
    answer = (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n"
              b'3c\r\n{"usage":{"prompt_tokens":3,"completion_tokens":7777,"x":"abcd\r\n3\r\n"}}\r\n0\r\nx-sum: 42\r\n\r\n')
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        with_answer_trailers.port = upstream.getsockname()[1]
        envoy = real.Envoy(site.directory, "FULL_DUPLEX", site.extproc_port, site.mock.port, change=change)

        def serve():
            peer, _ = upstream.accept()
            with peer:
                seen = b""
                while b"0\r\n\r\n" not in seen:
                    seen += peer.recv(65536)
                peer.sendall(answer)
                peer.recv(65536)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        try:
            carried["requests"] += 1
            with socket.create_connection(("127.0.0.1", envoy.port), timeout=20) as s:
                body = body_of("auto", "1B", "plain")
                s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nte: trailers\r\ncontent-type: application/json\r\n"
                          b"content-length: %d\r\n\r\n" % len(body) + body)
                got = b""
                while b"\r\n0\r\n" not in got or not got.endswith(b"\r\n\r\n"):
                    data = s.recv(65536)
                    assert data, got
                    got += data
        finally:
            envoy.stop()
    assert got.startswith(b"HTTP/1.1 200") and b"x-sum: 42" in got and b"7777" in got, got
    until(lambda: tokens(site) >= 7777)  # they are counted when Envoy has ended the exchange


def tokens(site):
    """What the model has written so far."""
    name = 'llm_model_completion_tokens_total{model="coder"} '
    return sum(float(line.removeprefix(name)) for line in site.metrics().splitlines() if line.startswith(name))


def test_metrics_and_usage(site):
    site.start()
    envoy = site.envoy("FULL_DUPLEX")
    wait_for_semroute(site, envoy, body_of("auto", "1B", "sse"), "http1.1")
    for series in ('semroute_requests_total{door="extproc",outcome="routed"}',
                   'llm_model_completion_tokens_total{model="coder"}', 'llm_model_ttft_seconds_count{model="coder"}'):
        until(lambda: series in site.metrics())


def test_envoy_was_really_there(site, capsys):
    with capsys.disabled():
        print(f"\nEnvoy {real.version()} carried {carried['requests']} requests")
    assert carried["requests"] > len(CASES)
