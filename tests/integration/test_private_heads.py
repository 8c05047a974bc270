"""The token head of a bundle: a dense layer narrower than the trunk, and what is no width at all."""
import json
import shutil
import struct

import numpy as np
import pytest
from conftest import ROOT, semroute

MODELS = {"SEMROUTE_MODELS": str(ROOT / "models")}
TEXT = "My name is Joseph Miller, I live in Toronto and my boss is Angela Perez."
SHIFT = 64  # beyond it GELU changes nothing


def read(path):
    """Tensors of a safetensors file in bfloat16, as float32."""
    raw = path.read_bytes()
    n, = struct.unpack("<Q", raw[:8])
    out = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            assert t["dtype"] == "BF16"
            words = np.frombuffer(raw[8 + n + a:8 + n + b], np.uint16).astype(np.uint32) << 16
            out[name] = words.view(np.float32).reshape(t["shape"])
    return out


def write(path, tensors):
    head, body = {}, b""
    for name, t in tensors.items():
        piece = np.ascontiguousarray(t, np.float32).tobytes()
        head[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(body), len(body) + len(piece)]}
        body += piece
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def bundle(folder, change):
    """The shipped bundle with another head."""
    shutil.copytree(ROOT / "models" / "neural", folder)
    tensors = read(folder / "adapters.safetensors")
    rows = np.random.default_rng(3).normal(0, 0.3, (35, 384)).astype(np.float32)
    own = {k: v for k, v in tensors.items() if not k.startswith("pii.")}
    write(folder / "adapters.safetensors", {**own, **{f"pii.{k}": v for k, v in change(rows).items()}})
    return folder


def linear(rows):
    return {"out.weight": rows, "out.bias": np.zeros(35, np.float32)}


def narrow(rows):
    """The same function in two layers, of which the first has 35 rows: GELU(x + 64) is x + 64."""
    return {"dense.weight": rows, "dense.bias": np.full(35, SHIFT, np.float32), "out.weight": np.eye(35, dtype=np.float32), "out.bias": np.full(35, -SHIFT, np.float32)}


def entities(folder):
    done = semroute("classify", "--task", "pii", "--tier", "neural", "--precision", "fp32", "--heads", folder, "--json", TEXT, env=MODELS, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["entities"]


def test_a_narrow_layer_computes_what_its_numbers_say(tmp_path):
    one, two = entities(bundle(tmp_path / "linear", linear)), entities(bundle(tmp_path / "narrow", narrow))
    assert one and [(e["type"], e["start"], e["end"]) for e in one] == [(e["type"], e["start"], e["end"]) for e in two]
    assert [e["confidence"] for e in two] == pytest.approx([e["confidence"] for e in one], abs=1e-3)


@pytest.mark.parametrize("shape", [(385, 384), (35, 383), (0, 384)])
def test_a_layer_that_does_not_fit_is_refused(tmp_path, shape):
    folder = bundle(tmp_path / "bad", lambda rows: {**narrow(rows), "dense.weight": np.zeros(shape, np.float32)})
    done = semroute("classify", "--task", "pii", "--tier", "neural", "--heads", folder, TEXT, env=MODELS, timeout=300)
    assert done.returncode != 0 and "pii.dense" in done.stderr


def with_capitals(folder, odds):
    """The shipped bundle with other odds for the case of words."""
    shutil.copytree(ROOT / "models" / "neural", folder)
    config = json.loads((folder / "config.json").read_text())
    config["capitals"] = {"pii": odds}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def people(folder, text):
    """What is found as a person, with its confidence."""
    done = semroute("classify", "--task", "pii", "--tier", "neural", "--precision", "fp32", "--heads", folder, "--json", text, env=MODELS, timeout=300)
    assert done.returncode == 0, done.stderr
    return {e["text"].lower(): e["confidence"] for e in json.loads(done.stdout)["entities"] if e["type"] == "PERSON"}


def test_the_case_of_a_word_counts_in_a_text_with_capitals(tmp_path):
    text, small = "The letter was for Hollis and his brother.", "the letter was for hollis and his brother."
    none, never = with_capitals(tmp_path / "none", {}), with_capitals(tmp_path / "never", {"PERSON": {"inside": -8}})
    likely = with_capitals(tmp_path / "likely", {"PERSON": {"inside": 4}})
    plain = people(none, text)["hollis"]
    assert people(none, small)["hollis"] == pytest.approx(plain, abs=1e-6)  # its vocabulary has no capitals
    assert people(likely, text)["hollis"] > plain > people(never, text).get("hollis", 0)
    for folder in (never, likely):
        assert people(folder, small)["hollis"] == pytest.approx(plain, abs=1e-6)  # a text that says nothing by capitals


def test_odds_that_are_no_numbers_are_refused(tmp_path):
    folder = with_capitals(tmp_path / "bad", {"PERSON": {"inside": "much"}})
    done = semroute("classify", "--task", "pii", "--tier", "neural", "--heads", folder, TEXT, env=MODELS, timeout=300)
    assert done.returncode != 0 and "config.json" in done.stderr and "`inside` must be a number from -8 to 8" in done.stderr
