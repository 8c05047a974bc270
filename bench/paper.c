/*
 * Table XI of the paper: what compression to 512 tokens does to classification. Each case of
 * bench/paper_cases.h is classified as it is and compressed, by every type of signal that the configuration
 * has rules for.
 *
 * Results of domain, jailbreak and pii are compared with what was planted. For any other classifier both
 * texts must have the same result. Whether what was planted is still there is counted too.
 */
#include "bench/paper.h"

#include "bench/bench.h"
#include "bench/paper_cases.h"
#include "bench/paper_tables.h"
#include "bench/texts.h"

#include "base/mem.h"
#include "config/load.h"
#include "probe/probe.h"
#include "signal/signal.h"
#include "text/compress/compress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char providers[] = "version: v0.3\n"
                                "providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: "
                                "[{endpoint: '127.0.0.1:1'}]}]}\n"
                                "routing:\n  signals:\n";
static const struct {
    const char *type, *rules;
} shipped[] = {
    {"domain",
     "    domains: [{name: math}, {name: physics}, {name: chemistry}, {name: biology}, {name: law}, {name: "
     "economics},\n      {name: computer science}, {name: history}]\n"},
    {"jailbreak", "    jailbreak: [{name: attack, include_history: true}]\n"},
    {"pii", "    pii: [{name: private, include_history: true}]\n"},
    {"language", "    language: [{name: en}, {name: de}]\n"},
};

/* Texts of any length are put to the neural classifier, however sure the linear tier is. */
static const char everything[] =
    "global: {semroute: {inference: {neural: neural, neural_max_bytes: 0, ask_below: 1}}}\n";
static const char linear_alone[] = "global: {semroute: {inference: {ask_below: 0}}}\n";

struct score {
    size_t right, all;
};

enum text { ORIGINAL, COMPRESSED, TEXTS };

/* What one type of signal said. */
struct classified {
    struct score found[TEXTS][SR_PAPER_POSITIONS]; /* what was planted */
    struct score false_alarm[TEXTS];               /* jailbreak: without an attack */
    struct score same;                             /* of both texts */
    double ns[TEXTS];
    char tier[TEXTS][24]; /* the tier that answered */
    size_t runs;
};

struct tally {
    struct score domain[SR_PAPER_ARTICLES][TEXTS][SR_PAPER_SIZES];
    struct score attack[SR_PAPER_POSITIONS], data[SR_PAPER_POSITIONS]; /* still there */
    struct classified classified[SR_SIGNAL_TYPES];
};

struct bench {
    struct sr_paper_corpus *corpus;
    struct sr_signals *signals[SR_SIGNAL_TYPES]; /* the owner of the rules of a type; NULL: none */
    sr_compressor *compressor;
    struct sr_compress_settings settings;
    struct tally tally;
};

static void add(struct score *score, bool right)
{
    score->right += right;
    score->all++;
}

static bool any_hit(const struct sr_signal_result *r)
{
    for (size_t i = 0; i < r->n_hits; i++)
        if (r->hits[i].matched)
            return true;
    return false;
}

static bool same_hits(const struct sr_signal_result *a, const struct sr_signal_result *b)
{
    for (size_t i = 0; i < a->n_hits && i < b->n_hits; i++)
        if (a->hits[i].matched != b->hits[i].matched)
            return false;
    return a->n_hits == b->n_hits;
}

/* Is a finding in the planted sentence? */
static bool found_in(const struct sr_signal_result *r, struct sr_bytes text, const char *sentence)
{
    size_t start = sr_paper_find(text, sentence), end = start + strlen(sentence);
    for (size_t i = 0; start < text.n && i < r->n_findings; i++)
        if (r->findings[i].start < end && r->findings[i].end > start)
            return true;
    return false;
}

