#!/usr/bin/env python3
"""dynamo_trace.py [--data DIR] [--workload NAME] ...: one trace through NVIDIA Dynamo's KV router and through semroute, over
Dynamo's own mocker workers: what part of the prompts the workers had cached, times, balance.

The trace is that of `semroute bench pool --trace`, as plain chats (tools are text of the system prompt), for which a small
tokenizer is trained. Dynamo has its frontend and N mockers. Mockers speak no HTTP, so that semroute has a frontend in front
of each; it reads the KV events that the mockers publish, in vLLM's format, and tokenizes with the same tokenizer. Run it with
tests/.venv's Python after `make setup-dynamo`. Prints a table; --json: its rows. Asserts nothing."""
import argparse
import collections
import contextlib
import http.client
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from conftest import BINARY, Gateway, free_ports  # noqa: E402
from dynamo import SPECIAL, Parts, make_model  # noqa: E402

MODEL, BLOCK, LONGEST = "pool", 16, 65536
WAYS = ["dynamo kv", "dynamo round-robin", "semroute auto", "semroute kv", "semroute cost", "semroute round_robin"]
SHOW = {"extra_fields": ["worker_id"]}


# ---- the trace ----

def as_text(message):
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = json.dumps(content)
    return content + "".join(json.dumps(call) for call in message.get("tool_calls") or [])


def as_plain_chat(body):
    """The same texts in the same order, in the roles that every chat template has."""
    system = [json.dumps(body["tools"])] if body.get("tools") else []
    messages = []
    for message in body["messages"]:
        if message["role"] == "system" and not messages:
            system.append(as_text(message))
        else:
            role = "assistant" if message["role"] == "assistant" else "user"
            messages.append({"role": role, "content": as_text(message)})
    start = [{"role": "system", "content": "\n".join(system)}] if system else []
    return {"model": MODEL, "stream": True, "stream_options": {"include_usage": True}, "max_tokens": body["max_tokens"],
            "ignore_eos": True, "user": body.get("user", ""), "messages": start + messages}


def read_trace(args):
    command = [BINARY, "bench", "pool", "--trace", "--workload", args.workload, "--requests", str(args.requests),
               "--seed", str(args.seed), *(["--data", args.data] if args.data else [])]
    turns = [json.loads(line) for line in subprocess.run(command, check=True, capture_output=True).stdout.splitlines()]
    sessions = collections.defaultdict(list)
    for turn in turns:
        sessions[turn["session"]].append((turn["start_ms"], turn["pause_ms"], as_plain_chat(turn["body"])))
    return list(sessions.values())


def prompt_of(chat):
    lines = [f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in chat["messages"]]
    return "".join(lines) + "<|im_start|>assistant\n"


