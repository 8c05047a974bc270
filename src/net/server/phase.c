/* The phases of a connection and their timeouts. */
#include "net/server/private.h"

void sr_http_conn_defer(struct sr_http_conn *conn)
{
    if (!conn->running)
        sr_loop_defer(conn->server->loop, &conn->task);
}

enum sr_http_phase sr_http_conn_phase(const struct sr_http_conn *conn)
{
    const struct sr_http_request *request = &conn->request;
    if (!conn->open)
        return SR_HTTP_PHASE_HEAD;
    if (sr_conn_queued(conn->sock))
        return SR_HTTP_PHASE_WRITE;
    if (conn->reading_body)
        return request->active && request->paused ? SR_HTTP_PHASE_NONE : SR_HTTP_PHASE_BODY;
    if (request->active)
        return SR_HTTP_PHASE_NONE;
    if (conn->fresh && conn->pending.len)
        return SR_HTTP_PHASE_HEAD;
    return sr_http1_is_idle(&conn->parser) ? SR_HTTP_PHASE_IDLE : SR_HTTP_PHASE_HEAD;
}

/* The time for a body is bounded between two of its bytes and in all; pauses of the handler do not count. */
static uint32_t body_ms(struct sr_http_conn *conn, bool changed)
{
    const struct sr_http_server_settings *settings = &conn->server->settings;
    uint64_t now = sr_loop_now(conn->server->loop);
    if (changed)
        conn->body_since = now;
    uint64_t spent = conn->body_ms + (now - conn->body_since);
    uint64_t left = spent < settings->request_timeout_ms ? settings->request_timeout_ms - spent : 1;
    return left < settings->body_timeout_ms ? (uint32_t)left : settings->body_timeout_ms;
}

void sr_http_conn_timer(struct sr_http_conn *conn, bool progress)
{
    const struct sr_http_server_settings *settings = &conn->server->settings;
    enum sr_http_phase phase = sr_http_conn_phase(conn);
    bool changed = phase != conn->phase;
    if (changed && conn->phase == SR_HTTP_PHASE_BODY)
        conn->body_ms += sr_loop_now(conn->server->loop) - conn->body_since;
    uint32_t ms[] = {[SR_HTTP_PHASE_NONE] = 0,
                     [SR_HTTP_PHASE_IDLE] = settings->idle_timeout_ms,
                     [SR_HTTP_PHASE_HEAD] = settings->header_timeout_ms,
                     [SR_HTTP_PHASE_BODY] = phase == SR_HTTP_PHASE_BODY ? body_ms(conn, changed) : 0,
                     [SR_HTTP_PHASE_WRITE] = settings->write_timeout_ms};
    conn->phase = phase;
    if (phase == SR_HTTP_PHASE_WRITE && changed)
        conn->queued_then = sr_conn_queued(conn->sock);
    /* With NONE the timer stays armed: a spurious fire is cheaper than a stop for every request. */
    if (ms[phase] && (changed || (progress && phase == SR_HTTP_PHASE_BODY)))
        sr_timer_start(&conn->timer, ms[phase]);
}
