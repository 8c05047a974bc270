/* The answer guard: reads texts, holds bytes and reports findings. check.c runs its signal. */
#include "router/response/guard.h"

#include "router/response/check.h"

#define ARENA_MAX ((size_t)160 << 20)
#define WORDS_MAX ((size_t)64 << 10)

void sr_response_guard_init(struct sr_response_guard *guard)
{
    *guard = (struct sr_response_guard){.kind = ""};
    sr_buf_init(&guard->words, WORDS_MAX);
    sr_arena_init(&guard->check.arena, ARENA_MAX);
}

void sr_response_guard_dispose(struct sr_response_guard *guard)
{
    sr_response_check_cancel(guard);
    sr_response_texts_dispose(&guard->texts);
    sr_buf_dispose(&guard->words);
}

static unsigned guard_wants(void *state, const struct sr_answer_head *head)
{
    struct sr_response_guard *guard = state;
    if (!head->guard)
        return 0;
    guard->plan = *head->guard;
    guard->decision = guard->plan.decision;
    guard->action = guard->decision->plugins.response_jailbreak.action;
    guard->dialect = head->dialect;
    guard->whole = head->mode == SR_ANSWER_JSON;
    guard->unread = head->mode == SR_ANSWER_RAW;
    if (guard->unread)
        return 0;
    bool changes =
        guard->action == SR_RESPONSE_BLOCK || (guard->action == SR_RESPONSE_HEADER && !guard->whole);
    return SR_WANTS_CHANGES | SR_WANTS_TEXTS | (changes ? SR_WANTS_LENGTH : 0);
}

bool sr_response_guard_holds_head(const struct sr_response_guard *guard)
{
    return guard->decision && guard->whole && guard->action != SR_RESPONSE_NONE;
}

double sr_response_guard_coverage(const struct sr_response_guard *guard)
{
    if (!guard->decision)
        return -1;
    if (guard->unread || (guard->whole && guard->passes))
        return 0;
    return guard->texts.all ? (double)guard->read / (double)guard->texts.all : 1;
}

/* ---- events ---- */

static int guard_event(void *state, struct sr_answer_event *event)
{
    struct sr_response_guard *guard = state;
    if (guard->found || guard->passes || guard->unread)
        return SR_OK;
    if (!event->whole)
        guard->texts.all += event->raw.n; /* an event over the maximum */
    else if (event->has_data && !sr_response_texts_add(&guard->texts, event)) {
        if (guard->whole)
            guard->unread = true;
        else if (sr_bytes_starts_with(event->data, SR_LIT("{")))
            guard->texts.all += event->data.n;
    }
    return SR_OK;
}

/* ---- the gate ---- */

/* True when a text was too much to be kept for a check, and nothing was found so far. */
static bool has_lost_text(const struct sr_response_guard *guard)
{
    return !guard->check.run && !guard->found && guard->texts.all > guard->read + guard->texts.fresh;
}

/* Ends a stream in the client's format: every choice ends with a content filter. */
static enum sr_answer_step block(struct sr_response_guard *guard, struct sr_answer_gate *gate)
{
    const struct sr_response_texts *texts = &guard->texts;
    guard->ended = true;
    if (guard->whole)
        return SR_ANSWER_REPLACE;
    struct sr_stream_end end = {.id = texts->id,
                                .model = texts->model,
                                .created = texts->created,
                                .open = texts->choices & ~guard->closed,
                                .code = SR_RESPONSE_BLOCKED_CODE,
                                .at = guard->at};
    sr_buf_clear(&guard->words);
    if (guard->dialect->stream_end(&end, &guard->words) == SR_OK)
        gate->says = sr_buf_view(&guard->words);
    return SR_ANSWER_END;
}

/* Writes an SSE comment, which clients ignore; only between events. */
static void warn(struct sr_response_guard *guard, const struct sr_answer_flow *flow,
                 struct sr_answer_gate *gate)
{
    bool due = guard->found && guard->action == SR_RESPONSE_HEADER && !guard->whole && !guard->told;
    uint64_t goes = gate->holds ? gate->clean : flow->came;
    if (!due || goes == flow->went || !flow->between)
        return;
    sr_buf_clear(&guard->words);
    if (sr_buf_printf(&guard->words, ": x-vsr-response-warnings: response_jailbreak\n\n"))
        return;
    gate->says = sr_buf_view(&guard->words);
    guard->told = true;
}

static void guard_overflow(void *state)
{
    struct sr_response_guard *guard = state;
    guard->passes = true;
    sr_response_check_cancel(guard);
}

static enum sr_answer_step guard_gate(void *state, const struct sr_answer_flow *flow,
                                      struct sr_answer_gate *gate)
{
    struct sr_response_guard *guard = state;
    bool ends = flow->last && !guard->last, ended_unread = guard->unread && guard->last;
    guard->last |= flow->last;
    guard->done |= flow->done;
    if (guard->ended)
        return guard->whole ? SR_ANSWER_REPLACE : SR_ANSWER_END;
    if (!guard->whole && flow->broken)
        guard_overflow(guard);
    if (guard->whole && guard->last && guard->unread && !guard->passes) {
        sr_response_check_failed(guard, SR_EPARSE);
        if (guard->found && guard->action == SR_RESPONSE_BLOCK)
            return block(guard, gate);
    }
    if (guard->passes || ended_unread)
        return SR_ANSWER_GO;
    gate->holds = guard->whole || guard->action == SR_RESPONSE_BLOCK || sr_response_check_is_ending(guard);
    gate->clean = flow->went;
    if (guard->whole && !guard->last)
        return SR_ANSWER_HOLD;
    if (ends && flow->came == 0)
        guard->unread = true;
    sr_response_check_advance(guard, flow->came);
    if (has_lost_text(guard) && guard->decision->plugins.response_jailbreak.on_error == SR_ON_ERROR_MATCH)
        sr_response_check_failed(guard, SR_ELIMIT);
    if (guard->found && guard->action == SR_RESPONSE_BLOCK)
        return block(guard, gate);
    if (guard->last && guard->check.run)
        return SR_ANSWER_WAIT;
    if (guard->clean > flow->went)
        gate->clean = guard->clean;
    warn(guard, flow, gate);
    return SR_ANSWER_GO;
}

const struct sr_answer_stage sr_response_guard_stage = {
    .name = "response_jailbreak",
    .wants = guard_wants,
    .event = guard_event,
    .gate = guard_gate,
    .overflow = guard_overflow,
};
