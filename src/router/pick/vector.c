/* The text that signals read, cut to one window: the beginning says what a long one is about. */
#include "router/pick/vector.h"

#include "base/clock.h"

static void vector_done(void *ctx)
{
    struct sr_pick *pick = ctx;
    if (!pick->waits)
        return;
    pick->waits = false;
    pick->done(pick->ctx);
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

bool sr_pick_begin(struct sr_pick *pick, struct sr_embedding_reader *reader, const struct sr_request *doc,
                   uint64_t client, struct sr_mailbox *mailbox, struct sr_arena *arena)
{
    if (pick->asked)
        return false;
    pick->asked = true;
    struct sr_bytes text = text_of(doc, arena);
    if (!text.n)
        return false;
    pick->vector = sr_recall_vector_new(reader, text, client, mailbox, vector_done, pick);
    pick->waits = pick->vector && !sr_recall_vector_ended(pick->vector);
    pick->deadline_ns = sr_clock_ns() + SR_PICK_WAIT_NS;
    return pick->waits;
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

void sr_pick_dispose(struct sr_pick *pick)
{
    sr_recall_vector_free(pick->vector);
    pick->vector = NULL;
    pick->waits = false;
}
