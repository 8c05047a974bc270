/* Reads the request's tools from the spans, begins the vectors, and makes the plan from their ranks. */
#include "router/tools/choose.h"

#include "base/clock.h"
#include "router/toolbox/history.h"

#include <string.h>

#define QUESTION_MAX 1024u /* bytes of the question and of a tool that the encoder reads: a window */

bool sr_tools_asked(const struct sr_config *config, const struct sr_config_plugins *plugins)
{
    return plugins->tool_selection.set || sr_tools_fill(config, plugins) ||
           (plugins->tools.set && plugins->tools.mode != SR_TOOLS_PASSTHROUGH);
}

/* ---- the request's tools ---- */

/* The last text of this kind inside a span; empty: there is none. */
static struct sr_bytes text_in(const struct sr_request *doc, uint32_t span, uint16_t id,
                               struct sr_arena *arena)
{
    struct sr_bytes text = SR_LIT("");
    for (size_t i = span + 1; i < doc->n_spans && doc->spans[i].start < doc->spans[span].end; i++)
        if (doc->spans[i].id == id && doc->spans[i].kind == SR_JSON_STRING)
            text = sr_span_text(&doc->spans[i], doc->body, arena);
    return text;
}

static bool is_own(const struct sr_request *doc, const struct sr_span *span)
{
    return span->id == SR_AT_TOOL && span->parent != SR_SPAN_NONE &&
           doc->spans[span->parent].kind == SR_JSON_ARRAY;
}

static int read_own(struct sr_tool_choice *choice)
{
    const struct sr_request *doc = choice->in.doc;
    struct sr_tool_plan *plan = &choice->plan;
    size_t n = 0;
    for (size_t i = 0; i < doc->n_spans; i++) {
        n += is_own(doc, &doc->spans[i]);
        if (doc->spans[i].id == SR_AT_TOOLS && sr_request_is_top(&doc->spans[i]))
            plan->list = (uint32_t)i;
    }
    plan->own = sr_arena_calloc(choice->in.arena, n + 1, sizeof *plan->own);
    choice->tools = sr_arena_calloc(choice->in.arena, n + 1, sizeof *choice->tools);
    if (!plan->own || !choice->tools)
        return SR_ENOMEM;
    for (size_t i = 0; i < doc->n_spans; i++) {
        if (!is_own(doc, &doc->spans[i]))
            continue;
        struct sr_bytes name = text_in(doc, (uint32_t)i, SR_AT_TOOL_NAME, choice->in.arena);
        if (!name.n) /* a tool of the API itself */
            name = text_in(doc, (uint32_t)i, SR_AT_TYPE, choice->in.arena);
        choice->tools[plan->n_own].name = name;
        plan->own[plan->n_own++] = (struct sr_tool_own){(uint32_t)i, doc->spans[i].parent, false};
    }
    return SR_OK;
}

static uint32_t tool_choice_of(const struct sr_request *doc)
{
    for (size_t i = doc->n_spans; i > 0; i--)
        if (doc->spans[i - 1].id == SR_AT_TOOL_CHOICE && sr_request_is_top(&doc->spans[i - 1]))
            return (uint32_t)i - 1;
    return SR_SPAN_NONE;
}

/* May the model choose? A client that names a tool, or none, or demands one, has its way. */
static bool is_auto(const struct sr_tool_choice *choice)
{
    const struct sr_request *doc = choice->in.doc;
    uint32_t at = tool_choice_of(doc);
    if (at == SR_SPAN_NONE)
        return choice->plan.n_own != 0;
    if (doc->spans[at].kind == SR_JSON_OBJECT && doc->dialect->tool_form == SR_TOOL_FORM_SCHEMA)
        return sr_bytes_contains(sr_span_raw(&doc->spans[at], doc->body), SR_LIT("\"auto\""));
    return doc->spans[at].kind == SR_JSON_STRING &&
           sr_bytes_eq(sr_span_text(&doc->spans[at], doc->body, choice->in.arena), SR_LIT("auto"));
}

static void drop(struct sr_tool_plan *plan, size_t at)
{
    plan->n_dropped += !plan->own[at].drop;
    plan->own[at].drop = true;
}