def train(sessions):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=8000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator((m["content"] for turns in sessions for m in turns[-1][2]["messages"]), trainer)
    filler = [f"w{i}" for i in range(tokenizer.get_vocab_size(), 2100)]
    tokenizer.add_tokens(filler)  # the mocker answers with tokens 1000 to 2000
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def one_cache(sessions, tokenizer):
    """What one cache without a limit would hit, and the blocks: distinct ones, and those of the longest request."""
    known, tokens, cached, largest = set(), 0, 0, 0
    for _, _, chat in sorted((turn for turns in sessions for turn in turns), key=lambda turn: turn[0]):
        ids = tokenizer.encode(prompt_of(chat), add_special_tokens=False).ids
        key, hits, all_hit = 0, 0, True
        for at in range(0, len(ids) - BLOCK + 1, BLOCK):
            key = hash((key, *ids[at:at + BLOCK]))
            all_hit = all_hit and key in known
            hits += all_hit
            known.add(key)
        tokens, cached = tokens + len(ids), cached + hits * BLOCK
        largest = max(largest, (len(ids) + chat["max_tokens"]) // BLOCK + 2)
    return cached / tokens, len(known), largest


# ---- what is measured ----

class OneFrontend(Parts):
    """Dynamo's own router over all mockers."""

    def __init__(self, directory, model, args, blocks, mode):
        super().__init__(directory)
        self.port = free_ports()
        parts = [self.start("dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", self.port, "--router-mode", mode),
                 self.start("dynamo.mocker", *mocker(model, args, blocks), "--num-workers", args.workers)]
        self.wait(lambda: self.answers(self.port, MODEL), parts)
        time.sleep(2)  # all of them have joined

    @staticmethod
    def worker(_, chunk):
        return ((chunk.get("nvext") or {}).get("worker_id") or {}).get("decode_worker_id")


class OneHop(Parts):
    """semroute's policy over mockers of which each has a frontend of its own."""

    def __init__(self, directory, model, args, blocks, policy):
        super().__init__(directory)
        base, parts = free_ports(3 * args.workers), []
        self.workers = [base + i for i in range(args.workers)]
        for i in range(args.workers):
            parts += [self.start("dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", base + i, "--namespace", f"w{i}"),
                      self.start("dynamo.mocker", *mocker(model, args, blocks), "--endpoint", f"dyn://w{i}.backend.generate",
                                 "--zmq-kv-events-ports", base + args.workers + i,
                                 "--zmq-replay-ports", base + 2 * args.workers + i)]
        self.wait(lambda: all(self.answers(port, MODEL) for port in self.workers), parts)
        pool = {"model": MODEL, "policy": policy, "prefix": {"block_tokens": BLOCK, "blocks": blocks}}
        if policy in ("kv", "cost", "auto"):
            pool["kv_events"] = {"endpoint": f"tcp://{{host}}:{{port+{args.workers}}}",
                                 "replay": f"tcp://{{host}}:{{port+{2 * args.workers}}}",
                                 "tokenizer": str(model / "tokenizer.json"), "chat_template": "chatml"}
        refs = [{"name": f"worker-{port}", "endpoint": f"127.0.0.1:{port}"} for port in self.workers]
        self.gateway = Gateway(json.dumps({
            "version": "v0.3",
            "providers": {"defaults": {"default_model": MODEL}, "models": [{"name": MODEL, "backend_refs": refs}]},
            "global": {"semroute": {"pools": [pool]}}}), directory)
        self.stack.callback(self.gateway.stop)
        self.port = self.gateway.port
        if "kv_events" in pool:
            self.wait(lambda: self.values("semroute_pool_kv_connected") == [1] * args.workers, [self.gateway, *parts])

    def values(self, metric):
        """One value for each worker."""
        return [float(line.split()[-1]) for line in self.gateway.metrics().splitlines() if line.startswith(metric + "{")]

    @staticmethod
    def worker(headers, _):
        return headers.get("x-vsr-worker")


def mocker(model, args, blocks):
    return ["--model-path", model, "--model-name", MODEL, "--block-size", BLOCK, "--num-gpu-blocks-override", blocks,
            "--speedup-ratio", args.speed, "--max-model-len", LONGEST]


def ask(site, chat):
    """(seconds to the first token, cached tokens, tokens of the prompt, worker)"""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=300)
    begun, first, cached, tokens, worker = time.monotonic(), None, 0, 0, None
    with contextlib.closing(connection):
        headers = {"content-type": "application/json", "x-vsr-debug": "true"}
        connection.request("POST", "/v1/chat/completions", json.dumps(chat | {"nvext": SHOW}), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            return None
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            if chunk.get("choices") and first is None:
                first = time.monotonic() - begun
            worker = worker or site.worker(answer.headers, chunk)
            if chunk.get("usage"):
                tokens = chunk["usage"]["prompt_tokens"]
                cached = (chunk["usage"].get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return first or 0.0, cached, tokens, worker


def replay(site, sessions, speed):
    answers, lock, begun = [], threading.Lock(), time.monotonic()

    def run(turns):
        time.sleep(max(0.0, begun + turns[0][0] / 1000 / speed - time.monotonic()))
        for at, (_, pause, chat) in enumerate(turns):
            if at:
                time.sleep(pause / 1000 / speed)
            answer = None
            with contextlib.suppress(OSError, http.client.HTTPException):
                answer = ask(site, chat)
            with lock:
                answers.append(answer)
    threads = [threading.Thread(target=run, args=(turns,)) for turns in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, time.monotonic() - begun


def median(values):
    return statistics.median(values) if values else 0.0


def measure(way, site, sessions, args, infinite):
    answers, seconds = replay(site, sessions, args.speed)
    good = [a for a in answers if a]
    hit = sum(a[1] for a in good) / max(1, sum(a[2] for a in good))
    times = sorted(a[0] * 1000 * args.speed for a in good)
    warm = [a[0] * 1000 * args.speed for a in good if 2 * a[1] >= a[2]]
    cold = [a[0] * 1000 * args.speed for a in good if 2 * a[1] < a[2]]
    workers = collections.Counter(a[3] for a in good)
    return {"way": way, "requests": len(answers), "lost": len(answers) - len(good), "hit": hit,
            "of_one": hit / infinite if infinite else 0.0, "p50": median(times),
            "p99": times[min(len(times) - 1, int(0.99 * len(times)))] if times else 0.0, "cold": median(cold), "warm": median(warm),
            "rate": len(good) / seconds / args.speed, "imbalance": max(workers.values(), default=0) * args.workers / max(1, len(good))}


def rows(args):
    sessions = read_trace(args)
    tokenizer = train(sessions)
    infinite, distinct, largest = one_cache(sessions, tokenizer)
    blocks = max(largest, distinct * args.cache // (100 * args.workers))
    print(f"{args.workload}: {sum(map(len, sessions))} requests, one cache has {100 * infinite:.1f} % of the prompt tokens; "
          f"{args.workers} mockers with {blocks} blocks of {BLOCK} tokens, {args.speed} times as fast", file=sys.stderr)
    for way in args.ways.split(","):
        router, policy = way.split()
        with tempfile.TemporaryDirectory() as folder:
            directory = pathlib.Path(folder)
            model = make_model(directory / "model", tokenizer, LONGEST)
            with contextlib.ExitStack() as stack:
                site = (OneFrontend if router == "dynamo" else OneHop)(directory, model, args, blocks, policy)
                stack.callback(site.stop)
                yield measure(way, site, sessions, args, infinite)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the texts of `semroute bench pool --data`; without it a few of our own")
    parser.add_argument("--workload", default="agents", choices=["agents", "rag", "paraphrases", "chat"])
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--cache", type=int, default=50, help="percent of the distinct blocks, divided by the workers")
    parser.add_argument("--speed", type=int, default=4, help="of the mockers' clock and the trace's")
    parser.add_argument("--ways", default=",".join(WAYS), help=f"of: {', '.join(WAYS)}")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not args.json:
        print("| router and policy | hit % | of one % | p50 ms | p99 ms | cold p50 | warm p50 | req/s | imbalance | lost |")
        print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows(args):
        if args.json:
            print(json.dumps(row), flush=True)
        else:
            print(f"| {row['way']} | {100 * row['hit']:.1f} | {100 * row['of_one']:.1f} | {row['p50']:.0f} | {row['p99']:.0f} | "
                  f"{row['cold']:.0f} | {row['warm']:.0f} | {row['rate']:.1f} | {row['imbalance']:.2f} | {row['lost']} |", flush=True)


if __name__ == "__main__":
    main()
