"""Keys of the algorithms that choose among a decision's candidates."""
import json

from keys_offline import Key, explain
from keys_online import served
from keys_site import Explained, check, model, site

ALGORITHM = "routing.decisions[].algorithm."
VECTORS = 384


def chooses(kind, block=None, **more):
    """A decision between `one`, which is cheap, and `two`, which is better."""
    algorithm = {"type": kind, **({kind: block} if block is not None else {})}
    models = [model("one", "@0", pricing={"prompt_per_1m": 1, "completion_per_1m": 1}),
              model("two", "@1", pricing={"prompt_per_1m": 10, "completion_per_1m": 10})]
    decisions = [{"name": "d", "modelRefs": [{"model": "one"}, {"model": "two"}], "algorithm": algorithm}]
    return site(*models, decisions=decisions, cards=[{"name": "one", "quality_score": 0.5}, {"name": "two", "quality_score": 0.9}],
                **more)


def multi(**block):
    weights = {"quality": 0, "latency": 0, "cost": 0, "load": 0, **block.pop("weights", {})}
    return chooses("multi_factor", {"weights": weights, **block})


chosen = explain(lambda e: e.model)
why = explain(lambda e: e.all.get("selection", {}).get("why") or e.all["selection"]["fallback"])


def said(config, bench):
    return "error" not in check(config, bench.directory)


def after(*delays, look=None):
    """The model that answers after one request of each model that took so many milliseconds."""
    def see(gateway, bench):
        for name, delay in zip(("one", "two"), delays):
            ask(gateway, name, **{"x-mock-delay-ms": str(delay)})
        return look(gateway) if look else ask(gateway).headers["x-vsr-selected-model"]
    return served(see)


def ask(gateway, name="auto", **headers):
    answer = gateway.post({"model": name, "messages": [{"role": "user", "content": "hello"}]}, headers=headers)
    assert answer.status == 200
    return answer


def files(config, bench):
    """A file of neighbours and a predictor, which like one model each; then what `explain` chooses."""
    vectors = [[0.1 * (k == i) for k in range(VECTORS)] for i in range(4)]
    for name, votes in (("knn-one", [0.9, 0.1]), ("knn-two", [0.1, 0.9])):
        (bench.directory / name).write_text(json.dumps({
            "k": 4, "embeddings": vectors, "labels": ["one", "two", "one", "two"], "qualities": [*votes, *votes]}))
    (bench.directory / "knn-k").write_text(json.dumps({
        "embeddings": [[-9 * (k == i) for k in range(VECTORS)] for i in range(3)] + vectors[:1],
        "labels": ["two", "two", "two", "one"]}))
    for name, quality in (("le-one", (0.9, 0.1)), ("le-two", (0.6, 0.9))):
        models = [{"name": n, "rows": 1, "cost": c, "bias": q, "slope": 1, "shift": 0, "weights": [0] * (VECTORS + 14)}
                  for n, c, q in zip(("one", "two"), (1, 10), quality)]
        (bench.directory / name).write_text(json.dumps({
            "format": "semroute-selection-1", "encoder": "all-MiniLM-L6-v2", "dimensions": VECTORS, "mean": [0] * 14,
            "scale": [0] * 14, "curve": [[0, 1, 0.9], [9, 0.1, 0.6]], "models": models}))
    return Explained(config, bench.directory).model


def fed(gateway):
    """The model after feedback that was good for `two`, and after half as much that was bad."""
    from conftest import request
    for name, score, times in (("two", 1, 20), ("two", 0, 10)):
        for _ in range(times):
            body = {"decision": "d", "model": name, "score": score}
            assert request(gateway.api_port, "POST", "/api/v1/feedback", body).status in (200, 404)
    return ask(gateway).headers["x-vsr-selected-model"]


def bandit(**block):
    return chooses("bandit", {"exploration": 0, "cost_weight": 0, "latency_weight": 0, **block})


def slow(gateway):
    """The same after an answer of the bandit's own that took long."""
    ask(gateway, **{"x-mock-delay-ms": "600"})
    import time
    end = time.monotonic() + 10
    seen = ask(gateway).headers["x-vsr-selected-model"]
    while seen == "two" and time.monotonic() < end:
        time.sleep(0.05)
        seen = ask(gateway).headers["x-vsr-selected-model"]
        if "ttft_ms" in json.dumps(Explain(gateway)):
            break
    return ask(gateway).headers["x-vsr-selected-model"]


