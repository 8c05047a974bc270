#!/usr/bin/env python3
"""Times ONNX Runtime on the shape of an encoder, with random weights; `semroute bench encoder` runs it as a peer.

Writes the graph itself (packages onnx, numpy, onnxruntime; no PyTorch), as an export of Hugging Face's model would
be: attention by matrix products and softmax with an n x n mask where the model has a window, LayerNormalization, the
erf form of GELU. int8 is what quantize_dynamic makes: DynamicQuantizeLinear and MatMulInteger, attention in fp32.
Prints a line for each length and number of threads: tokens, threads, milliseconds (the shortest run), peak of MB;
-1 milliseconds where the score tensors alone would not fit into the memory that it may use.
"""
import argparse
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LENGTHS = (32, 128, 512, 2048, 8192, 32768)
MEMORY_MAX = 16 << 30


def memory_allowed():
    with open("/proc/meminfo") as info:
        for line in info:
            if line.startswith("MemAvailable"):
                return min(MEMORY_MAX, int(line.split()[1]) * 1024 * 0.8)
    return MEMORY_MAX


def peak_mb():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0


def reset_peak():
    try:
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
    except OSError:
        pass


class Graph:
    """Nodes and weights in the order in which they are added; names are counted."""

    def __init__(self, options):
        self.o = options
        self.nodes, self.weights = [], []
        self.random = np.random.default_rng(1)
        self.count = 0

    def name(self, what="t"):
        self.count += 1
        return f"{what}{self.count}"

    def constant(self, array):
        name = self.name("c")
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, kind, inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x, rows, columns):
        w = self.random.standard_normal((columns, rows), dtype=np.float32) / np.float32(np.sqrt(columns))
        bias = None if self.o.window else self.constant(np.zeros(rows, np.float32))
        if self.o.type == "fp32":
            y = self.op("MatMul", [x, self.constant(w)])
        else:
            scale = np.abs(w).max() / 127
            q, q_scale, zero = self.op("DynamicQuantizeLinear", [x], 3)
            weight = self.constant(np.clip(np.rint(w / scale), -127, 127).astype(np.int8))
            y = self.op("MatMulInteger", [q, weight, zero, self.constant(np.int8(0))])
            y = self.op("Mul", [self.op("Cast", [y], to=TensorProto.FLOAT),
                                self.op("Mul", [q_scale, self.constant(np.float32(scale))])])
        return self.op("Add", [y, bias]) if bias else y

    def norm(self, x):
        h = self.o.hidden
        weights = [self.constant(np.ones(h, np.float32)), self.constant(np.zeros(h, np.float32))]
        return self.op("LayerNormalization", [x, *weights], axis=-1, epsilon=1e-5)

    def gelu(self, x):
        erf = self.op("Erf", [self.op("Div", [x, self.constant(np.float32(np.sqrt(2)))])])
        half = self.op("Mul", [x, self.constant(np.float32(0.5))])
        return self.op("Mul", [half, self.op("Add", [erf, self.constant(np.float32(1))])])

    def rotate(self, x, cosine, sine):
        low, high = self.op("Split", [x], 2, axis=-1)
        turned = self.op("Concat", [self.op("Neg", [high]), low], axis=-1)
        return self.op("Add", [self.op("Mul", [x, cosine]), self.op("Mul", [turned, sine])])

    def attention(self, x, n, tables, mask):
        heads, d = self.o.heads, self.o.hidden // self.o.heads
        qkv = self.op("Split", [self.linear(x, 3 * self.o.hidden, self.o.hidden)], 3, axis=-1)
        shape = self.constant(np.array([1, n, heads, d], np.int64))
        q, k, v = [self.op("Transpose", [self.op("Reshape", [part, shape])], perm=[0, 2, 1, 3]) for part in qkv]
        if tables:
            q, k = self.rotate(q, *tables), self.rotate(k, *tables)
        scores = self.op("MatMul", [q, self.op("Transpose", [k], perm=[0, 1, 3, 2])])
        if self.o.span:
            scores = self.op("Add", [scores, self.relative(q, k, n)])
        scores = self.op("Mul", [scores, self.constant(np.float32(1 / np.sqrt(d * (3 if self.o.span else 1))))])
        if mask:
            scores = self.op("Add", [scores, mask])
        mixed = self.op("MatMul", [self.op("Softmax", [scores], axis=-1), v])
        mixed = self.op("Transpose", [mixed], perm=[0, 2, 1, 3])
        mixed = self.op("Reshape", [mixed, self.constant(np.array([1, n, self.o.hidden], np.int64))])
        return self.linear(mixed, self.o.hidden, self.o.hidden)

    def relative(self, q, k, n):
        """DeBERTa's terms: all queries and keys with all rows of their head, then gathered by the buckets of distances."""
        span, heads, d = self.o.span, self.o.heads, self.o.hidden // self.o.heads
        at, middle = np.arange(n), max(span // 2, 1)
        away = at[:, None] - at[None, :]
        far = np.maximum(np.abs(away), middle) / middle
        bucket = np.where(np.abs(away) <= middle, away,
                          np.sign(away) * (np.ceil(np.log(far) / np.log((2 * span - 1) / middle) * (middle - 1)) + middle))
        shape = self.constant(np.array([1, heads, n, n], np.int64))
        index = np.clip(bucket + span, 0, 2 * span - 1).astype(np.int64)
        rows = [self.constant(self.random.standard_normal((1, heads, d, 2 * span), dtype=np.float32)) for _ in range(2)]
        of = [self.op("GatherElements", [self.op("MatMul", [x, w]), self.op("Expand", [self.constant(i[None, None]), shape])],
                      axis=3) for x, w, i in ((q, rows[0], index), (k, rows[1], index.T.copy()))]
        return self.op("Add", [of[0], self.op("Transpose", [of[1]], perm=[0, 1, 3, 2])])

    def modern_layer(self, x, n, first, tables, mask):
        x = self.op("Add", [x, self.attention(x if first else self.norm(x), n, tables, mask)])
        up, gate = self.op("Split", [self.linear(self.norm(x), 2 * self.o.intermediate, self.o.hidden)], 2, axis=-1)
        return self.op("Add", [x, self.linear(self.op("Mul", [self.gelu(up), gate]), self.o.hidden, self.o.intermediate)])

    def bert_layer(self, x, n):
        x = self.norm(self.op("Add", [x, self.attention(x, n, None, None)]))
        wide = self.gelu(self.linear(x, self.o.intermediate, self.o.hidden))
        return self.norm(self.op("Add", [x, self.linear(wide, self.o.hidden, self.o.intermediate)]))

    def model(self, n):
        modern, d = self.o.window > 0, self.o.hidden // self.o.heads
        x, tables, masks = self.norm("x"), None, (None, None)
        if modern:
            angles = np.arange(n)[:, None] / 160000.0 ** (np.arange(0, d, 2) / d)
            angles = np.concatenate([angles, angles], axis=1).astype(np.float32)
            tables = self.constant(np.cos(angles)), self.constant(np.sin(angles))
            at = self.op("Range", [self.constant(np.int64(v)) for v in (0, n, 1)])
            far = self.op("Abs", [self.op("Sub", [self.op("Unsqueeze", [at, self.constant(np.array([1]))]),
                                                  self.op("Unsqueeze", [at, self.constant(np.array([0]))])])])
            inside = self.op("LessOrEqual", [far, self.constant(np.int64(self.o.window))])
            zero, low = self.constant(np.float32(0)), self.constant(np.float32(-1e30))
            everything = self.op("GreaterOrEqual", [far, self.constant(np.int64(0))])
            masks = self.op("Where", [everything, zero, low]), self.op("Where", [inside, zero, low])
        for i in range(self.o.layers):
            x = self.modern_layer(x, n, i == 0, tables, masks[i % 3 > 0]) if modern else self.bert_layer(x, n)
        self.nodes.append(helper.make_node("ReduceMean", [self.norm(x) if modern else x], ["y"], axes=[1], keepdims=0))
        graph = helper.make_graph(
            self.nodes, "encoder", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, n, self.o.hidden])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, self.o.hidden])], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        return model.SerializeToString()


