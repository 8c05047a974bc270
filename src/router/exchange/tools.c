/* The phase that chooses tools, where the decision's plugins say so. */
#include "router/exchange/mail.h"
#include "router/exchange/phase.h"
#include "router/exchange/record.h"
#include "router/exchange/reply.h"
#include "router/exchange/trace.h"

static enum sr_phase_step end(sr_exchange *x)
{
    const struct sr_record *r = &x->record;
    const char *category = r->decision.category_name ? r->decision.category_name : "";
    int rc = sr_tool_choice_end(&x->tools, sr_bytes_str(category), (double)r->decision.confidence);
    sr_exchange_note_tools(x);
    if (rc == SR_OK)
        return SR_PHASE_NEXT;
    sr_exchange_refuse_memory(x);
    return SR_PHASE_SETTLED;
}

static enum sr_phase_step begin(sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    const struct sr_config_decision *decision = sr_record_decision(&x->record, config);
    if (x->named || !decision || !x->body.doc.dialect->takes_tools ||
        !sr_tools_asked(config, &decision->plugins))
        return SR_PHASE_NEXT;
    struct sr_tool_choice_in in = {
        .box = x->router->tools,
        .config = config,
        .plugins = &decision->plugins,
        .doc = &x->body.doc,
        .client = sr_identity_client(&x->identity, x->head.peer),
        .origin = sr_exchange_origin(x),
        .mailbox = sr_exchange_mailbox(x),
        .arena = &x->arena,
    };
    int rc = sr_tool_choice_begin(&x->tools, &in);
    if (rc == SR_AGAIN)
        return SR_PHASE_WAITS;
    if (rc == SR_OK)
        return end(x);
    sr_exchange_refuse_memory(x);
    return SR_PHASE_SETTLED;
}

static uint64_t deadline_ns(const sr_exchange *x)
{
    return x->tools.deadline_ns;
}

/* What is chosen without the vectors is what the plan has by now. */
static void give_up(sr_exchange *x)
{
    x->tools.waits = false;
}

const struct sr_phase sr_phase_tools = {.part = SR_PART_TOOLS,
                                        .begin = begin,
                                        .end = end,
                                        .deadline_ns = deadline_ns,
                                        .give_up = give_up,
                                        .own_work = true,
                                        .hurries = true};
