/*
 * Cold: every prompt is new to the process. A conversation: 500 tokens more a turn, everything before them
 * was read when it was new. Sizes and the peer take turns; medians of the repeats.
 */
#include "bench/guards.h"

#include "bench/bench.h"
#include "bench/guards_agent.h"
#include "bench/guards_peer.h"
#include "bench/guards_signals.h"
#include "bench/guards_text.h"

#include "base/mem.h"
#include "infer/locate.h"

#include <stdlib.h>
#include <string.h>

#define REPEATS_MAX 31
#define TURN        500u
#define TURNS       32u     /* of 500 tokens: 16K */
#define PEER_TWICE  20000.0 /* ms: what takes longer is measured once */

static const size_t sizes[] = {512, 2048, 8192, 16384, 32768};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

struct options {
    const char *data, *python, *precision;
    int repeats;
    bool json, peer, linear, quick;
};

struct row {
    size_t tokens; /* of the last prompt */
    double all[REPEATS_MAX], each[SR_GUARDS_SIGNALS][REPEATS_MAX], peer[REPEATS_MAX];
    char tier[SR_GUARDS_SIGNALS][24];
    int n, n_peer;
    double need_mb; /* where the peer does not fit */
};

struct bench {
    struct options o;
    struct sr_err err;
    struct sr_guards *guards;
    struct sr_guards_text *texts;
    struct sr_tokenizer *tokenizer;
    struct sr_guards_peer peer;
    struct row rows[N_SIZES];
    size_t n_sizes;
    double turn[REPEATS_MAX * TURNS], conversation[REPEATS_MAX];
    size_t n_turns, turn_tokens;
    int n_conversations;
    struct sr_guards_agent agent;
};

static int read_cold(struct bench *b, size_t i)
{
    struct row *row = &b->rows[i];
    struct sr_guards_time time;
    struct sr_buf prompt;
    sr_buf_init(&prompt, SR_GUARDS_TEXT_MAX);
    int rc = sr_guards_text_make(b->texts, sizes[i], &prompt, &row->tokens);
    struct sr_bytes text = sr_buf_view(&prompt);
    if (rc == SR_OK)
        rc = sr_guards_read(b->guards, &text, 1, &time, &b->err);
    if (rc == SR_OK) {
        row->all[row->n] = time.all;
        for (int s = 0; s < SR_GUARDS_SIGNALS; s++) {
            row->each[s][row->n] = time.each[s];
            memcpy(row->tier[s], time.tier[s], sizeof row->tier[s]);
        }
        row->n++;
    }
    sr_buf_dispose(&prompt);
    return rc;
}

static void ask_peer(struct bench *b, size_t i)
{
    struct row *row = &b->rows[i];
    double megabytes;
    if (!b->peer.pid || sizes[i] > SR_GUARDS_PEER_TOKENS || row->need_mb > 0 ||
        (row->n_peer && row->peer[0] > PEER_TWICE))
        return;
    double ms = sr_guards_peer_ask(&b->peer, sizes[i], &megabytes);
    if (ms > 0)
        row->peer[row->n_peer++] = ms;
    else if (ms < 0)
        row->need_mb = megabytes;
}

/* The last quarter of the turns counts: those of a conversation that is long already. */
static int converse(struct bench *b, size_t turns)
{
    struct sr_buf *parts = sr_mem_calloc(turns, sizeof *parts);
    struct sr_bytes *texts = sr_mem_calloc(turns, sizeof *texts);
    struct sr_guards_time time;
    int rc = parts && texts ? SR_OK : SR_ENOMEM;
    size_t all = 0, made = 0;
    for (size_t i = 0; i < turns && rc == SR_OK; i++) {
        sr_buf_init(&parts[i], SR_GUARDS_TEXT_MAX);
        rc = sr_guards_text_make(b->texts, TURN, &parts[i], &made);
        texts[i] = sr_buf_view(&parts[i]);
        all += made;
        if (rc == SR_OK)
            rc = sr_guards_read(b->guards, texts, i + 1, &time, &b->err);
        if (rc == SR_OK && i >= turns - turns / 4)
            b->turn[b->n_turns++] = time.all;
    }
    b->turn_tokens = all;
    for (size_t i = 0; parts && i < turns; i++)
        sr_buf_dispose(&parts[i]);
    sr_mem_free(parts);
    sr_mem_free(texts);
    return rc;
}

