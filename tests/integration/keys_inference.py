"""Keys of rules by meaning and of how encoders are run."""
import re
from unittest.mock import ANY

from conftest import ROOT, chat
from keys_offline import Key, by, explain, refused, rule_key
from keys_online import Between, count_threads, post, served
from keys_site import ABSENT, site

MODEL = f"{ROOT}/models/all-MiniLM-L6-v2"
SMALL = f"{ROOT}/tests/golden/encoder/small"
REFUND = "please give me a refund, I want the money back"
# Three windows of the encoder, about the weather first and about money last.
LONG = "The weather was fine on that day. " * 120 + "I want my money back. " * 60
SEMANTIC = "global.model_catalog.embeddings.semantic."
INFERENCE = "global.semroute.inference."


def near(**rule):
    return {"embeddings": [{"name": "e", "threshold": 0.5, "candidates": ["I want my money back", "The weather is fine"], **rule}]}


def meaning(path, values, seen, **rule):
    return rule_key(f"embeddings[].{path}", near(**rule), REFUND, values, seen, "e", "embedding")


def asked(**inference):
    config = site(decisions=[by("embedding", "e")], signals=near(), signal_deadline_ms=60000, inference=inference)
    config["global"]["model_catalog"] = {"embeddings": {"semantic": {"mmbert_model_path": MODEL}}}
    return config


def with_neural(**inference):
    """A domain rule with heads behind the linear tier."""
    config = site(decisions=[by("domain", "math")], signals={"domains": [{"name": "math"}]}, signal_deadline_ms=60000,
                  inference={"neural": f"{ROOT}/models/neural", **inference})
    config["global"]["model_catalog"] = {"embeddings": {"semantic": {"mmbert_model_path": MODEL}}}
    return config


def multilingual(**inference):
    """A domain rule with the bundled models."""
    return site(decisions=[by("domain", "math")], signals={"domains": [{"name": "math"}]}, signal_deadline_ms=60000,
                inference={"ask_below": 1, **inference})


def vector(path, values, text=REFUND, **inference):
    """The key changes the text's vector, and so how near it is."""
    return Key(path, asked(**inference), values, explain(lambda e: e.rule()["value"], text), ANY)


def outcome(path, values, seen):
    return Key(path, asked(), values, explain(lambda e: e.all["signals"][0].get("error", "good"), LONG), seen)


def metric(gateway, name):
    """Of both lanes; before the first batch there is no series."""
    return sum(map(float, re.findall(rf'^{name}{{lane="[a-z]+"}} (\S+)$', gateway.metrics(), re.MULTILINE)))


def batches(gateway, _):
    """How many batches a text of several windows became."""
    before = metric(gateway, "semroute_inference_batch_jobs_count")
    assert post(gateway, chat(LONG)).status == 200
    return metric(gateway, "semroute_inference_batch_jobs_count") - before


def waited(gateway, _):
    """Does a text wait for others, right after several were there at once?"""
    assert post(gateway, chat(LONG)).status == 200
    before = metric(gateway, "semroute_inference_wait_seconds_sum")
    assert post(gateway, chat(REFUND)).status == 200
    return metric(gateway, "semroute_inference_wait_seconds_sum") - before > 0.9


def threads(gateway, _):
    """Of the process, after a short text was read."""
    assert post(gateway, chat(REFUND)).status == 200
    return count_threads(gateway)


KEYS = [
    refused("routing.signals.embeddings[].name", site(decisions=[by("embedding", "e")], signals=near()), ("e", "f"),
            "no rule `e`"),
    meaning("candidates[]", ("I want my money back", "The sky is blue"), (True, False), candidates=["x"]),
    meaning("threshold", (0.5, 0.99), (True, False)),
    meaning("aggregation_method", ("max", "mean"), (True, False)),
    refused(SEMANTIC + "mmbert_model_path", site(), (MODEL, "/nowhere/model"), "the built-in model takes its place"),
    refused("routing.signals.embeddings[].query_modality", site(decisions=[by("embedding", "e")], signals=near()),
            ("text", "image"), "is not supported"),
    vector(SEMANTIC + "embedding_config.target_dimension", (ABSENT, 100)),
    vector(SEMANTIC + "embedding_config.target_layer", (ABSENT, 3)),
    vector(INFERENCE + "precision", ("fp32", "int8")),
    vector(INFERENCE + "max_windows", (16, 1), LONG),
    vector(INFERENCE + "embedding_model", (ABSENT, "multilingual")),
    outcome(INFERENCE + "memory_max", ("64MiB", "1MiB"), ("good", "a limit was reached")),
    outcome(INFERENCE + "queue_jobs", (64, 2), ("good", "a limit was reached")),
    refused(INFERENCE + "neural", site(), (f"{ROOT}/models/neural", "/nowhere/neural"), "has no config.json"),
    refused(INFERENCE + "models_folder", site(), (SMALL, "/nowhere/models"), "cannot be read"),
    Key(INFERENCE + "neural_precision", with_neural(), ("fp32", "int8"), explain(lambda e: e.rule()["value"], "hello"), ANY),
    Key(INFERENCE + "multilingual", multilingual(), ("off", "always"), explain(lambda e: "multilingual_bytes" in e.all["signals"][0], "hello"),
        (False, True)),
    Key(INFERENCE + "ask_below", with_neural(), (0, 1), explain(lambda e: e.all["signals"][0]["tier"], "hello"),
        ("linear", "neural")),
    Key(INFERENCE + "neural_max_bytes", with_neural(ask_below=1), ("32KiB", 3), explain(lambda e: e.all["signals"][0]["tier"], "hello"),
        ("neural", "linear")),
    refused(INFERENCE + "cpus", site(), ("0-3,8", "first"), "`first` is not a list of CPUs"),
    Key(INFERENCE + "threads", asked(), (1, 4), served(threads), Between(6)),
    Key(INFERENCE + "batch_tokens", asked(), (4096, 512), served(batches), (1, 3)),
    Key(INFERENCE + "batch_wait_us", asked(batch_tokens=4096), (0, 1000000), served(waited), (False, True)),
]