static void neural(struct bench *b, enum sr_signal_type type, const struct sr_paper_case *it,
                   const struct sr_bytes texts[TEXTS], const struct sr_signal_result *results[TEXTS])
{
    const char *name = sr_signal_registry[type]->name;
    struct classified *classified = &b->tally.classified[type];
    for (int t = 0; t < TEXTS; t++) {
        const struct sr_signal_result *r = results[t];
        classified->ns[t] += (double)r->ns;
        if (classified->runs && strcmp(classified->tier[t], r->tier) != 0)
            snprintf(classified->tier[t], sizeof classified->tier[t], "several");
        else
            snprintf(classified->tier[t], sizeof classified->tier[t], "%s", r->tier);
        if (strcmp(name, "domain") == 0)
            add(&b->tally.domain[it->articles][t][it->size],
                r->top >= 0 && strcmp(r->labels[r->top], sr_paper_domains[it->domain]) == 0);
        else if (strcmp(name, "jailbreak") == 0)
            add(it->attack ? &classified->found[t][it->position] : &classified->false_alarm[t], any_hit(r));
        else if (strcmp(name, "pii") == 0 && it->data)
            add(&classified->found[t][it->position], found_in(r, texts[t], it->data));
    }
    bool both_top = results[0]->top >= 0 && results[1]->top >= 0 && strcmp(name, "jailbreak") != 0;
    add(&classified->same, both_top ? results[0]->top == results[1]->top : same_hits(results[0], results[1]));
    classified->runs++;
}

static int run_type(struct bench *b, enum sr_signal_type type, const struct sr_paper_case *it,
                    const struct sr_bytes texts[TEXTS])
{
    const struct sr_signal_result *results[TEXTS] = {NULL, NULL};
    struct sr_signal_run *runs[TEXTS] = {NULL, NULL};
    struct sr_arena arena;
    int rc = SR_OK;
    sr_arena_init(&arena, (size_t)256 << 20);
    for (int t = 0; t < TEXTS && rc == SR_OK; t++) {
        struct sr_signal_input *input = sr_signal_input_new(texts[t], texts[t].n);
        rc = input ? sr_signal_run_new(&runs[t], b->signals[type], input, (struct sr_signal_env){0}, &arena)
                   : SR_ENOMEM;
        sr_signal_input_unref(input);
        if (rc == SR_OK)
            rc = sr_signal_run_start(runs[t], type, NULL, NULL);
        if (rc == SR_OK) {
            results[t] = sr_signal_run_result(runs[t], type);
            rc = results[t]->status;
        }
    }
    if (rc == SR_OK)
        neural(b, type, it, texts, results);
    for (int t = 0; t < TEXTS; t++)
        if (runs[t])
            sr_signal_run_dispose(runs[t]);
    sr_arena_dispose(&arena);
    return rc;
}

static int run_case(struct bench *b, size_t i, struct sr_buf *prompt, struct sr_buf *brief)
{
    struct sr_paper_case it;
    struct sr_compress_result result;
    int rc = sr_paper_case_make(b->corpus, i, prompt, &it);
    if (rc == SR_OK)
        rc = sr_compress_text(b->compressor, &b->settings, it.text, &result);
    sr_buf_clear(brief);
    if (rc == SR_OK)
        rc = sr_compress_write(b->compressor, brief);
    const struct sr_bytes texts[TEXTS] = {it.text, sr_buf_view(brief)};
    for (int type = 0; type < SR_SIGNAL_TYPES && rc == SR_OK; type++)
        if (b->signals[type])
            rc = run_type(b, (enum sr_signal_type)type, &it, texts);
    if (rc == SR_OK && it.attack)
        add(&b->tally.attack[it.position], sr_paper_find(texts[COMPRESSED], it.attack) < texts[COMPRESSED].n);
    if (rc == SR_OK && it.data)
        add(&b->tally.data[it.position], sr_paper_find(texts[COMPRESSED], it.data) < texts[COMPRESSED].n);
    return rc;
}

static int run_all(struct bench *b, size_t every)
{
    struct sr_buf prompt, brief;
    sr_buf_init(&prompt, SR_BENCH_TEXT_MAX);
    sr_buf_init(&brief, SR_BENCH_TEXT_MAX);
    int rc = SR_OK;
    bool shows = isatty(STDERR_FILENO) != 0;
    for (size_t i = 0; i < SR_PAPER_CASES && rc == SR_OK; i += every) {
        rc = run_case(b, i, &prompt, &brief);
        if (shows)
            fprintf(stderr, "\r%zu of %d cases ", i + 1, SR_PAPER_CASES);
    }
    if (shows)
        fprintf(stderr, "\r%40s\r", "");
    sr_buf_dispose(&prompt);
    sr_buf_dispose(&brief);
    return rc;
}