/* The same conversation shape, all of it new: what a router that remembers nothing pays for its last turn. */
static int converse_cold(struct bench *b, size_t turns)
{
    struct sr_buf *parts = sr_mem_calloc(turns, sizeof *parts);
    struct sr_bytes *texts = sr_mem_calloc(turns, sizeof *texts);
    struct sr_guards_time time;
    int rc = parts && texts ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; i < turns && rc == SR_OK; i++) {
        sr_buf_init(&parts[i], SR_GUARDS_TEXT_MAX);
        rc = sr_guards_text_make(b->texts, TURN, &parts[i], NULL);
        texts[i] = sr_buf_view(&parts[i]);
    }
    if (rc == SR_OK)
        rc = sr_guards_read(b->guards, texts, turns, &time, &b->err);
    if (rc == SR_OK)
        b->conversation[b->n_conversations++] = time.all;
    for (size_t i = 0; parts && i < turns; i++)
        sr_buf_dispose(&parts[i]);
    sr_mem_free(parts);
    sr_mem_free(texts);
    return rc;
}

static int measure(struct bench *b)
{
    size_t turns = b->o.quick ? 4 : TURNS;
    struct sr_guards_time time;
    struct sr_bytes first = SR_LIT("The first text opens what is opened late.");
    int rc = sr_guards_read(b->guards, &first, 1, &time, &b->err);
    for (int at = 0; at < b->o.repeats && rc == SR_OK; at++) {
        for (size_t i = 0; i < b->n_sizes && rc == SR_OK; i++) {
            rc = read_cold(b, i);
            ask_peer(b, i);
        }
        if (rc == SR_OK)
            rc = converse_cold(b, turns);
        if (rc == SR_OK)
            rc = converse(b, turns);
    }
    if (rc == SR_OK)
        rc = sr_guards_agent_measure(b->guards, b->texts, b->o.quick ? 3 : SR_GUARDS_AGENT_TURNS, &b->agent,
                                     &b->err);
    return rc;
}

/* ---- reporting ---- */

static double median(double *values, size_t n)
{
    return n ? sr_bench_percentile(values, n, 0.5) : 0;
}

/* Three passes of the peer; where they do not fit, what they take at least: a pass is more than linear. */
static double peer_ms(struct bench *b, size_t i, bool *bound)
{
    *bound = false;
    if (b->rows[i].n_peer)
        return median(b->rows[i].peer, (size_t)b->rows[i].n_peer);
    for (size_t k = i; k-- > 0 && b->rows[i].need_mb > 0;)
        if (b->rows[k].n_peer) {
            *bound = true;
            return median(b->rows[k].peer, (size_t)b->rows[k].n_peer) * (double)sizes[i] / (double)sizes[k];
        }
    return 0;
}

