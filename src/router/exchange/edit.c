/* The phases that make the body which is sent: as it came, or edited. */
#include "router/exchange/edit.h"

#include "base/clock.h"
#include "router/exchange/record.h"
#include "router/exchange/reply.h"

int sr_exchange_edit_inputs(const sr_exchange *x, struct sr_edit_inputs *in)
{
    const struct sr_guard *guard = &x->routing.guard;
    *in = (struct sr_edit_inputs){
        .router = x->router,
        .doc = &x->body.doc,
        .root_open = sr_scan_root_open(x->body.scan),
        .model = x->record.model,
        .choice = &x->record.choice,
        .decision = sr_record_decision(&x->record, x->router->config),
        .effort = x->record.effort,
        .named = x->named,
        .hides_usage = !x->head.skip && !x->head.answer_unseen,
        .tools = x->tools.begun ? &x->tools.plan : NULL,
        .units = &guard->units,
    };
    return sr_guard_redactions(guard, &in->redactions, &in->n_redactions);
}

static enum sr_phase_step whole(sr_exchange *x)
{
    struct sr_bytes *slice = sr_arena_alloc(&x->arena, sizeof *slice);
    if (!slice) {
        sr_exchange_refuse_memory(x);
        return SR_PHASE_SETTLED;
    }
    *slice = sr_buf_view(&x->body.bytes);
    x->sending = (struct sr_sending){slice, slice->n ? 1 : 0, slice->n};
    return SR_PHASE_NEXT;
}

const struct sr_phase sr_phase_whole = {.begin = whole};

static enum sr_phase_step edit(sr_exchange *x)
{
    uint64_t start = sr_clock_ns();
    struct sr_edit_inputs in;
    int rc = sr_exchange_edit_inputs(x, &in);
    if (!rc)
        rc = sr_edit_body(&in, &x->arena, &x->edited);
    x->record.times.edit_ns = sr_clock_ns() - start;
    sr_exchange_note_edits(x);
    if (rc == SR_ECONFLICT || rc == SR_ELIMIT) {
        struct sr_refusal refusal;
        sr_refuse(&refusal, 400, "too_complex", NULL, "%s",
                  rc == SR_ELIMIT ? "the request has too many members to be edited"
                                  : "the request has members of which two edits overlap");
        sr_exchange_refuse(x, &refusal);
        return SR_PHASE_SETTLED;
    }
    if (rc) {
        sr_exchange_refuse_memory(x);
        return SR_PHASE_SETTLED;
    }
    x->sending = (struct sr_sending){x->edited.slices, x->edited.n_slices, x->edited.size};
    return SR_PHASE_NEXT;
}

/* The document that was edited, in one run. SR_ENOMEM. */
static int join(sr_exchange *x, struct sr_bytes *json)
{
    const struct sr_sending *s = &x->sending;
    char *all = sr_arena_alloc(&x->arena, s->size + 1);
    size_t n = 0;
    for (size_t i = 0; all && i < s->n; i++) {
        memcpy(all + n, s->slices[i].p, s->slices[i].n);
        n += s->slices[i].n;
    }
    *json = (struct sr_bytes){all, n};
    return all ? SR_OK : SR_ENOMEM;
}

static enum sr_phase_step upload(sr_exchange *x)
{
    struct sr_bytes json;
    struct sr_sending sending = {.n = 0};
    if (!sr_body_is_upload(&x->body))
        return SR_PHASE_NEXT;
    int rc = join(x, &json);
    if (!rc)
        rc = sr_upload_write(&x->body.upload, json, &x->arena, &sending.slices, &sending.n);
    if (rc == SR_ENOMEM) {
        sr_exchange_refuse_memory(x);
        return SR_PHASE_SETTLED;
    }
    if (rc) {
        struct sr_refusal refusal;
        sr_refuse(&refusal, 400, "invalid_form", NULL,
                  "the multipart body cannot hold what was edited in it");
        sr_exchange_refuse(x, &refusal);
        return SR_PHASE_SETTLED;
    }
    for (size_t i = 0; i < sending.n; i++)
        sending.size += sending.slices[i].n;
    x->sending = sending;
    return SR_PHASE_NEXT;
}

const struct sr_phase sr_phase_upload = {.begin = upload};

const struct sr_phase sr_phase_edit = {.part = SR_PART_EDIT, .begin = edit};