/* ---- output ---- */

static struct score sum(const struct score *scores, size_t n)
{
    struct score all = {0, 0};
    for (size_t i = 0; i < n; i++) {
        all.right += scores[i].right;
        all.all += scores[i].all;
    }
    return all;
}

static double share(struct score s)
{
    return s.all ? (double)s.right / (double)s.all : 0;
}

static void row(struct sr_bench_table *table, const char *what, struct score original,
                struct score compressed, const char *paper)
{
    sr_bench_table_cell(table, "%s", what);
    sr_bench_table_cell(table, "%zu", compressed.all);
    if (original.all)
        sr_bench_table_cell(table, "%.1f %%", share(original) * 100);
    else
        sr_bench_table_cell(table, "-");
    sr_bench_table_cell(table, "%.1f %%", share(compressed) * 100);
    sr_bench_table_cell(table, "%s", paper);
}

static void positions(struct sr_bench_table *table, const struct score *original,
                      const struct score *compressed)
{
    for (int i = 0; i < SR_PAPER_POSITIONS; i++) {
        char what[64];
        snprintf(what, sizeof what, "  at the %s", sr_paper_positions[i]);
        row(table, what, original ? original[i] : (struct score){0, 0}, compressed[i], "");
    }
}

static void domain_rows(struct sr_bench_table *table, const struct tally *t)
{
    char what[64];
    for (int a = 0; a < SR_PAPER_ARTICLES; a++) {
        const struct score(*of)[SR_PAPER_SIZES] = t->domain[a];
        snprintf(what, sizeof what, "domain right, articles: %s", sr_paper_articles[a]);
        row(table, what, sum(of[ORIGINAL], SR_PAPER_SIZES), sum(of[COMPRESSED], SR_PAPER_SIZES),
            a ? "-" : "53.1 -> 61.2 %");
        for (int size = 0; size < SR_PAPER_SIZES; size++) {
            snprintf(what, sizeof what, "  %zuK tokens", sr_paper_sizes[size] >> 10);
            row(table, what, of[ORIGINAL][size], of[COMPRESSED][size], "");
        }
    }
}

static void guard_rows(struct sr_bench_table *table, const char *what, const struct classified *j,
                       const char *paper)
{
    if (j->runs == 0)
        return;
    row(table, what, sum(j->found[ORIGINAL], SR_PAPER_POSITIONS),
        sum(j->found[COMPRESSED], SR_PAPER_POSITIONS), paper);
    positions(table, j->found[ORIGINAL], j->found[COMPRESSED]);
    if (j->false_alarm[ORIGINAL].all)
        row(table, "  where there is none", j->false_alarm[ORIGINAL], j->false_alarm[COMPRESSED], "");
}

static const struct classified *classified_by(const struct tally *t, const char *name)
{
    static const struct classified none;
    int type = sr_signal_find_type(sr_bytes_str(name));
    return type < 0 ? &none : &t->classified[type];
}

