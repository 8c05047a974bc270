"""Keys of the policies that pick a worker of a pool: which worker answers, and what the debug headers say of it."""
import time

import msgpack
import zmq

from conftest import ROOT, chat, free_ports
from keys_offline import Key
from keys_online import logs, served
from keys_site import check, model, site

POOL = "global.semroute.pools[0]."
LONG = "The first paragraph of a long document that many questions are about. " * 40


def picking(policy, **more):
    """Model `one` with workers 0 and 1, and this pool."""
    return site(model("one", "@0", "@1"), pools=[{"model": "one", "policy": policy, **more}])


def ask(gateway, text="hello", **headers):
    return gateway.post({**chat(text), "model": "one"}, headers={"x-vsr-debug": "true", **headers})


def reason(*texts):
    """Why the worker of the last of these requests was picked."""
    def look(gateway, bench):
        for text in texts:
            answer = ask(gateway, text)
        return answer.headers["x-vsr-worker-reason"]
    return served(look)


def workers(**headers):
    """How many workers answer requests of one session."""
    def look(gateway, bench):
        return len({ask(gateway, **headers).headers["x-vsr-worker"] for _ in range(6)})
    return served(look)


def said(config, bench):
    """Whether the configuration is good."""
    return "error" not in check(config, bench.directory)


def asked(gateway, bench):
    """Whether workers are asked for their load: the mock, which is no engine, has no metrics."""
    return logs(gateway, "no metrics of vLLM")


def heard(gateway, bench):
    """Whether batches that are published under the topic `kv@worker` count."""
    block = ["BlockStored", [1], None, list(range(16)), 16, None, "GPU"]
    batch, context, number, found = msgpack.packb([0.0, [block]]), zmq.Context(), 0, False
    with context.socket(zmq.PUB) as publisher:
        publisher.linger = 0
        publisher.bind(f"tcp://127.0.0.1:{PUBLISHED}")
        end = time.monotonic() + 10
        while not found and time.monotonic() < end:
            publisher.send_multipart([b"kv@worker", number.to_bytes(8, "big"), batch])
            number += 1
            time.sleep(0.02)
            found = bool(known(gateway))
    context.destroy(linger=0)
    return found


def known(gateway):
    """The lines of metrics that say how many blocks are known, of those workers of which some are."""
    lines = [line for line in gateway.metrics().splitlines() if line.startswith("semroute_pool_known_blocks{")]
    return "".join(line for line in lines if not line.endswith(" 0"))


PUBLISHED = free_ports()
EVENTS = {"endpoint": "tcp://{host}:%d" % PUBLISHED}

TOKENIZER = str(ROOT / "tests/data/chatml-tokenizer.json")

KEYS = [
    Key(POOL + "metrics.path", picking("least_load"), ("/metrics", "off"), served(asked), (True, False)),
    Key(POOL + "metrics.interval", picking("least_load"), ("1ms", "1s"), said, (False, True)),
    Key(POOL + "session.header", picking("session"), ("x-session", "x-other"), workers(**{"x-other": "s1"}), (2, 1)),
    Key(POOL + "prefix.block_tokens", picking("prefix"), (16, 64), reason(LONG, LONG),
        ("prefix; overlap=44/44", "prefix; overlap=11/11")),
    Key(POOL + "prefix.blocks", picking("prefix", prefix={"block_tokens": 1}), (64, 4096), reason(LONG, LONG),
        ("prefix; overlap=64/707", "prefix; overlap=707/707")),
    Key(POOL + "session.bound", picking("session"), (0.5, 2), said, (False, True)),
    Key(POOL + "meaning.threshold", picking("meaning"), (2, 0.5), said, (False, True)),
    Key(POOL + "meaning.recent", picking("meaning"), (0, 8), said, (False, True)),
    Key(POOL + "meaning.wait", picking("meaning"), ("11s", "0s"), said, (False, True)),
    Key(POOL + "load_guard", picking("prefix"), (0.5, 2), said, (False, True)),
    Key(POOL + "cost.overlap_weight", picking("cost"), (-1, 2), said, (False, True)),
    Key(POOL + "cost.temperature", picking("cost"), (0, 1), reason(LONG), ("cost; overlap=0/44", "cost, drawn; overlap=0/44")),
    Key(POOL + "kv_events.endpoint", picking("kv"), ("http://{host}:5557", EVENTS["endpoint"]), said, (False, True)),
    Key(POOL + "kv_events.replay", picking("kv", kv_events=EVENTS), ("tcp://{hosts}:1", "tcp://{host}:{port+9}"), said, (False, True)),
    Key(POOL + "kv_events.topic", picking("kv", kv_events=EVENTS), ("other", "kv@"), served(heard), (False, True)),
    Key(POOL + "kv_events.max_blocks", picking("kv", kv_events=EVENTS), (8, 64), said, (False, True)),
    Key(POOL + "kv_events.tokenize", picking("kv", kv_events=EVENTS), ("tokenize", "off"), said, (False, True)),
    Key(POOL + "kv_events.tokenizer", picking("kv", kv_events=EVENTS), ("/nothing", TOKENIZER), said, (False, True)),
    Key(POOL + "kv_events.chat_template", picking("kv", kv_events={**EVENTS, "tokenizer": TOKENIZER}), ("llama3", "chatml"), said,
        (False, True)),
    Key(POOL + "kv_events.wait", picking("kv", kv_events=EVENTS), ("11s", "0s"), said, (False, True)),
]
