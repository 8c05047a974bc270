"""The neural: the trunk with low-rank adapters in every linear layer, and three heads on one pass.

Products run in COMPUTE, sums and normalisation in float32. In training the adapters run beside the weights (which need
no gradient then); for answers they are merged into them once, as a reader of the saved files does at load.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

# Debian's torch 1.13 multiplies bfloat16 faster than float32, later ones (with MKL) float32 twice as fast as that.
COMPUTE = torch.bfloat16 if torch.__version__.startswith("1.") else torch.float32
MODULES = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
           "intermediate.dense", "output.dense"]


class Adapted(nn.Module):
    """weight + scale * B A."""

    def __init__(self, weight, bias, rank, scale):
        super().__init__()
        self.register_buffer("weight", weight.float())
        self.register_buffer("small", weight.to(COMPUTE))
        self.register_buffer("bias", bias.to(COMPUTE))
        self.lora_A = nn.Parameter(torch.randn(rank, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.lora_B = nn.Parameter(torch.zeros(weight.shape[0], rank))
        self.scale = scale
        self.merged = None

    def merge(self):
        self.merged = (self.weight + self.scale * (self.lora_B @ self.lora_A)).to(COMPUTE)

    def forward(self, x):
        if not self.training:
            return F.linear(x, self.merged, self.bias)
        low = F.linear(x, self.lora_A.to(COMPUTE))
        return F.linear(x, self.small, self.bias) + F.linear(low, (self.scale * self.lora_B).to(COMPUTE))


class Layer(nn.Module):
    def __init__(self, tensors, prefix, heads, rank, scale):
        super().__init__()
        for name in MODULES:
            setattr(self, name.replace(".", "_"), Adapted(tensors[f"{prefix}.{name}.weight"],
                                                          tensors[f"{prefix}.{name}.bias"], rank, scale))
        for name in ("attention.output", "output"):
            self.register_buffer(name.replace(".", "_") + "_norm_w", tensors[f"{prefix}.{name}.LayerNorm.weight"].float())
            self.register_buffer(name.replace(".", "_") + "_norm_b", tensors[f"{prefix}.{name}.LayerNorm.bias"].float())
        self.heads = heads

    def forward(self, x, mask):
        b, n, d = x.shape
        h = x.to(COMPUTE)

        def split(t):
            return t.view(b, n, self.heads, d // self.heads).transpose(1, 2)

        q, k, v = (split(getattr(self, f"attention_self_{m}")(h)) for m in ("query", "key", "value"))
        scores = (q @ k.transpose(-1, -2)).float() / math.sqrt(d // self.heads)
        p = torch.softmax(scores + mask, -1).to(COMPUTE)
        mixed = (p @ v).transpose(1, 2).reshape(b, n, d)
        x = F.layer_norm(x + self.attention_output_dense(mixed).float(), (d,),
                         self.attention_output_norm_w, self.attention_output_norm_b, 1e-12)
        inner = F.gelu(self.intermediate_dense(x.to(COMPUTE)))
        return F.layer_norm(x + self.output_dense(inner).float(), (d,), self.output_norm_w, self.output_norm_b, 1e-12)


class Head(nn.Module):
    """pool -> dense -> gelu -> out; a token head has no pool, and a dense layer only where pii_heads.py gave it one."""

    def __init__(self, pooling, width, labels):
        super().__init__()
        self.pooling, self.dense = pooling, None
        if pooling != "token":
            self.dense = nn.Linear(width, width)
            with torch.no_grad():
                self.dense.weight.copy_(torch.eye(width) + 0.02 * torch.randn(width, width))
                self.dense.bias.zero_()
        self.out = nn.Linear(width, labels)
        with torch.no_grad():
            self.out.weight.mul_(0.1 if pooling == "token" else 1.0)
            self.out.bias.zero_()

    def forward(self, x, real):
        if self.pooling == "token":
            return self.out(F.gelu(self.dense(x)) if self.dense else x)
        if self.pooling == "cls":
            pooled = x[:, 0]
        else:
            pooled = (x * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        return self.out(F.gelu(self.dense(pooled)))


class Neural(nn.Module):
    """`labels`: number of labels by task; `pooling`: mean, cls or token by task."""

    def __init__(self, tensors, config, rank, alpha, labels, pooling):
        super().__init__()
        for name in ("word_embeddings", "position_embeddings", "token_type_embeddings"):
            self.register_buffer(name, tensors[f"embeddings.{name}.weight"].float())
        self.register_buffer("norm_w", tensors["embeddings.LayerNorm.weight"].float())
        self.register_buffer("norm_b", tensors["embeddings.LayerNorm.bias"].float())
        self.layers = nn.ModuleList(Layer(tensors, f"encoder.layer.{i}", config["num_attention_heads"], rank, alpha / rank)
                                    for i in range(config["num_hidden_layers"]))
        self.heads = nn.ModuleDict({t: Head(pooling[t], config["hidden_size"], n) for t, n in labels.items()})

    def merge(self):
        for layer in self.layers:
            for module in layer.children():
                module.merge()

    def hidden(self, ids, real):
        """Last hidden states [windows, tokens, width]; outside training, merge() comes first."""
        return self.states(ids, real)[-1]

    def states(self, ids, real):
        """Hidden states before the first layer and after each."""
        x = self.word_embeddings[ids] + self.position_embeddings[:ids.shape[1]] + self.token_type_embeddings[0]
        out = [F.layer_norm(x, (x.shape[-1],), self.norm_w, self.norm_b, 1e-12)]
        mask = (1 - real)[:, None, None, :] * -1e4
        for layer in self.layers:
            out.append(layer(out[-1], mask))
        return out

    def adapters(self):
        return [p for layer in self.layers for p in layer.parameters()]

    def export(self):
        """Tensors by their names in adapters.safetensors, float32."""
        out = {}
        for i, layer in enumerate(self.layers):
            for name in MODULES:
                m = getattr(layer, name.replace(".", "_"))
                out[f"bert.encoder.layer.{i}.{name}.lora_A.weight"] = m.lora_A.detach()
                out[f"bert.encoder.layer.{i}.{name}.lora_B.weight"] = m.lora_B.detach()
        for task, head in self.heads.items():
            for name, p in head.named_parameters():
                out[f"{task}.{name}"] = p.detach()
        return out

    def restore(self, tensors):
        for task, head in self.heads.items():
            if head.dense is None and f"{task}.dense.weight" in tensors:
                head.dense = nn.Linear(*reversed(tensors[f"{task}.dense.weight"].shape))
                head.out = nn.Linear(*reversed(tensors[f"{task}.out.weight"].shape))
        own = self.export()
        with torch.no_grad():
            for name, target in own.items():
                target.copy_(tensors[name].float())
