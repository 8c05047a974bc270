/* A check covers all texts so far. When it ends, all bytes that had arrived when it began may go. */
#include "router/response/check.h"

#include "base/clock.h"
#include "router/refusal.h"

#define INLINE_BYTES ((size_t)32 << 10) /* as of requests */

/* Bytes of new text of a stream that are classified together: few at the beginning with `block`, because
 * events wait for it. */
#define STEP_FIRST ((size_t)64)
#define STEP_BLOCK ((size_t)512)
#define STEP_PASS  ((size_t)1024)

void sr_response_check_cancel(struct sr_response_guard *guard)
{
    if (guard->check.run)
        sr_signal_run_dispose(guard->check.run);
    guard->check.run = NULL;
    guard->check.deadline_ns = 0;
    sr_arena_dispose(&guard->check.arena);
}

void sr_response_check_failed(struct sr_response_guard *guard, int status)
{
    guard->status = status;
    if (guard->decision->plugins.response_jailbreak.on_error != SR_ON_ERROR_MATCH)
        return;
    guard->found = true;
    guard->kind = SR_CODE_CLASSIFICATION_ERROR;
}

static void check_finish(struct sr_response_guard *guard)
{
    const struct sr_signal_result *result = sr_signal_run_result(guard->check.run, SR_SIGNAL_JAILBREAK);
    int status = !result ? SR_ENOMEM : result->status ? result->status : result->n_hits ? SR_OK : SR_ENOENT;
    if (status) {
        sr_response_check_failed(guard, status);
    } else {
        guard->read += guard->check.fresh;
        if (result->hits[0].confidence > guard->risk) {
            bool named = result->n_findings && result->findings[0].type < result->n_labels;
            guard->risk = result->hits[0].confidence;
            guard->kind = named ? result->labels[result->findings[0].type] : "jailbreak";
        }
    }
    sr_response_check_cancel(guard);
    guard->found |= guard->risk >= guard->plan.threshold;
    if (guard->found)
        return;
    guard->clean = guard->check.came;
    guard->closed = guard->check.finished;
    guard->at = guard->check.at;
}

/* Runs on the owner's thread, through the mailbox. */
static void check_done(void *ctx, enum sr_signal_type type)
{
    struct sr_response_guard *guard = ctx;
    (void)type;
    check_finish(guard);
    guard->plan.ready(guard->plan.ctx);
}

static int make_run(struct sr_response_guard *guard)
{
    const struct sr_response_guard_plan *plan = &guard->plan;
    struct sr_signal_env env = {.inline_bytes = INLINE_BYTES};
    struct sr_signal_unit_list units;
    int rc = sr_response_texts_units(&guard->texts, &guard->check.arena, &units);
    if (rc)
        return rc;
    struct sr_signal_input *input = sr_signal_input_new(SR_LIT(""), 0);
    rc = input ? sr_signal_input_add_units(input, &units, plan->tenant) : SR_ENOMEM;
    if (!rc && plan->env->post && plan->env->answer_ready) {
        rc = *plan->mailbox ? SR_OK : sr_mailbox_new(plan->mailbox, plan->env->post, plan->env->ctx);
        env.workers = sr_runtime_workers(plan->runtime);
        env.mailbox = *plan->mailbox;
    }
    if (!rc)
        rc = sr_signal_run_new(&guard->check.run, plan->signals, input, env, &guard->check.arena);
    sr_signal_input_unref(input);
    return rc;
}

/* Begins a check of all texts that were not classified. A check that cannot begin counts as failed. */
static void check_begin(struct sr_response_guard *guard, uint64_t came)
{
    size_t step = guard->action == SR_RESPONSE_BLOCK ? STEP_BLOCK : STEP_PASS;
    int rc = make_run(guard);
    uint64_t bytes = guard->texts.fresh;
    guard->check.fresh = guard->texts.fresh;
    guard->check.came = came;
    guard->check.finished = guard->texts.finished;
    guard->check.at = guard->texts.at;
    sr_response_texts_taken(&guard->texts, SR_RESPONSE_WINDOW - step);
    if (rc) {
        sr_response_check_failed(guard, rc);
        sr_response_check_cancel(guard);
        return;
    }
    uint64_t allowed = sr_config_signal_deadline_ms(guard->plan.config, bytes);
    guard->check.deadline_ns = allowed ? sr_clock_ns() + allowed * SR_NS_PER_MS : 0;
    rc = sr_signal_run_start(guard->check.run, SR_SIGNAL_JAILBREAK, check_done, guard);
    if (rc == SR_AGAIN)
        return;
    check_finish(guard);
}

bool sr_response_check_is_ending(const struct sr_response_guard *guard)
{
    return guard->last || (guard->done && guard->action != SR_RESPONSE_NONE);
}

static size_t step_of(const struct sr_response_guard *guard)
{
    if (guard->action != SR_RESPONSE_BLOCK)
        return STEP_PASS;
    uint64_t so_far = guard->texts.all - guard->texts.fresh;
    return so_far < STEP_FIRST ? STEP_FIRST : so_far > STEP_BLOCK ? STEP_BLOCK : (size_t)so_far;
}

void sr_response_check_advance(struct sr_response_guard *guard, uint64_t came)
{
    while (!guard->check.run && !guard->found && guard->texts.fresh &&
           (sr_response_check_is_ending(guard) || guard->texts.fresh >= step_of(guard)))
        check_begin(guard, came);
    if (guard->check.run || (guard->texts.fresh && !guard->found))
        return;
    guard->clean = came;
    guard->closed |= guard->found ? 0 : guard->texts.finished;
    guard->at = guard->found ? guard->at : guard->texts.at;
}

void sr_response_guard_timeout(struct sr_response_guard *guard)
{
    if (!guard->check.run)
        return;
    sr_signal_run_expire(guard->check.run);
    check_finish(guard);
}