static void peer_cells(struct bench *b, struct sr_bench_table *table, size_t i, double ours)
{
    bool bound;
    double ms = peer_ms(b, i, &bound);
    if (sizes[i] > SR_GUARDS_PEER_TOKENS)
        sr_bench_table_cell(table, "does not fit");
    else if (b->rows[i].need_mb > 0)
        sr_bench_table_cell(table, "needs %.0f GB", b->rows[i].need_mb / 1024);
    else
        sr_bench_table_cell(table, ms > 0 ? "%.0f" : "-", ms);
    if (ms > 0)
        sr_bench_table_cell(table, bound ? "> %.0f x" : "%.0f x", ms / ours);
    else
        sr_bench_table_cell(table, "-");
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void print_table(struct bench *b)
{
    static const char *const titles[] = {"tokens",    "ms, all three", "domain",
                                         "jailbreak", "pii",           "3 x ONNX ms",
                                         "ratio",     "goal",          "tiers: domain, jailbreak, pii"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < b->n_sizes; i++) {
        struct row *row = &b->rows[i];
        double all = median(row->all, (size_t)row->n);
        sr_bench_table_cell(&table, "%zu", row->tokens);
        sr_bench_table_cell(&table, "%.1f", all);
        for (int s = 0; s < SR_GUARDS_SIGNALS; s++)
            sr_bench_table_cell(&table, "%.1f", median(row->each[s], (size_t)row->n));
        peer_cells(b, &table, i, all);
        sr_bench_table_cell(&table, "%s", sizes[i] == 8192 ? "500 x" : "");
        sr_bench_table_cell(&table, "%s, %s, %s", row->tier[0], row->tier[1], row->tier[2]);
    }
    double turn = median(b->turn, b->n_turns), cold = median(b->conversation, (size_t)b->n_conversations);
    printf("%s\nmedians of %d repeats; %s\n\n", sr_bench_machine(), b->o.repeats,
           b->o.precision ? b->o.precision : "default precision");
    sr_bench_table_print(&table, stdout);
    printf("\nconversation of %zu tokens, %u more a turn: %.2f ms a turn, %.1f ms with nothing remembered: "
           "%.3f of "
           "it (goal 0.1)\n",
           b->turn_tokens, TURN, turn, cold, cold > 0 ? turn / cold : 0);
    const struct sr_guards_agent *agent = &b->agent;
    printf(
        "agent with %zu tools of %zu KB: %.1f ms the first turn, %.2f ms a turn of %u tokens; the tools "
        "alone %.1f ms\nwhen they are new and %.2f ms when they are known: %.3f of it, %.3f of a turn (goal "
        "0.1)\n",
        agent->tools, agent->tool_bytes >> 10, agent->first, agent->turn, TURN, agent->first_tools,
        agent->tools_again, share(agent->tools_again, agent->first_tools),
        share(agent->tools_again, agent->turn));
    if (b->o.peer)
        printf(
            "ONNX Runtime fp32, mmBERT-base's shape with random weights, %s; > : where it does not fit, in "
            "proportion to\nthe longest that does, which is less than it would take. Beyond 8K the paper ran "
            "none "
            "either.\n",
            b->peer.why[0] ? b->peer.why
            : b->o.quick   ? "TWO LAYERS ONLY (--quick)"
                           : "three sessions one by one");
}

static void print_json(struct bench *b)
{
    printf("{\"bench\":\"guards\",\"machine\":\"%s\",\"repeats\":%d,\"precision\":\"%s\",\"rows\":[",
           sr_bench_machine(), b->o.repeats, b->o.precision ? b->o.precision : "default");
    for (size_t i = 0; i < b->n_sizes; i++) {
        struct row *row = &b->rows[i];
        bool bound;
        double all = median(row->all, (size_t)row->n), peer = peer_ms(b, i, &bound);
        printf("%s{\"tokens\":%zu,\"ms\":%.3f,\"domain_ms\":%.3f,\"jailbreak_ms\":%.3f,\"pii_ms\":%.3f,"
               "\"tiers\":[\"%s\",\"%s\",\"%s\"],",
               i ? "," : "", row->tokens, all, median(row->each[0], (size_t)row->n),
               median(row->each[1], (size_t)row->n), median(row->each[2], (size_t)row->n), row->tier[0],
               row->tier[1], row->tier[2]);
        if (peer > 0)
            printf("\"peer_ms\":%.1f,\"peer_is\":\"%s\",\"ratio\":%.1f}", peer,
                   bound ? "at least" : "measured", peer / all);
        else
            printf("\"peer_ms\":null,\"peer_is\":\"%s\",\"ratio\":null}",
                   sizes[i] > SR_GUARDS_PEER_TOKENS || row->need_mb > 0 ? "does not fit" : "not there");
    }
    double turn = median(b->turn, b->n_turns), cold = median(b->conversation, (size_t)b->n_conversations);
    printf("],\"conversation\":{\"tokens\":%zu,\"turn_ms\":%.3f,\"cold_ms\":%.3f,\"share\":%.4f},",
           b->turn_tokens, turn, cold, share(turn, cold));
    const struct sr_guards_agent *agent = &b->agent;
    printf("\"agent\":{\"tools\":%zu,\"tool_bytes\":%zu,\"first_ms\":%.3f,\"turn_ms\":%.3f,"
           "\"tools_new_ms\":%.3f,\"tools_known_ms\":%.3f,\"share_of_new\":%.4f,\"share_of_turn\":%.4f},",
           agent->tools, agent->tool_bytes, agent->first, agent->turn, agent->first_tools, agent->tools_again,
           share(agent->tools_again, agent->first_tools), share(agent->tools_again, agent->turn));
    printf("\"goals\":{\"ratio_8192\":500,\"share\":0.1,\"agent_share\":0.1},\"quick\":%s}\n",
           b->o.quick ? "true" : "false");
}

/* ---- the command ---- */

static int usage(FILE *out)
{
    fprintf(
        out,
        "semroute bench guards [--json] [--repeats N] [--precision fp32|bf16|int8] [--linear] [--data DIR]\n"
        "                      [--no-peer] [--python PATH] [--quick]\n"
        "  Milliseconds for domain, jailbreak and pii over whole prompts that were never seen before, and "
        "for a "
        "turn of a\n  growing conversation; beside ONNX Runtime with three classifiers of mmBERT-base's "
        "shape.\n"
        "  DIR holds longdocs-opensourceguide/docs.jsonl; else a sample inside the program. --linear: "
        "without the "
        "neural.\n  --quick: short texts once, and two layers of the peer; to see that it works.\n");
    return out == stdout ? 0 : 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--json"))
            o->json = true;
        else if (!strcmp(argv[i], "--no-peer"))
            o->peer = false;
        else if (!strcmp(argv[i], "--linear"))
            o->linear = true;
        else if (!strcmp(argv[i], "--quick"))
            o->quick = true;
        else if (!strcmp(argv[i], "--data") && more)
            o->data = argv[++i];
        else if (!strcmp(argv[i], "--python") && more)
            o->python = argv[++i];
        else if (!strcmp(argv[i], "--precision") && more)
            o->precision = argv[++i];
        else if (!strcmp(argv[i], "--repeats") && more)
            o->repeats = atoi(argv[++i]);
        else
            return false;
    }
    if (o->quick)
        o->repeats = 1;
    return o->repeats >= 1 && o->repeats <= REPEATS_MAX;
}

