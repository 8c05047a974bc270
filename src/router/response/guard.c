/*
 * One reading at a time. What the client does not have is held in one buffer, of which a prefix is `clean`:
 * a reading covers all texts so far, so when it ends everything that was held when it began may go.
 */
#include "router/response/guard.h"

#include "base/clock.h"
#include "router/exchange.h"
#include "router/reply/reply.h"
#include "router/route/bridge.h"

#define INLINE_BYTES ((size_t)32 << 10) /* as of requests */
#define ARENA_MAX    ((size_t)160 << 20)
#define WORDS_MAX    ((size_t)64 << 10)
#define BLOCKED_CODE "response_jailbreak_blocked"

/* New text of a stream that is read at once: with `block` soon after its beginning, as events wait for it. */
#define STEP_FIRST ((size_t)64)
#define STEP_BLOCK ((size_t)512)
#define STEP_PASS  ((size_t)1024)

void sr_response_guard_init(struct sr_response_guard *guard)
{
    *guard = (struct sr_response_guard){.kind = ""};
    sr_response_texts_init(&guard->texts, NULL);
    sr_buf_init(&guard->held, SR_RESPONSE_HELD_MAX);
    sr_buf_init(&guard->words, WORDS_MAX);
    sr_arena_init(&guard->reading.arena, ARENA_MAX);
}

static void drop_reading(struct sr_response_guard *guard)
{
    if (guard->reading.run)
        sr_signal_run_dispose(guard->reading.run);
    guard->reading.run = NULL;
    guard->reading.deadline_ns = 0;
    sr_arena_dispose(&guard->reading.arena);
}

void sr_response_guard_dispose(struct sr_response_guard *guard)
{
    drop_reading(guard);
    sr_response_texts_dispose(&guard->texts);
    sr_buf_dispose(&guard->held);
    sr_buf_dispose(&guard->words);
}

/* ---- whether ---- */

/* The plugin of the decision that routed the request, else that of its guard. */
static const struct sr_config_decision *plugin_of(const sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    const struct sr_config_decision *routed = sr_exchange_decision(x);
    if (routed && routed->plugins.response_jailbreak.set)
        return routed;
    const struct sr_config_decision *guard =
        x->guard.decision >= 0 ? &config->decisions[x->guard.decision] : NULL;
    return guard && guard->plugins.response_jailbreak.set ? guard : NULL;
}

void sr_response_guard_begin(sr_exchange *x)
{
    struct sr_response_guard *guard = &x->answer.guard;
    guard->decision = plugin_of(x);
    if (!guard->decision)
        return;
    double threshold = guard->decision->plugins.response_jailbreak.threshold;
    guard->action = guard->decision->plugins.response_jailbreak.action;
    guard->threshold = (float)(threshold > 0 ? threshold : x->router->config->global.jailbreak_threshold);
    guard->whole = x->answer.mode == SR_ANSWER_JSON;
    guard->unread = x->answer.mode == SR_ANSWER_RAW;
    sr_response_texts_init(&guard->texts, x->router->response_paths);
}

bool sr_response_guard_changes(const struct sr_response_guard *guard)
{
    return sr_response_guard_reads(guard) && guard->action != SR_RESPONSE_NONE &&
           (!guard->whole || guard->action == SR_RESPONSE_BLOCK);
}

double sr_response_guard_coverage(const struct sr_response_guard *guard)
{
    if (!guard->decision)
        return -1;
    if (guard->unread || (guard->whole && guard->passes))
        return 0;
    return guard->texts.all ? (double)guard->read / (double)guard->texts.all : 1;
}

/* ---- readings ---- */

static void finish_reading(sr_exchange *x)
{
    struct sr_response_guard *guard = &x->answer.guard;
    const struct sr_signal_result *result = sr_signal_run_result(guard->reading.run, SR_SIGNAL_JAILBREAK);
    int status = !result ? SR_ENOMEM : result->status ? result->status : result->n_hits ? SR_OK : SR_ENOENT;
    if (status) {
        guard->status = status;
    } else {
        guard->read += guard->reading.fresh;
        if (result->hits[0].confidence > guard->risk) {
            bool named = result->n_finds && result->finds[0].type < result->n_labels;
            guard->risk = result->hits[0].confidence;
            guard->kind = named ? result->labels[result->finds[0].type] : "jailbreak";
        }
    }
    drop_reading(guard);
    if (!guard->found && guard->risk >= guard->threshold) {
        guard->found = true;
        sr_exchange_answer_finding(x);
    }
    if (guard->found)
        return;
    guard->clean = guard->reading.held;
    guard->closed = guard->reading.finished;
}

/* Owner's thread, through the mailbox. */
static void reading_done(void *ctx, enum sr_signal_type type)
{
    sr_exchange *x = ctx;
    (void)type;
    finish_reading(x);
    x->env.answer_ready(x->env.ctx, x);
}

