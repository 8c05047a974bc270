/*
 * Times the rank of all tools of a database for one question, on one thread: the map, the cosines, the words,
 * the sort. Beside it, taken in turns, one read of all the vectors: the floor of any way that looks at each
 * tool.
 */
#include "bench/tools.h"

#include "base/mem.h"
#include "bench/bench.h"
#include "bench/options.h"
#include "router/toolbox/rank.h"

#include <math.h>
#include <string.h>

#define D         384u
#define ROWS      3u
#define ARENA_MAX ((size_t)64 << 20)
#define NAME_SIZE 32u

static const char *const words[] = {"weather", "city",   "price", "company", "email", "flight",
                                    "hotel",   "music",  "text",  "search",  "order", "account",
                                    "image",   "report", "query", "calendar"};

struct row {
    struct sr_tool_set set;
    struct sr_tool_question question;
    struct sr_arena made, used; /* the set's, and a request's */
    float *vectors;
    struct sr_bench_subject subjects[2];
};

static uint64_t run_rank(void *ctx)
{
    struct row *row = ctx;
    const struct sr_config_tools settings = {.top_k = 3};
    struct sr_tool_rank *ranks;
    size_t n;
    sr_arena_reset(&row->used);
    if (sr_tools_rank(&row->set, &row->question, &settings, &row->used, &ranks, &n))
        return 0;
    return (uint64_t)ranks[0].at + 1;
}

/* Whole numbers: the compiler may add them in any order. */
static uint64_t run_read(void *ctx)
{
    const struct row *row = ctx;
    const char *p = (const char *)row->vectors;
    uint64_t sum = 1, word;
    for (size_t i = 0; i < row->set.n * D * sizeof(float); i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        sum += word;
    }
    return sum ? sum : 1;
}

static void fill_vector(float *vector, uint64_t *state)
{
    float squares = 0;
    for (size_t i = 0; i < D; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        vector[i] = (float)(int32_t)(*state >> 32) / 2147483648.0f;
        squares += vector[i] * vector[i];
    }
    for (size_t i = 0; i < D; i++)
        vector[i] /= sqrtf(squares);
}

static int fill_tool(struct row *row, struct sr_tool *tool, size_t number)
{
    const size_t n = sizeof words / sizeof words[0];
    char *name = sr_arena_printf(&row->made, "get_%s_%zu", words[number % n], number);
    char *description = sr_arena_printf(&row->made, "Find the %s of a %s, or its %s", words[number % n],
                                        words[number / n % n], words[number * 7 % n]);
    if (!name || !description)
        return SR_ENOMEM;
    struct sr_bytes texts[] = {sr_bytes_str(name), sr_bytes_str(description)};
    tool->name = texts[0];
    return sr_tool_words(texts, 2, &row->made, &tool->words);
}

static int row_open(struct row *row, size_t n)
{
    struct sr_bytes asked =
        SR_LIT("What will the weather be in the city where my flight to the hotel lands?");
    struct sr_tool *tools = sr_arena_calloc(&row->made, n, sizeof *tools);
    float *vector = sr_arena_calloc(&row->made, D, sizeof *vector);
    uint64_t state = 7;
    row->vectors = sr_mem_calloc(n, D * sizeof(float));
    if (!tools || !vector || !row->vectors)
        return SR_ENOMEM;
    fill_vector(vector, &state);
    for (size_t i = 0; i < n; i++) {
        fill_vector(row->vectors + i * D, &state);
        if (fill_tool(row, &tools[i], i))
            return SR_ENOMEM;
    }
    row->set = (struct sr_tool_set){tools, n, row->vectors, D};
    row->question = (struct sr_tool_question){.vector = vector, .map = sr_tool_map_new(D)};
    row->subjects[0] = (struct sr_bench_subject){.name = "rank", .run = run_rank, .ctx = row};
    row->subjects[1] = (struct sr_bench_subject){.name = "read", .run = run_read, .ctx = row};
    return row->question.map ? sr_tool_words(&asked, 1, &row->made, &row->question.words) : SR_ENOMEM;
}

static void row_close(struct row *row)
{
    sr_tool_map_free((struct sr_tool_map *)(uintptr_t)row->question.map);
    sr_mem_free(row->vectors);
    sr_arena_dispose(&row->made);
    sr_arena_dispose(&row->used);
}

static void print_table(const struct row *rows)
{
    static const char *const titles[] = {"tools", "rank us", "10 % us", "read vectors us", "ratio"};
    struct sr_bench_table table;
    sr_bench_table_init(&table, titles, 5);
    for (size_t i = 0; i < ROWS; i++) {
        const struct sr_bench_subject *s = rows[i].subjects;
        sr_bench_table_cell(&table, "%zu", rows[i].set.n);
        sr_bench_table_cell(&table, "%.1f", s[0].median_ns / 1e3);
        sr_bench_table_cell(&table, "%.1f", s[0].low_ns / 1e3);
        sr_bench_table_cell(&table, "%.1f", s[1].median_ns / 1e3);
        sr_bench_table_cell(&table, "%.1f", s[0].median_ns / s[1].median_ns);
    }
    printf("Ranking a tool database for one question whose vector is there; %s\n\n", sr_bench_machine());
    sr_bench_table_print(&table, stdout);
}

static void print_json(const struct row *rows)
{
    printf("{\"bench\":\"tools\",\"machine\":\"%s\",\"threads\":1,\"rows\":[", sr_bench_machine());
    for (size_t i = 0; i < ROWS; i++)
        printf("%s{\"tools\":%zu,\"us\":%.2f,\"read_us\":%.2f}", i ? "," : "", rows[i].set.n,
               rows[i].subjects[0].median_ns / 1e3, rows[i].subjects[1].median_ns / 1e3);
    puts("]}");
}

int sr_bench_tools(int argc, char **argv)
{
    static const size_t sizes[ROWS] = {100, 1000, 10000};
    struct row rows[ROWS] = {{{0}}};
    struct sr_bench_options o = {.name = "tools",
                                 .text = "Ranks databases of 100 to 10,000 tools for one question, beside "
                                         "one read of their vectors; S seconds for each.",
                                 .seconds = 0.5};
    int rc = SR_OK;
    int code = sr_bench_options_read(&o, argc, argv);
    if (code >= 0)
        return code;
    for (size_t i = 0; i < ROWS; i++) {
        sr_arena_init(&rows[i].made, ARENA_MAX);
        sr_arena_init(&rows[i].used, ARENA_MAX);
        if (!rc)
            rc = row_open(&rows[i], sizes[i]);
        if (!rc)
            rc = sr_bench_measure(rows[i].subjects, 2, o.seconds);
    }
    if (rc)
        fprintf(stderr, "semroute bench tools: %s\n", sr_strerror(rc));
    else if (o.json)
        print_json(rows);
    else
        print_table(rows);
    for (size_t i = 0; i < ROWS; i++)
        row_close(&rows[i]);
    return rc ? 3 : 0;
}