/* Is this name a word of the value of `tool_choice`? Its shape differs by dialect. */
static bool is_named(const struct sr_tool_choice *choice, struct sr_bytes name)
{
    uint32_t at = tool_choice_of(choice->in.doc);
    if (at == SR_SPAN_NONE || choice->in.doc->spans[at].kind != SR_JSON_OBJECT || !name.n)
        return false;
    struct sr_bytes raw = sr_span_raw(&choice->in.doc->spans[at], choice->in.doc->body);
    for (size_t i = 1; i + name.n + 1 <= raw.n; i++)
        if (raw.p[i - 1] == '"' && raw.p[i + name.n] == '"' && memcmp(raw.p + i, name.p, name.n) == 0)
            return true;
    return false;
}

static void apply_lists(struct sr_tool_choice *choice)
{
    const struct sr_config_plugins *plugins = choice->in.plugins;
    if (!plugins->tools.set || plugins->tools.mode != SR_TOOLS_FILTERED)
        return;
    for (size_t i = 0; i < choice->plan.n_own; i++) {
        struct sr_bytes name = choice->tools[i].name;
        if (sr_tool_is_allowed(name, &plugins->tools.allow, &plugins->tools.block))
            continue;
        drop(&choice->plan, i);
        choice->plan.retargets |= is_named(choice, name);
    }
}

/* ---- vectors ---- */

static bool filters(const struct sr_tool_choice *choice)
{
    const struct sr_config_plugins *plugins = choice->in.plugins;
    return plugins->tool_selection.set && plugins->tool_selection.mode == SR_TOOL_SELECTION_FILTER;
}

/* The database that this request gets tools of; NULL: none. */
static const struct sr_tool_database *database_of(const struct sr_tool_choice *choice)
{
    const struct sr_config_plugins *plugins = choice->in.plugins;
    if (plugins->tool_selection.set)
        return filters(choice) ? NULL : sr_toolbox_find(choice->in.box, plugins->tool_selection.choice.file);
    if (choice->plan.n_own || !sr_tools_fill(choice->in.config, plugins))
        return NULL;
    return sr_toolbox_find(choice->in.box, choice->in.config->global.tools.file);
}

static bool all_ended(const struct sr_tool_choice *choice)
{
    bool ended = !choice->question || sr_recall_vector_ended(choice->question);
    for (size_t i = 0; choice->vectors && i < choice->plan.n_own && ended; i++)
        ended = !choice->vectors[i] || sr_recall_vector_ended(choice->vectors[i]);
    return ended;
}

static void vector_done(void *ctx)
{
    struct sr_tool_choice *choice = ctx;
    if (!choice->waits || !all_ended(choice))
        return;
    choice->waits = false;
    choice->done(choice->ctx);
}

static struct sr_bytes cut(struct sr_bytes text)
{
    if (text.n <= QUESTION_MAX)
        return text;
    text.n = QUESTION_MAX;
    while (text.n > 0 && ((unsigned char)text.p[text.n] & 0xc0) == 0x80)
        text.n--;
    return text;
}

static struct sr_recall_vector *begin_vector(struct sr_tool_choice *choice, struct sr_bytes text)
{
    return sr_recall_vector_new(choice->in.box->reader, text, choice->in.client, &choice->in.origin,
                                choice->in.mailbox, vector_done, choice);
}

/* The words and the vector of each tool that is still there. */
static int begin_own(struct sr_tool_choice *choice)
{
    const struct sr_tool_choice_in *in = &choice->in;
    choice->vectors = sr_arena_calloc(in->arena, choice->plan.n_own + 1, sizeof(struct sr_recall_vector *));
    if (!choice->vectors)
        return SR_ENOMEM;
    for (size_t i = 0; i < choice->plan.n_own; i++) {
        struct sr_tool *tool = &choice->tools[i];
        struct sr_bytes texts[2] = {
            tool->name, text_in(in->doc, choice->plan.own[i].span, SR_AT_TOOL_DESCRIPTION, in->arena)};
        if (choice->plan.own[i].drop || !tool->name.n)
            continue;
        struct sr_bytes text = sr_tool_text(texts[0], texts[1], in->arena);
        if (!text.p || sr_tool_words(texts, 2, in->arena, &tool->words) ||
            sr_tool_words(texts, 1, in->arena, &tool->name_words))
            return SR_ENOMEM;
        choice->vectors[i] = begin_vector(choice, cut(text));
    }
    return SR_OK;
}