static int make_run(sr_exchange *x)
{
    struct sr_response_guard *guard = &x->answer.guard;
    struct sr_signals *signals = sr_readers_signals(x->router->readers, SR_SIGNAL_JAILBREAK);
    struct sr_signal_env env = {.inline_bytes = INLINE_BYTES};
    struct sr_signal_turn *turns;
    size_t n;
    int rc = sr_response_texts_turns(&guard->texts, &guard->reading.arena, &turns, &n);
    if (rc)
        return rc;
    struct sr_signal_input *input = sr_signal_input_new(SR_LIT(""), 0);
    rc = input ? sr_signal_input_add_turns(input, turns, n, x->identity.tenant) : SR_ENOMEM;
    if (!rc && x->env.post && x->env.answer_ready) {
        rc = x->bridge ? SR_OK : sr_bridge_new(&x->bridge, &x->env);
        env.workers = sr_runtime_workers(x->runtime);
        env.mailbox = rc ? NULL : sr_bridge_mailbox(x->bridge);
    }
    if (!rc)
        rc = sr_signal_run_new(&guard->reading.run, signals, input, env, &guard->reading.arena);
    sr_signal_input_unref(input);
    return rc;
}

/* Reads all that was not read. What cannot be begun counts as read in vain. */
static void begin_reading(sr_exchange *x)
{
    struct sr_response_guard *guard = &x->answer.guard;
    size_t step = guard->action == SR_RESPONSE_BLOCK ? STEP_BLOCK : STEP_PASS;
    int rc = make_run(x);
    guard->reading.fresh = guard->texts.fresh;
    guard->reading.held = guard->held.len;
    guard->reading.finished = guard->texts.finished;
    sr_response_texts_taken(&guard->texts, SR_RESPONSE_WINDOW - step);
    if (rc) {
        guard->status = rc;
        drop_reading(guard);
        return;
    }
    uint64_t allowed = x->router->config->global.signal_deadline_ms;
    guard->reading.deadline_ns = allowed ? sr_clock_ns() + allowed * SR_NS_PER_MS : 0;
    if (x->bridge)
        sr_bridge_expect(x->bridge);
    rc = sr_signal_run_start(guard->reading.run, SR_SIGNAL_JAILBREAK, reading_done, x);
    if (rc == SR_AGAIN)
        return;
    if (x->bridge)
        sr_bridge_unexpect(x->bridge);
    finish_reading(x);
}

/* The client waits for what is read now. */
static bool is_ending(const sr_exchange *x)
{
    const struct sr_response_guard *guard = &x->answer.guard;
    return guard->last || (x->answer.saw_done && guard->action != SR_RESPONSE_NONE);
}

static size_t step_of(const struct sr_response_guard *guard)
{
    if (guard->action != SR_RESPONSE_BLOCK)
        return STEP_PASS;
    uint64_t so_far = guard->texts.all - guard->texts.fresh;
    return so_far < STEP_FIRST ? STEP_FIRST : so_far > STEP_BLOCK ? STEP_BLOCK : (size_t)so_far;
}

static void advance(sr_exchange *x)
{
    struct sr_response_guard *guard = &x->answer.guard;
    while (!guard->reading.run && !guard->found && guard->texts.fresh &&
           (is_ending(x) || guard->texts.fresh >= step_of(guard)))
        begin_reading(x);
    if (guard->reading.run || (guard->texts.fresh && !guard->found))
        return;
    guard->clean = guard->held.len;
    guard->closed |= guard->found ? 0 : guard->texts.finished;
}

void sr_response_guard_give_up(sr_exchange *x)
{
    struct sr_response_guard *guard = &x->answer.guard;
    if (!guard->reading.run)
        return;
    sr_signal_run_settle(guard->reading.run);
    sr_signal_run_cancel(guard->reading.run, SR_ETIMEOUT);
    finish_reading(x);
}

/* ---- what the client gets ---- */

/* The end of a stream in the form that the client reads: every choice stops because of what it says. */
static int put_ending(const sr_exchange *x, struct sr_buf *out)
{
    const struct sr_response_texts *texts = &x->answer.guard.texts;
    struct sr_stream_end end = {.id = texts->id,
                                .model = texts->model,
                                .created = texts->created,
                                .open = texts->choices & ~x->answer.guard.closed,
                                .code = BLOCKED_CODE};
    return x->doc.dialect->stream_end(&end, out);
}

static enum sr_answer_step block(sr_exchange *x, size_t *n_slices)
{
    struct sr_response_guard *guard = &x->answer.guard;
    *n_slices = 0;
    guard->ended = true;
    sr_buf_clear(&guard->held);
    x->error_reason = "jailbreak_block";
    x->error_code = BLOCKED_CODE;
    if (guard->whole) {
        sr_reply_error(
            x, (struct sr_error_reply){403, "invalid_request_error", BLOCKED_CODE, NULL, true, "error"},
            "The answer was blocked: it looks like the result of an attack on the model (type: %s, "
            "confidence: %.3f).",
            guard->kind, (double)guard->risk);
        return SR_ANSWER_REPLACE;
    }
    x->verdict.outcome = SR_OUTCOME_BLOCKED;
    x->answer.saw_done = true;
    sr_buf_clear(&guard->words);
    if (put_ending(x, &guard->words) == SR_OK)
        x->answer.slices[(*n_slices)++] = sr_buf_view(&guard->words);
    return SR_ANSWER_END;
}