static int open_texts(struct bench *b)
{
    struct sr_tokenizer *tokenizer = NULL;
    char folder[SR_LOCATE_MAX], path[SR_LOCATE_MAX + sizeof "/tokenizer.json"];
    struct sr_err err = {0};
    if (sr_locate_model(folder, NULL, &err) == SR_OK) {
        snprintf(path, sizeof path, "%s/tokenizer.json", folder);
        if (sr_tokenizer_open_file(&tokenizer, path, &err))
            tokenizer = NULL;
    }
    int rc = sr_guards_text_new(&b->texts, b->o.data, tokenizer);
    b->tokenizer = tokenizer;
    return rc;
}

int sr_bench_guards(int argc, char **argv)
{
    static struct bench b;
    b = (struct bench){.o = {.python = "bench/.venv/bin/python", .repeats = 5, .peer = true}};
    if (!read_options(argc, argv, &b.o)) {
        bool help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
        return usage(help ? stdout : stderr);
    }
    b.n_sizes = b.o.quick ? 2 : N_SIZES;
    int rc = open_texts(&b);
    struct sr_guards_options options = {.precision = b.o.precision, .linear = b.o.linear};
    if (rc == SR_OK)
        rc = sr_guards_new(&b.guards, &options, &b.err);
    if (rc == SR_OK && b.o.peer && sr_guards_peer_start(&b.peer, b.o.python, b.o.quick))
        fprintf(stderr, "semroute bench guards: no peer: %s\n", b.peer.why);
    if (rc == SR_OK)
        rc = measure(&b);
    if (rc)
        fprintf(stderr, "semroute bench guards: %s%s\n", b.err.message[0] ? b.err.message : sr_strerror(rc),
                rc == SR_ENOENT && b.err.message[0] ? "; --linear measures the linear tier alone" : "");
    else
        (b.o.json ? print_json : print_table)(&b);
    sr_guards_peer_stop(&b.peer);
    sr_guards_free(b.guards);
    sr_guards_text_free(b.texts);
    sr_tokenizer_unref(b.tokenizer);
    return rc ? 3 : 0;
}