static const char *begin_question(struct sr_tool_choice *choice)
{
    const struct sr_tool_choice_in *in = &choice->in;
    struct sr_complaint complaint;
    uint64_t total;
    if (!in->box || !in->box->reader)
        return "no_encoder";
    if (!in->mailbox)
        return "cannot_wait";
    if (!is_auto(choice))
        return "tool_choice";
    if (filters(choice) && choice->plan.n_own > SR_TOOLS_OWN_MAX)
        return "too_many_tools";
    if (!filters(choice) && !database_of(choice))
        return "no_database";
    if (!sr_request_check_shape(in->doc, &complaint))
        return "no_text";
    choice->text = cut(sr_request_text(in->doc, in->arena, &total));
    if (!choice->text.p || !choice->text.n)
        return "no_text";
    choice->question = begin_vector(choice, choice->text);
    return choice->question ? NULL : "busy";
}

int sr_tool_choice_begin(struct sr_tool_choice *choice, const struct sr_tool_choice_in *in)
{
    const struct sr_config_plugins *plugins = in->plugins;
    choice->in = *in;
    choice->begun = true;
    choice->started_ns = sr_clock_ns();
    choice->deadline_ns = choice->started_ns + in->config->global.signal_deadline_ms * SR_NS_PER_MS;
    choice->plan = (struct sr_tool_plan){.list = SR_SPAN_NONE};
    int rc = read_own(choice);
    if (rc)
        return rc;
    if (plugins->tools.set && plugins->tools.mode == SR_TOOLS_NONE) {
        choice->plan.remove_all = true;
        choice->plan.strip_history = plugins->tools.strip_history;
        return SR_OK;
    }
    apply_lists(choice);
    if (!plugins->tool_selection.set && !sr_tools_fill(in->config, plugins))
        return SR_OK;
    choice->plan.why_not = begin_question(choice);
    if (!choice->question)
        return SR_OK;
    if (filters(choice) && begin_own(choice))
        return SR_ENOMEM;
    choice->waits = !all_ended(choice);
    return choice->waits ? SR_AGAIN : SR_OK;
}

/* ---- the plan ---- */

static const struct sr_config_tools *settings_of(const struct sr_tool_choice *choice)
{
    return choice->in.plugins->tool_selection.set ? &choice->in.plugins->tool_selection.choice
                                                  : &choice->in.config->global.tools;
}

/* The latest calls of the conversation, the newest first: the order of the body is that of the calls. */
static void read_calls(const struct sr_tool_choice *choice, struct sr_tool_calls *calls)
{
    const struct sr_request *doc = choice->in.doc;
    size_t most = (size_t)choice->in.plugins->tools.history.window;
    calls->n = 0;
    for (size_t i = doc->n_spans; i > 0 && calls->n < most && calls->n < SR_TOOL_CALLS_MAX; i--) {
        const struct sr_span *span = &doc->spans[i - 1];
        if (span->id != SR_AT_CALL_NAME || span->kind != SR_JSON_STRING)
            continue;
        struct sr_bytes name = sr_span_text(span, doc->body, choice->in.arena);
        if (name.p && name.n)
            calls->names[calls->n++] = name;
    }
}

static int rank(const struct sr_tool_choice *choice, const struct sr_tool_set *set,
                const struct sr_tool_question *question, struct sr_tool_rank **ranks, size_t *n_ranks)
{
    const struct sr_config_tool_history *history = &choice->in.plugins->tools.history;
    struct sr_tool_calls calls;
    int rc = sr_tools_rank(set, question, settings_of(choice), choice->in.arena, ranks, n_ranks);
    if (rc || !history->on)
        return rc;
    read_calls(choice, &calls);
    sr_tools_rank_history(set, question, &calls, history, *ranks, *n_ranks);
    return SR_OK;
}