/* A comment, which no reader of events gives to its program; between events only. */
static void warn(sr_exchange *x, size_t *n_slices)
{
    struct sr_response_guard *guard = &x->answer.guard;
    struct sr_answer *a = &x->answer;
    bool due = guard->found && guard->action == SR_RESPONSE_HEADER && !guard->whole && !guard->told;
    if (!due || *n_slices == 0 || a->frames.oversized)
        return;
    sr_buf_clear(&guard->words);
    if (sr_buf_printf(&guard->words, ": x-vsr-response-warnings: response_jailbreak\n\n"))
        return;
    memmove(a->slices + 1, a->slices, *n_slices * sizeof *a->slices);
    a->slices[0] = sr_buf_view(&guard->words);
    (*n_slices)++;
    guard->told = true;
}

/* No room to hold more: from here on everything passes, what is held first. */
static void let_pass(sr_exchange *x, size_t *n_slices)
{
    struct sr_response_guard *guard = &x->answer.guard;
    struct sr_answer *a = &x->answer;
    guard->passes = true;
    drop_reading(guard);
    if (!guard->held.len)
        return;
    memmove(a->slices + 1, a->slices, *n_slices * sizeof *a->slices);
    a->slices[0] = sr_buf_view(&guard->held);
    (*n_slices)++;
    guard->given = guard->held.len;
}

/* Moves the slices to what is held. False: it has no room, they stay as they are. */
static bool hold(sr_exchange *x, size_t *n_slices)
{
    struct sr_response_guard *guard = &x->answer.guard;
    size_t before = guard->held.len;
    for (size_t i = 0; i < *n_slices; i++) {
        if (sr_buf_append_bytes(&guard->held, x->answer.slices[i])) {
            guard->held.len = before;
            return false;
        }
    }
    *n_slices = 0;
    return true;
}

static void forget_given(struct sr_response_guard *guard)
{
    size_t n = guard->given;
    guard->given = 0;
    sr_buf_consume(&guard->held, n);
    guard->clean -= n < guard->clean ? n : guard->clean;
    guard->reading.held -= n < guard->reading.held ? n : guard->reading.held;
}

static void give(sr_exchange *x, size_t *n_slices)
{
    struct sr_response_guard *guard = &x->answer.guard;
    guard->given = guard->clean;
    if (guard->clean)
        x->answer.slices[(*n_slices)++] = sr_bytes_of(guard->held.data, guard->clean);
}

void sr_response_guard_event(sr_exchange *x, const struct sr_sse_frame *frame)
{
    struct sr_response_guard *guard = &x->answer.guard;
    if (guard->found || guard->passes)
        return;
    if (!frame->whole)
        guard->texts.all += frame->raw.n; /* an event over the maximum */
    else if (frame->has_data && !sr_response_texts_add(&guard->texts, frame->data, &x->answer.scratch) &&
             sr_bytes_starts_with(frame->data, SR_LIT("{")))
        guard->texts.all += frame->data.n;
}

enum sr_answer_step sr_response_guard_pass(sr_exchange *x, bool last, size_t *n_slices)
{
    struct sr_response_guard *guard = &x->answer.guard;
    forget_given(guard);
    guard->any |= *n_slices > 0;
    bool first_last = last && !guard->last;
    guard->last |= last;
    if (guard->ended) {
        *n_slices = 0;
        return guard->whole ? SR_ANSWER_REPLACE : SR_ANSWER_END;
    }
    if (guard->passes)
        return SR_ANSWER_GO;
    bool holds = guard->whole || guard->action == SR_RESPONSE_BLOCK || is_ending(x);
    if ((holds && !hold(x, n_slices)) || (!guard->whole && x->answer.mode == SR_ANSWER_RAW)) {
        let_pass(x, n_slices);
        return SR_ANSWER_GO;
    }
    if (guard->whole && !guard->last)
        return SR_ANSWER_HOLD;
    if (first_last && !guard->any)
        guard->unread = true;
    else if (first_last && guard->whole)
        guard->unread =
            !sr_response_texts_add(&guard->texts, sr_buf_view(&guard->held), &guard->reading.arena);
    advance(x);
    if (guard->found && guard->action == SR_RESPONSE_BLOCK)
        return block(x, n_slices);
    if (guard->last && guard->reading.run)
        return SR_ANSWER_WAIT;
    give(x, n_slices);
    warn(x, n_slices);
    return SR_ANSWER_GO;
}
