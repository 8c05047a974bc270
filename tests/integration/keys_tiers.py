"""The keys of models with several pools, as test_config_keys.py tries them."""
from keys_offline import Key, explain
from keys_online import served, worker
from keys_site import model, site

POOL = "global.semroute.pools[0]."
WORKLOADS = "global.semroute.workloads."
WORDS = {"model": "one", "messages": [{"role": "user", "content": "word " * 400}]}


def tiered(first, second=None, **more):
    """Model `one` with the pools `a` (worker 0) and `b` (worker 1)."""
    return site(model("one", "@0", "@1"), pools=[{"model": "one", "name": "a", "backends": ["one-0"], **first},
                                                 {"model": "one", "name": "b", "backends": ["one-1"], **(second or {})}], **more)


def pool(body=None):
    return explain(lambda e: e.all["pool"]["name"], body=body)


def workload(body=None):
    return explain(lambda e: e.all["pool"]["workload"], body=body)


def by_header(config, bench):
    """The pool of a request with a header."""
    with bench.serve(config) as gateway:
        answer = gateway.post({**WORDS, "model": "one"}, headers={"x-for": "batch", "x-vsr-debug": "true"})
        return answer.headers["x-vsr-pool"]


KEYS = [
    Key(POOL + "backends[]", site(model("one", "@0", "@1"), pools=[{"model": "one", "backends": ["one-0"]}]), ("one-0", "one-1"),
        served(worker), ("0", "1")),
    Key(POOL + "backups[]", site(model("one", "@0", "@1"), pools=[{"model": "one", "backups": ["one-0"]}]), ("one-0", "one-1"),
        served(worker), ("1", "0")),
    Key(POOL + "max_tokens", tiered({}), ("4K", "512"), pool(WORDS), ("a", "b")),
    Key(POOL + "max_prompt_tokens", tiered({}), ("1K", "256"), pool(WORDS), ("a", "b")),
    Key(POOL + "workloads[]", tiered({"workloads": ["batch"]}), ("interactive", "agent"), pool(), ("a", "b")),
    Key(WORKLOADS + "header", tiered({"workloads": ["batch"]}), ("x-for", "x-other"), by_header, ("a", "b")),
    Key(WORKLOADS + "metadata", tiered({"workloads": ["batch"]}), ("for", "other"), pool({**WORDS, "metadata": {"for": "batch"}}),
        ("a", "b")),
    Key(WORKLOADS + "long_context_tokens", tiered({"workloads": ["batch"]}), ("400", "4K"), workload(WORDS),
        ("long_context", "interactive")),
]