static void print_table(const struct tally *t)
{
    static const char *const titles[] = {"metric", "n", "original", "compressed", "paper"};
    static struct sr_bench_table table;
    const struct score none = {0, 0};
    char what[64];
    sr_bench_table_init(&table, titles, 5);
    if (classified_by(t, "domain")->runs)
        domain_rows(&table, t);
    guard_rows(&table, "attack found", classified_by(t, "jailbreak"), "70.8 -> 56.6 %");
    row(&table, "attack still there", none, sum(t->attack, SR_PAPER_POSITIONS), "");
    positions(&table, NULL, t->attack);
    guard_rows(&table, "personal data found", classified_by(t, "pii"), "78.5 -> 92.4 %");
    row(&table, "personal data still there", none, sum(t->data, SR_PAPER_POSITIONS), "");
    positions(&table, NULL, t->data);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct classified *j = &t->classified[type];
        if (j->runs == 0)
            continue;
        snprintf(what, sizeof what, "%s says the same of both", sr_signal_registry[type]->name);
        row(&table, what, none, j->same, "");
        snprintf(what, sizeof what, "  us for a text");
        sr_bench_table_cell(&table, "%s", what);
        sr_bench_table_cell(&table, "%zu", j->runs);
        for (int text = 0; text < TEXTS; text++)
            sr_bench_table_cell(&table, "%.0f", j->ns[text] / 1e3 / (double)j->runs);
        sr_bench_table_cell(&table, "%s", "");
        sr_bench_table_cell(&table, "  tier");
        sr_bench_table_cell(&table, "%zu", j->runs);
        for (int text = 0; text < TEXTS; text++)
            sr_bench_table_cell(&table, "%s", j->tier[text]);
        sr_bench_table_cell(&table, "%s", "");
    }
    printf("Table XI: prompts of 2K to 16K tokens, original and compressed to 512 (estimated); %s\n",
           sr_bench_machine());
    sr_bench_table_print(&table, stdout);
    printf(
        "paper: arXiv 2603.12646, mmBERT-32K classifiers, 384 cases. An attack is found when a rule matches, "
        "personal data\nwhen something of the planted sentence is. The router's guards read the original "
        "text. "
        "Articles that are too short\nfor a size are taken again.\n");
}

static void print_pair(const char *name, struct score original, struct score compressed, const char *before)
{
    printf("%s\"%s\":{\"n\":%zu,\"original\":%.4f,\"compressed\":%.4f}", before, name, compressed.all,
           share(original), share(compressed));
}

static void print_json(const struct tally *t)
{
    printf("{\"bench\":\"paper\",\"table\":\"XI\",\"machine\":\"%s\",\"budget\":512,\"domain\":{",
           sr_bench_machine());
    for (int a = 0; a < SR_PAPER_ARTICLES; a++)
        print_pair(sr_paper_articles[a], sum(t->domain[a][ORIGINAL], SR_PAPER_SIZES),
                   sum(t->domain[a][COMPRESSED], SR_PAPER_SIZES), a ? "," : "");
    printf("},\"attack_kept\":%.4f,\"data_kept\":%.4f,\"signals\":{",
           share(sum(t->attack, SR_PAPER_POSITIONS)), share(sum(t->data, SR_PAPER_POSITIONS)));
    const char *before = "";
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct classified *j = &t->classified[type];
        if (j->runs == 0)
            continue;
        printf("%s\"%s\":{\"same\":%.4f,\"us\":[%.1f,%.1f],\"tiers\":[\"%s\",\"%s\"],", before,
               sr_signal_registry[type]->name, share(j->same), j->ns[ORIGINAL] / 1e3 / (double)j->runs,
               j->ns[COMPRESSED] / 1e3 / (double)j->runs, j->tier[ORIGINAL], j->tier[COMPRESSED]);
        print_pair("found", sum(j->found[ORIGINAL], SR_PAPER_POSITIONS),
                   sum(j->found[COMPRESSED], SR_PAPER_POSITIONS), "");
        print_pair("false_alarms", j->false_alarm[ORIGINAL], j->false_alarm[COMPRESSED], ",");
        printf("}");
        before = ",";
    }
    printf("},\"paper\":{\"domain\":[0.531,0.612],\"data_found\":[0.785,0.924],\"attack_found\":[0.708,0.566]"
           "}}\n");
}

/* ---- the command ---- */

static int usage(FILE *out)
{
    fprintf(out,
            "semroute bench paper --table XI --data DIR [-c FILE] [--every N] [--linear] [--json]\n"
            "  Rebuilds a table of arXiv 2603.12646. DIR holds longdocs-opensourceguide/, chat-rag-bills/, "
            "domain-mmlu/,\n  domain-mmlu-pro/ and domain-longfact/ (JSON Lines). The signals are those that "
            "FILE "
            "has rules for, else the\n  shipped domain, jailbreak, pii and language, every text put to the "
            "neural; "
            "--linear: without it. N: only\n  every Nth of %d cases.\n",
            SR_PAPER_CASES);
    return out == stdout ? 0 : 2;
}