def measure(options, n, threads):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(Graph(options).model(n), settings, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(2).standard_normal((1, n, options.hidden), dtype=np.float32)
    best, start, runs = float("inf"), time.perf_counter(), 0
    reset_peak()
    while runs < 2 or time.perf_counter() - start < options.seconds:
        begin = time.perf_counter()
        session.run(None, {"x": x})
        took = time.perf_counter() - begin
        best = min(best, took)
        runs += 1
        if took > max(options.seconds, 20):
            break
    return best * 1e3, peak_mb()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("layers", "hidden", "heads", "intermediate", "window", "span", "threads", "max-tokens"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--left", type=float, default=0, help="seconds after which no length begins; 0: none")
    parser.add_argument("--type", choices=("fp32", "int8"), default="fp32")
    options = parser.parse_args()
    begin, latest = time.perf_counter(), {}
    for n in LENGTHS:
        if n > options.max_tokens:
            break
        # Measured: 4.8 times the scores of one layer are alive above the model itself.
        need = 4.8 * options.heads * n * n * 4 + (1 << 30)
        for threads in sorted({1, options.threads}):
            # The next length takes four times as long or, where attention counts, up to sixteen times.
            if options.left and time.perf_counter() - begin + latest.get(threads, 0) * 2 * 12 > options.left:
                continue
            if need > memory_allowed():
                print(n, threads, -1, round(need / (1 << 20)), flush=True)
            else:
                ms, megabytes = measure(options, n, threads)
                latest[threads] = ms / 1e3
                print(n, threads, ms, megabytes, flush=True)


if __name__ == "__main__":
    main()
