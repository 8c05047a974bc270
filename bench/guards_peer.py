#!/usr/bin/env python3
"""ONNX Runtime as the paper's baseline: three classifiers of mmBERT-base's shape, one session at a time.

`semroute bench guards` and `semroute bench paper` write a number of tokens to its input and read a line back: tokens,
milliseconds of three passes, and megabytes at the peak; -1 milliseconds where a pass would not fit into the memory
that is there. A session is made once for each length (bench/onnx_encoder.py makes the graph).
"""
import argparse
import gc
import sys
import time
import types

import numpy as np
import onnxruntime

import onnx_encoder

PASSES = 3
WARM = 2048  # a first pass of longer texts takes minutes, and changes little
SHAPE = {"layers": 22, "hidden": 768, "heads": 12, "intermediate": 1152, "window": 64, "type": "fp32"}


def open_session(shape, tokens, threads):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    settings.log_severity_level = 3
    model = onnx_encoder.Graph(shape).model(tokens)
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    if tokens <= WARM:
        session.run(None, {"x": np.zeros((1, tokens, shape.hidden), np.float32)})
    return session


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--layers", type=int, default=SHAPE["layers"])
    options = parser.parse_args()
    shape = types.SimpleNamespace(**{**SHAPE, "layers": options.layers})
    random, sessions = np.random.default_rng(2), {}
    for line in sys.stdin:
        tokens = int(line)
        # Measured: 4.8 times the scores of one layer are alive above the model itself.
        need = 4.8 * shape.heads * tokens * tokens * 4 + (1 << 30)
        if tokens not in sessions and need > onnx_encoder.memory_allowed():
            sessions.clear()  # what shorter texts hold
            gc.collect()
        if tokens not in sessions and need > onnx_encoder.memory_allowed():
            print(tokens, -1, round(need / (1 << 20)), flush=True)
            continue
        if tokens not in sessions:
            sessions[tokens] = open_session(shape, tokens, options.threads)
        x = random.standard_normal((1, tokens, shape.hidden), dtype=np.float32)
        onnx_encoder.reset_peak()
        begin = time.perf_counter()
        for _ in range(PASSES):
            sessions[tokens].run(None, {"x": x})
        print(tokens, (time.perf_counter() - begin) * 1e3, round(onnx_encoder.peak_mb()), flush=True)


if __name__ == "__main__":
    main()
