/* The configured header comes first, then that of a coding agent, then the body. */
#include "router/exchange/session.h"

#include "router/pick/shape.h"

static struct sr_bytes usable(struct sr_bytes name)
{
    return sr_session_is_name(name) ? name : SR_LIT("");
}

void sr_exchange_name_session(sr_exchange *x)
{
    const struct sr_config_global *global = &x->router->config->global;
    const struct sr_config_protection *protection = &global->learning.protection;
    struct sr_session *session = &x->session;
    if (!protection->enabled && !global->replay.entries)
        return;
    session->id = usable(sr_head_named(&x->head, protection->session_header));
    session->conversation = usable(sr_head_named(&x->head, protection->conversation_header));
    if (!session->id.n)
        session->id = usable(sr_head_named(&x->head, SR_SESSION_HEADER_OF_CODE));
    if (!session->id.n)
        session->id = usable(sr_shape_metadata(&x->body.doc, "session_id", &x->arena));
    x->record.session = session->id;
}