static int compile(struct sr_signals **out, const char *name, struct sr_bytes text, struct sr_err *err)
{
    struct sr_problems problems = {0};
    struct sr_load_options options = {.lenient = true, .files = true, .probe = sr_probe_models};
    const struct sr_config *config = NULL;
    int rc = text.p ? sr_config_load_text(&config, text, name, options, &problems)
                    : sr_config_load_file(&config, name, options, &problems);
    if (rc && problems.count)
        sr_err_set(err, rc, "%s:%u: %s", name, problems.items[0].line, problems.items[0].message);
    if (rc == SR_OK) {
        rc = sr_signals_new(out, config, NULL, err);
        sr_config_unref(config);
    }
    sr_problems_dispose(&problems);
    return rc;
}

/* Each type for itself, with a neural classifier of its own, so that none is spared what another has read. */
static int open_shipped(struct bench *b, bool linear, struct sr_err *err)
{
    struct sr_buf text;
    int rc = SR_OK;
    sr_buf_init(&text, 1 << 16);
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0] && rc == SR_OK; i++) {
        int type = sr_signal_find_type(sr_bytes_str(shipped[i].type));
        sr_buf_clear(&text);
        rc = sr_buf_printf(&text, "%s%s%s", providers, shipped[i].rules, linear ? linear_alone : everything);
        if (rc == SR_OK)
            rc = compile(&b->signals[type], shipped[i].type, sr_buf_view(&text), err);
    }
    sr_buf_dispose(&text);
    return rc;
}

static int open_signals(struct bench *b, const char *file, bool linear, struct sr_err *err)
{
    struct sr_signals *signals = NULL;
    if (!file)
        return open_shipped(b, linear, err);
    int rc = compile(&signals, file, (struct sr_bytes){NULL, 0}, err);
    for (int type = 0; type < SR_SIGNAL_TYPES && rc == SR_OK; type++)
        if (sr_signals_rules(signals, (enum sr_signal_type)type))
            b->signals[type] = sr_signals_ref(signals);
    sr_signals_unref(signals);
    return rc;
}

struct options {
    const char *table, *folder, *config;
    size_t every;
    bool json, linear;
};

/* False: a mistake, or only help was wanted. */
static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[i], "--linear") == 0)
            o->linear = true;
        else if (strcmp(argv[i], "--table") == 0 && i + 1 < argc)
            o->table = argv[++i];
        else if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
            o->folder = argv[++i];
        else if (strcmp(argv[i], "-c") == 0 && i + 1 < argc)
            o->config = argv[++i];
        else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o->every = (size_t)atoi(argv[++i]);
        else
            return false;
    return o->table && strcmp(o->table, "XI") == 0 && o->folder;
}

static bool is_about_quality(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--table") == 0 && strcmp(argv[i + 1], "XI") == 0)
            return true;
    return false;
}

int sr_bench_paper(int argc, char **argv)
{
    static struct bench b;
    struct options o = {.every = 1};
    if (!is_about_quality(argc, argv))
        return sr_bench_paper_tables(argc, argv);
    if (!read_options(argc, argv, &o)) {
        bool help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
        return usage(help ? stdout : stderr);
    }
    struct sr_err err = {0};
    sr_compress_profile(SR_LIT("default"), &b.settings);
    int rc = sr_paper_corpus_new(&b.corpus, o.folder);
    if (rc)
        sr_err_set(&err, rc, "%s does not hold the texts that --help names: %s", o.folder, sr_strerror(rc));
    if (rc == SR_OK)
        rc = open_signals(&b, o.config, o.linear, &err);
    if (rc == SR_OK)
        rc = sr_compressor_new(&b.compressor, SR_COMPRESS_TEXT_MAX);
    if (rc == SR_OK)
        rc = run_all(&b, o.every);
    if (rc)
        fprintf(stderr, "semroute bench paper: %s\n", err.message[0] ? err.message : sr_strerror(rc));
    else if (o.json)
        print_json(&b.tally);
    else
        print_table(&b.tally);
    sr_compressor_free(b.compressor);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        sr_signals_unref(b.signals[type]);
    sr_paper_corpus_free(b.corpus);
    return rc ? 3 : 0;
}
