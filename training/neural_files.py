"""Writes and reads models/neural/: adapters.safetensors in bfloat16, config.json, mapping files, manifest. README.md there is
the format."""
import hashlib
import json

import torch
from safetensors.torch import load_file, save_file

import data
import jailbreak_data
import neural_model
import pii_templates
import trunk

LABELS = {"domain": data.LABELS, "jailbreak": jailbreak_data.LABELS, "pii": pii_templates.LABELS}
MAPPINGS = {"domain": ("category_mapping.json", "category_to_idx", "idx_to_category"),
            "jailbreak": ("jailbreak_type_mapping.json", "label_to_idx", "idx_to_label"),
            "pii": ("pii_type_mapping.json", "label_to_idx", "idx_to_label")}
PLAIN = {"temperature": {"domain": 1.0, "jailbreak": 1.0, "pii": 1.0},
         "fusion": {"domain": {"neural": 1.0, "linear": 0.0, "temperature": 1.0},
                    "jailbreak": {"neural": 1.0, "linear": 0.0, "shift": 0.0, "temperature": 1.0}},
         "thresholds": {"jailbreak": 0.7, "pii": {t: 0.5 for t in pii_templates.TYPES}}}


def to_bytes(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write(out, model, choices, calibration=PLAIN):
    """`calibration`: temperature of each head by itself, fusion with the linear tier, thresholds."""
    out.mkdir(parents=True, exist_ok=True)
    tensors = {k: v.to(torch.bfloat16).contiguous() for k, v in model.export().items()}
    save_file(tensors, str(out / "adapters.safetensors"), metadata={"format": "pt"})
    heads = {}
    for task, head in model.heads.items():
        heads[task] = {"pooling": head.pooling, "layer": len(model.layers), "dense": head.dense is not None, "activation": "gelu",
                       "labels": LABELS[task], "temperature_alone": round(calibration["temperature"][task], 4)}
    config = {"format": "semroute-neural-1", "trunk": {"name": "all-MiniLM-L6-v2", "sha256": trunk.SHA256},
              "window": trunk.WINDOW, "overlap": trunk.OVERLAP, "heads": heads,
              "fusion": calibration["fusion"], "thresholds": calibration["thresholds"]}
    (out / "config.json").write_text(to_bytes(config))
    (out / "adapter_config.json").write_text(to_bytes(
        {"peft_type": "LORA", "task_type": None, "base_model_name_or_path": "all-MiniLM-L6-v2", "r": choices["rank"], "lora_alpha": choices["alpha"],
         "bias": "none", "lora_dropout": 0.0, "fan_in_fan_out": False, "target_modules": neural_model.MODULES}))
    for task, (name, forward, back) in MAPPINGS.items():
        (out / name).write_text(to_bytes({forward: {l: i for i, l in enumerate(LABELS[task])},
                                          back: {str(i): l for i, l in enumerate(LABELS[task])}}))
    manifest(out)


def put_head(out, task, tensors, labels, layer, temperature=1.0, thresholds=None, capitals=None):
    """Puts a token head (tensors by their names without the task's) into the bundle in place of its own."""
    path = out / "adapters.safetensors"
    all_tensors = {k: v for k, v in load_file(str(path)).items() if not k.startswith(f"{task}.")}
    all_tensors |= {f"{task}.{k}": v.to(torch.bfloat16).contiguous() for k, v in tensors.items()}
    save_file(all_tensors, str(path), metadata={"format": "pt"})
    config = json.loads((out / "config.json").read_text())
    layers = {k: v for k, v in config["heads"].get(task, {}).items() if k == "adapted"}
    config["heads"][task] = {"pooling": "token", "layer": layer, **layers, "dense": "dense.weight" in tensors, "activation": "gelu", "labels": labels,
                             "temperature_alone": temperature}
    if thresholds:
        config["thresholds"][task] = thresholds
    if capitals:
        config.setdefault("capitals", {})[task] = capitals
    (out / "config.json").write_text(to_bytes(config))
    name, forward, back = MAPPINGS[task]
    (out / name).write_text(to_bytes({forward: {l: i for i, l in enumerate(labels)}, back: {str(i): l for i, l in enumerate(labels)}}))
    manifest(out)


def take_head(out, other, task):
    """Puts the token head of another bundle on the same trunk into this one."""
    config = json.loads((other / "config.json").read_text())
    tensors = {k[len(task) + 1:]: v for k, v in load_file(str(other / "adapters.safetensors")).items() if k.startswith(f"{task}.")}
    head = config["heads"][task]
    put_head(out, task, tensors, head["labels"], head["layer"], head["temperature_alone"], config["thresholds"].get(task), config.get("capitals", {}).get(task))


def manifest(out):
    files = sorted(p for p in out.iterdir() if p.suffix in (".json", ".safetensors") and p.name not in ("manifest.json", "train.json", "dev.json", "left_out.json", "left_out_neural.json", "baseline.json", "domain.json"))
    (out / "manifest.json").write_text(to_bytes(
        {"name": out.name, "task": "neural", "tier": "neural",
         "files": [{"path": p.name, "bytes": p.stat().st_size, "sha256": hashlib.sha256(p.read_bytes()).hexdigest()} for p in files]}))


def read(out, model):
    model.restore(load_file(str(out / "adapters.safetensors")))
    model.eval()
    model.merge()
    return model


if __name__ == "__main__":  # python neural_files.py BUNDLE OTHER TASK: a token head from one bundle into another
    import pathlib
    import sys
    take_head(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3])
