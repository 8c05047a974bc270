#!/usr/bin/env python3
"""hnswlib or FAISS on the vectors of `semroute bench cache`: cache_peer.py NAME FD VECTORS DIMENSION QUESTIONS.

FD is shared memory: vectors, questions, the nearest vector of each question, and room for the nanoseconds of each.
It reads commands from its input and answers with numbers:
  ready                      -> 1
  build N THREADS CANDIDATES -> seconds, bytes of memory; candidates of an insertion
  tune RECALL                -> candidates, their recall, microseconds of a call on an index of one vector
  search                     -> 1; the times are in the shared memory
"""
import gc
import mmap
import sys
import time

import numpy as np

LINKS = 16       # M: at most twice as many on the lowest level, as the index has
CANDIDATES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)


class Hnswlib:
    def __init__(self, vectors, threads, build_with):
        import hnswlib
        self.index = hnswlib.Index(space="ip", dim=vectors.shape[1])
        self.index.init_index(max_elements=len(vectors), ef_construction=build_with, M=LINKS)
        self.index.add_items(vectors, num_threads=threads)
        self.index.set_num_threads(1)

    def candidates(self, n):
        self.index.set_ef(n)

    def nearest(self, question):
        return self.index.knn_query(question, k=1, num_threads=1)[0][0, 0]


class Faiss:
    def __init__(self, vectors, threads, build_with):
        import faiss
        faiss.omp_set_num_threads(threads)
        self.index = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = build_with
        self.index.add(vectors)
        faiss.omp_set_num_threads(1)

    def candidates(self, n):
        self.index.hnsw.efSearch = n

    def nearest(self, question):
        return self.index.search(question, 1)[1][0, 0]


def own_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:"))


def search(index, questions, times=None):
    found = np.empty(len(questions), np.uint64)
    for i in range(len(questions)):
        begin = time.perf_counter_ns()
        nearest = index.nearest(questions[i:i + 1])
        if times is not None:
            times[i] = time.perf_counter_ns() - begin
        found[i] = nearest
    return found


def call_us(kind, questions):
    index, times = kind(questions[:1], 1, LINKS), np.empty(len(questions), np.uint64)
    search(index, questions, times)
    return float(np.median(times)) / 1e3


def tune(index, recall, questions, truth):
    for n in CANDIDATES:
        index.candidates(n)
        got = float(np.mean(search(index, questions) == truth))
        if got >= recall:
            break
    return n, got


def main():
    kind = {"hnswlib": Hnswlib, "faiss": Faiss}[sys.argv[1]]
    fd, n, dimension, n_questions = map(int, sys.argv[2:])
    shared, at, index = mmap.mmap(fd, 0), 0, None
    arrays = []
    for rows, width, kind_of in ((n, dimension, np.float32), (n_questions, dimension, np.float32),
                                 (n_questions, 1, np.uint64), (n_questions, 1, np.uint64)):
        arrays.append(np.frombuffer(shared, kind_of, rows * width, at).reshape(rows, width))
        at += arrays[-1].nbytes
    vectors, questions, truth, times = arrays[0], arrays[1], arrays[2][:, 0], arrays[3][:, 0]
    kind(questions[:1], 1, LINKS)  # fails here where the library is not installed
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "build":
            index = None
            gc.collect()
            before, begin = own_memory(), time.perf_counter()
            index = kind(vectors[:int(numbers[0])], int(numbers[1]), int(numbers[2]))
            print(time.perf_counter() - begin, own_memory() - before, flush=True)
        elif command == "tune":
            print(*tune(index, float(numbers[0]), questions, truth), call_us(kind, questions), flush=True)
        else:
            if command == "search":
                search(index, questions, times)
            print(1, flush=True)


if __name__ == "__main__":
    main()