/* Compares the request's tools with the question; those that do not fit go. Tools without a vector stay. */
static int filter_own(struct sr_tool_choice *choice, const struct sr_tool_question *question)
{
    const struct sr_config_plugins *plugins = choice->in.plugins;
    struct sr_arena *arena = choice->in.arena;
    struct sr_tool_plan *plan = &choice->plan;
    size_t d = sr_embedding_reader_dimensions(choice->in.box->reader), n = 0, n_ranks;
    struct sr_tool *tools = sr_arena_calloc(arena, plan->n_own + 1, sizeof *tools);
    float *vectors = sr_arena_calloc(arena, plan->n_own + 1, d * sizeof *vectors);
    size_t *of = sr_arena_calloc(arena, plan->n_own + 1, sizeof *of);
    struct sr_tool_rank *ranks;
    if (!tools || !vectors || !of)
        return SR_ENOMEM;
    for (size_t i = 0; i < plan->n_own; i++) {
        const float *vector = choice->vectors[i] ? sr_recall_vector_unit(choice->vectors[i]) : NULL;
        if (!vector)
            continue;
        memcpy(vectors + n * d, vector, d * sizeof *vectors);
        tools[n] = choice->tools[i];
        of[n++] = i;
    }
    struct sr_tool_set set = {tools, n, vectors, d};
    if (rank(choice, &set, question, &ranks, &n_ranks))
        return SR_ENOMEM;
    bool *stays = sr_arena_calloc(arena, n + 1, sizeof *stays);
    if (!stays)
        return SR_ENOMEM;
    for (size_t k = 0; k < n_ranks; k++) {
        stays[ranks[k].at] = (double)ranks[k].similarity >= plugins->tool_selection.relevance ||
                             k < (size_t)plugins->tool_selection.preserve;
        if (stays[ranks[k].at] && ranks[k].similarity > plan->best)
            plan->best = ranks[k].similarity;
    }
    for (size_t k = 0; k < n; k++)
        if (!stays[k])
            drop(plan, of[k]);
    return SR_OK;
}

/* Does a tool of the request that stays have this name? */
static bool has_own(const struct sr_tool_choice *choice, struct sr_bytes name)
{
    for (size_t i = 0; i < choice->plan.n_own; i++)
        if (!choice->plan.own[i].drop && sr_bytes_eq(choice->tools[i].name, name))
            return true;
    return false;
}

static int add_tools(struct sr_tool_choice *choice, const struct sr_tool_database *database,
                     const struct sr_tool_question *question)
{
    const struct sr_config_tools *settings = settings_of(choice);
    const struct sr_config_plugins *plugins = choice->in.plugins;
    struct sr_tool_plan *plan = &choice->plan;
    struct sr_tool_rank *ranks;
    size_t n_ranks, most = (size_t)settings->top_k;
    struct sr_bytes *add = sr_arena_calloc(choice->in.arena, most + 1, sizeof *add);
    if (!add || rank(choice, &database->set, question, &ranks, &n_ranks))
        return SR_ENOMEM;
    bool listed = plugins->tools.set && plugins->tools.mode == SR_TOOLS_FILTERED;
    for (size_t i = 0; i < n_ranks && plan->n_add < most; i++) {
        const struct sr_tool *tool = &database->set.tools[ranks[i].at];
        if ((double)ranks[i].similarity < settings->threshold || has_own(choice, tool->name) ||
            (listed && !sr_tool_is_allowed(tool->name, &plugins->tools.allow, &plugins->tools.block)))
            continue;
        if (ranks[i].similarity > plan->best)
            plan->best = ranks[i].similarity;
        add[plan->n_add++] = tool->json;
    }
    plan->add = add;
    return SR_OK;
}

int sr_tool_choice_end(struct sr_tool_choice *choice, struct sr_bytes category, double confidence)
{
    const float *vector = choice->question ? sr_recall_vector_unit(choice->question) : NULL;
    const struct sr_tool_database *database = database_of(choice);
    choice->waits = false;
    choice->plan.empty_list = !settings_of(choice)->empty;
    choice->ended_ns = sr_clock_ns();
    if (!choice->question)
        return SR_OK;
    if (!vector) {
        choice->plan.why_not = "late";
        return SR_OK;
    }
    struct sr_tool_question question = {.vector = vector,
                                        .map = choice->in.box->map,
                                        .category = category,
                                        .category_confidence = confidence};
    int rc = sr_tool_words(&choice->text, 1, choice->in.arena, &question.words);
    if (!rc)
        rc = filters(choice) ? filter_own(choice, &question) : add_tools(choice, database, &question);
    choice->ended_ns = sr_clock_ns();
    return rc;
}

void sr_tool_choice_dispose(struct sr_tool_choice *choice)
{
    choice->waits = false;
    sr_recall_vector_free(choice->question);
    for (size_t i = 0; choice->vectors && i < choice->plan.n_own; i++)
        sr_recall_vector_free(choice->vectors[i]);
    choice->question = NULL;
    choice->vectors = NULL;
}
