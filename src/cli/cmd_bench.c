/*
 * semroute bench: finds the measurement by name; the measurements themselves are in bench/.
 */
#include "cli/cmd.h"

#include "bench/cache.h"
#include "bench/classify.h"
#include "bench/compress.h"
#include "bench/concurrency.h"
#include "bench/decide.h"
#include "bench/dialect.h"
#include "bench/encoder.h"
#include "bench/extproc.h"
#include "bench/gateway.h"
#include "bench/guards.h"
#include "bench/isolation.h"
#include "bench/observe.h"
#include "bench/paper.h"
#include "bench/plot.h"
#include "bench/pool.h"
#include "bench/pool_pick.h"
#include "bench/scan.h"
#include "bench/signals.h"
#include "bench/start.h"
#include "bench/tokenizer.h"
#include "bench/tools.h"

/* Name, and what it measures. */
#define BENCHES(X)                                                                                           \
    X(scan, "the JSON scanner and splices by body size, beside jansson")                                     \
    X(classify, "the linear classifier by text size")                                                        \
    X(decide, "signals without a model, and decisions")                                                      \
    X(dialect, "translating requests, answers and events between the APIs of clients and upstreams")         \
    X(compress, "the prompt compressor by text and size")                                                    \
    X(tokenizer, "tokens and offsets of a text, beside Hugging Face tokenizers")                             \
    X(concurrency, "texts a second through the encoder for many clients, with batches and without")          \
    X(pick, "picking a worker of a pool for a long prompt, by policy")                                       \
    X(signals, "what each signal adds to the pass of the trunk that they share")                             \
    X(tools, "choosing from a tool database when the question's vector is there")                            \
    X(start, "from the start of the server to its first answer, and its memory, with an encoder")            \
    X(encoder, "whole passes of encoders, beside the machine's floor and ONNX Runtime")                      \
    X(gateway, "what the gateway adds to a request, beside a plain proxy")                                   \
    X(extproc, "what the external processor adds to a request through Envoy")                                \
    X(observe, "what tracing costs, sampled and not, and an open live page, beside nothing of it")           \
    X(isolation, "small requests beside clients with long prompts, and the server's memory")                 \
    X(cache, "lookups in the cache's vector index by size, beside hnswlib, FAISS and Milvus; exact hits")    \
    X(guards, "domain, jailbreak and pii over whole prompts, beside ONNX Runtime")                           \
    X(pool, "policies that pick a worker, over engines with prefix caches, beside vllm-router")              \
    X(paper, "the tables of the paper, on this machine")                                                     \
    X(plot, "a picture (SVG) of what another measurement says with --json")

#define ENTRY(name, summary) {#name, summary, sr_bench_##name},
#define WORD(name, summary)  #name "|"
#define LINE(name, summary)  #name ": " summary "\n"

static const struct {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} benches[] = {BENCHES(ENTRY)};
#define N_BENCHES (sizeof benches / sizeof benches[0])

const struct sr_usage sr_bench_usage = {
    .name = "bench",
    .synopsis = "NAME [--json]",
    .summary = "Measures speed on this machine, beside a peer or the machine's limit.",
    .text = BENCHES(LINE) "`semroute bench NAME --help` shows a measurement's options.\n",
    .words = BENCHES(WORD),
};

static void print_benches(FILE *out)
{
    fprintf(out, "semroute bench NAME [--json]\n  Measures speed on this machine, beside a peer or the "
                 "machine's limit."
                 "\n\nNames\n");
    for (size_t i = 0; i < N_BENCHES; i++)
        fprintf(out, "  %-11s %s\n", benches[i].name, benches[i].summary);
    fprintf(out, "\n`semroute bench NAME --help` shows a measurement's options.\n");
}

int sr_cmd_bench(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < N_BENCHES; i++)
        if (strcmp(benches[i].name, name) == 0)
            return benches[i].run(argc - 1, argv + 1);
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    if (argc > 1 && !help)
        fprintf(stderr, "semroute bench: there is no measurement `%.60s`\n\n", name);
    print_benches(help ? stdout : stderr);
    return help ? SR_EXIT_DONE : SR_EXIT_USAGE;
}
