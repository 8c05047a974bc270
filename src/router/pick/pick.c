/* The text of the vector is the one that signals read, cut to one window: the beginning says what a long one
 * is about. */
#include "router/pick/pick.h"

#include "base/clock.h"

static bool is_pending(const struct sr_pick *pick)
{
    return (pick->vector && !sr_recall_vector_ended(pick->vector)) || (pick->tokens && !pick->tokens->ended);
}

static void one_done(void *ctx)
{
    struct sr_pick *pick = ctx;
    if (!pick->waits || is_pending(pick))
        return;
    pick->waits = false;
    pick->done(pick->ctx);
}

static void await(struct sr_pick *pick, uint64_t ns)
{
    uint64_t until = sr_clock_ns() + ns;
    pick->waits = is_pending(pick);
    pick->deadline_ns = until > pick->deadline_ns ? until : pick->deadline_ns;
}

static struct sr_bytes text_of(const struct sr_request *doc, struct sr_arena *arena)
{
    struct sr_complaint complaint;
    uint64_t total;
    if (!sr_request_check_shape(doc, &complaint))
        return SR_LIT("");
    struct sr_bytes text = sr_request_text(doc, arena, &total);
    if (text.p && text.n > SR_PICK_TEXT_MAX) {
        text.n = SR_PICK_TEXT_MAX;
        while (text.n > 0 && ((unsigned char)text.p[text.n] & 0xc0) == 0x80)
            text.n--;
    }
    return text.p ? text : SR_LIT("");
}

void sr_pick_vector_begin(struct sr_pick *pick, struct sr_embedding_reader *reader,
                          const struct sr_request *doc, uint64_t client, const struct sr_span_ref *origin,
                          uint64_t wait_ns, struct sr_mailbox *mailbox, struct sr_arena *arena)
{
    struct sr_bytes text = text_of(doc, arena);
    if (!text.n)
        return;
    pick->vector = sr_recall_vector_new(reader, text, client, origin, mailbox, one_done, pick);
    await(pick, wait_ns);
}

void sr_pick_tokens_begin(struct sr_pick *pick, struct sr_tokens *tokens,
                          const struct sr_token_question *question, struct sr_workers *workers,
                          uint64_t wait_ns, struct sr_mailbox *mailbox)
{
    pick->tokens = sr_tokens_ask(tokens, question, workers, wait_ns ? mailbox : NULL, one_done, pick);
    if (pick->tokens)
        await(pick, wait_ns);
}

void sr_pick_go_on(struct sr_pick *pick)
{
    pick->asked = true;
    pick->waits = false;
}

const float *sr_pick_vector(const struct sr_pick *pick)
{
    return pick->vector && sr_recall_vector_ended(pick->vector) ? sr_recall_vector_unit(pick->vector) : NULL;
}

const uint64_t *sr_pick_tokens(const struct sr_pick *pick, size_t *n)
{
    bool there = pick->tokens && pick->tokens->ended;
    *n = there ? pick->tokens->n_kv : 0;
    return there ? pick->tokens->kv : NULL;
}

void sr_pick_dispose(struct sr_pick *pick)
{
    sr_recall_vector_free(pick->vector);
    sr_token_job_leave(pick->tokens);
    pick->vector = NULL;
    pick->tokens = NULL;
    pick->waits = false;
}