def Explain(gateway):
    from conftest import request
    return request(gateway.api_port, "POST", "/api/v1/explain", {"text": "hello"}).json()["selection"]


def kept(gateway, bench):
    """Whether the file is there once the router has ended."""
    fed(gateway)
    gateway.stop()
    return (bench.directory / "arms-kept").exists()


M, L, B = ALGORITHM + "multi_factor.", ALGORITHM + "latency_aware.", ALGORITHM + "bandit."
SLO = {"weights": {"quality": 1}}

KEYS = [
    Key(ALGORITHM + "type", chooses("static"), ("static", "multi_factor"), explain(lambda e: e.all["algorithm"]),
        ("static", "multi_factor")),
    Key(M + "weights.quality", multi(weights={"cost": 0.5}), (0.1, 0.9), chosen, ("one", "two")),
    Key(M + "weights.cost", multi(weights={"quality": 0.5}), (0.1, 0.9), chosen, ("two", "one")),
    Key(M + "weights.latency", multi(weights={"cost": 0.5}), (0.1, 0.9), after(2000, 0), ("one", "two")),
    Key(M + "weights.load", multi(weights={"quality": 0.5}), (-1, 0.9), said, (False, True)),
    Key(M + "slo.max_cost_per_1m", multi(**SLO), (5, 20), chosen, ("one", "two")),
    Key(M + "slo.max_ttft_ms", multi(**SLO), (1500, 60000), after(0, 2000), ("one", "two")),
    Key(M + "slo.max_tpot_ms", multi(**SLO), (-1, 100), said, (False, True)),
    Key(M + "slo.max_inflight", multi(**SLO), (-1, 100), said, (False, True)),
    Key(M + "latency_percentile", multi(**SLO), (0, 50), said, (False, True)),
    Key(M + "on_no_candidates", multi(**SLO, slo={"max_cost_per_1m": 0.1}), ("cheapest", "fail"), chosen, ("one", None)),
    Key(L + "description", chooses("latency_aware", {}), ({"a": 1}, "fast"), said, (False, True)),
    Key(L + "ttft_percentile", chooses("latency_aware", {}), (0, 50), after(2000, 0), ("one", "two")),
    Key(L + "tpot_percentile", chooses("latency_aware", {"ttft_percentile": 50}), (0, 50), after(2000, 0), ("two", "one")),
    Key(ALGORITHM + "knn.pretrained_path", chooses("knn", {}), ("%/knn-one", "%/knn-two"), files, ("one", "two")),
    Key(ALGORITHM + "knn.k", chooses("knn", {"pretrained_path": "%/knn-k"}), (1, 4), files, ("one", "two")),
    Key(ALGORITHM + "learned.model", chooses("learned", {"cost_weight": 0}), ("%/le-one", "%/le-two"), files, ("one", "two")),
    Key(ALGORITHM + "learned.cost_weight", chooses("learned", {"model": "%/le-two"}), (0, 1), files, ("two", "one")),
    Key(ALGORITHM + "learned.budget", chooses("learned", {"model": "%/le-two"}), (1, 0.2), files, ("two", "one")),
    Key(B + "enabled", bandit(), (True, False), why, ("the best outcomes for cost and latency", "off")),
    Key(B + "exploration", bandit(), (0, 0.9), said, (True, False)),
    Key(B + "cost_weight", bandit(), (0, 1), chosen, ("two", "one")),
    Key(B + "latency_weight", bandit(latency_scale_ms=100), (0, 1), served(lambda g, b: slow(g)), ("two", "one")),
    Key(B + "latency_scale_ms", bandit(latency_weight=1), (1e9, 100), served(lambda g, b: slow(g)), ("two", "one")),
    Key(B + "memory", bandit(cost_weight=0.15), (1, 1000), served(lambda g, b: fed(g)), ("one", "two")),
    Key("global.semroute.selection.state_file", bandit(), ("%/arms-other", "%/arms-kept"), served(kept), (False, True)),
]
