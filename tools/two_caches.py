#!/usr/bin/env python3
"""two_caches.py [--data FILE] [--again PERCENT] ...: what the response cache and the KV caches of the workers save together
on an agent's trace, in front of simulated GPUs (`semroute mock --engine`) and the real Rust vLLM router.

Replays conversations turn by turn, as many agents at a time as there are workers; after the trace, PERCENT of the
conversations are run once more, as agents do that retry. Without --data a few short conversations of its own. Prints a
table: prompt tokens that a GPU had to compute, calls, times. Run it with tests/.venv's Python. Asserts nothing."""
import argparse
import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from conftest import BINARY, Gateway, Process, free_ports, request, wait_http  # noqa: E402
from second_router import Rust  # noqa: E402

MODEL = "agent"
PREFILL_MS, STEP_MS = 0.1, 10.1  # the engine's constants: a prompt token that is not cached; a token of an answer, alone
RULES = ("You are the agent of a small airline. Identify the passenger before you change anything. Name each change and wait "
         "for a yes. A ticket of basic economy cannot be changed. Bags are free for gold members. ") * 6
ASKED = ("My flight to Oslo was cancelled, what can I do?", "Please book a window seat to Lisbon on the 4th of May.",
         "How many bags may I take to Rome?", "I want to travel a day later, my booking is Q7XK2L.")
CONTINUED = ("Yes, do that.", "And what does it cost?", "Thank you. Is there an earlier one?")
VARIANTS = [("round robin, no cache", "round_robin", False), ("KV: the router's cache_aware", "cache_aware", False),
            ("response cache alone", "round_robin", True), ("both", "cache_aware", True)]


def own_conversations():
    for asked in ASKED:
        messages = [{"role": "system", "content": RULES}, {"role": "user", "content": asked}]
        for text in CONTINUED:
            messages += [{"role": "assistant", "content": f"Let me see about that: {asked}"}, {"role": "user", "content": text}]
        yield [*messages, {"role": "assistant", "content": "Done."}]


def conversations(path):
    if not path:
        return list(own_conversations())
    return [json.loads(line)["request"]["messages"] for line in pathlib.Path(path).read_text().splitlines()]


def turns(messages):
    """What an agent sent before each answer of the trace."""
    return [messages[:at] for at, message in enumerate(messages) if message["role"] == "assistant" and at > 0]


class Engines(Process):
    """Simulated GPUs; `blocks` of 16 tokens in the cache of each."""

    model = MODEL

    def __init__(self, directory, workers, blocks, speed):
        self.port, self.workers = free_ports(workers), workers
        super().__init__([BINARY, "mock", "--port", self.port, "--workers", workers, "--engine", "--model", MODEL,
                          "--blocks", blocks, "--speed", speed, "--stream-interval", 16], directory / "engines.log")
        for worker in range(workers):
            wait_http(self.port + worker, "/health", self)

    def all(self):
        return [type("Worker", (), {"url": f"http://127.0.0.1:{self.port + w}", "model": MODEL}) for w in range(self.workers)]


def configuration(port, cached):
    plugins = [{"type": "response_cache", "configuration": {"scope": "global"}}] if cached else []
    return json.dumps({
        "version": "v0.3",
        "providers": {"defaults": {"default_model": MODEL},
                      "models": [{"name": MODEL, "backend_refs": [{"name": "router", "endpoint": f"127.0.0.1:{port}"}]}]},
        "routing": {"decisions": [{"name": "all", "modelRefs": [{"model": MODEL}], "plugins": plugins}]}})


class Call:
    """One streamed answer: times in seconds, the usage, and whether it came from the cache."""

    def __init__(self, port, messages, tokens):
        body = {"model": "auto", "messages": messages, "max_tokens": tokens, "stream": True,
                "stream_options": {"include_usage": True}}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        begin = time.monotonic()
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
            answer = connection.getresponse()
            data = answer.read1(65536)
            self.first = time.monotonic() - begin
            data += answer.read()
        finally:
            connection.close()
        self.whole = time.monotonic() - begin
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {data[:500]!r}")
        self.hit = answer.getheader("x-vsr-cache-hit") == "true"
        events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
        usage = next(e["usage"] for e in reversed(events) if e.get("usage"))
        self.prompt, self.generated = usage["prompt_tokens"], usage["completion_tokens"]
        self.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0


def replay(gateway, runs, agents, tokens):
    """Each run is one agent that asks turn by turn; `agents` of them at a time."""
    calls = []
    with concurrent.futures.ThreadPoolExecutor(agents) as pool:
        for of_one in pool.map(lambda run: [Call(gateway.port, messages, tokens) for messages in turns(run)], runs):
            calls += of_one
    return calls


def wait_kept(gateway, count):
    """Entries are written when exchanges have ended: until `count` are there, or will not come."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if request(gateway.api_port, "GET", "/api/v1/response-cache/stats").json()["total_entries"] >= count:
            return
        time.sleep(0.05)


def measure(args, policy, cached):
    """One variant on fresh workers, a fresh router and a fresh gateway."""
    trace = conversations(args.data)[:args.conversations]
    again = trace[:round(len(trace) * args.again / 100)]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        directory = pathlib.Path(name)
        engines = Engines(directory, args.workers, args.blocks, args.speed)
        stack.callback(engines.stop)
        router = Rust(engines.all(), directory, policy)
        stack.callback(router.stop)
        gateway = Gateway(configuration(router.port, cached), directory)
        stack.callback(gateway.stop)
        calls = replay(gateway, trace, args.workers, args.tokens)
        if cached:
            wait_kept(gateway, sum(not c.hit for c in calls))
        calls += replay(gateway, again, args.workers, args.tokens)
    asked = [c for c in calls if not c.hit]
    return {"requests": len(calls), "hits": len(calls) - len(asked), "prompt": sum(c.prompt for c in calls),
            "computed": sum(c.prompt - c.cached for c in asked),
            "gpu_s": sum((c.prompt - c.cached) * PREFILL_MS + c.generated * STEP_MS for c in asked) / 1000,
            "first_ms": statistics.median(c.first for c in calls) * 1000 * args.speed,
            "mean_ms": statistics.fmean(c.whole for c in calls) * 1000 * args.speed}


def table(rows):
    yield "| | requests | from the response cache | prompt tokens computed | saved | TTFT p50 | mean latency | saved | GPU time, saved |"
    yield "|---|---|---|---|---|---|---|---|---|"
    base = rows[0][1]
    for name, r in rows:
        yield (f"| {name} | {r['requests']} | {r['hits']} | {r['computed']:,} of {r['prompt']:,} | "
               f"{100 * (1 - r['computed'] / base['computed']):.0f} % | {r['first_ms']:.0f} ms | {r['mean_ms']:.0f} ms | "
               f"{100 * (1 - r['mean_ms'] / base['mean_ms']):.0f} % | {r['gpu_s']:.1f} s, {100 * (1 - r['gpu_s'] / base['gpu_s']):.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="lines of JSON with request.messages, as chat-agent-taubench")
    parser.add_argument("--conversations", type=int, default=1000)
    parser.add_argument("--again", type=float, default=50, help="percent of the conversations that are run once more")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--blocks", type=int, default=8192, help="of 16 tokens, in each worker's cache")
    parser.add_argument("--tokens", type=int, default=32, help="of an answer")
    parser.add_argument("--speed", type=int, default=1, help="of the simulated GPUs; times are stated as at 1")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [(name, measure(args, policy, cached)) for name, policy, cached in VARIANTS]
    print(json.dumps(dict(rows)) if args.json else "\n".join(table(rows)))


if __name__ == "__main__":
    main()
