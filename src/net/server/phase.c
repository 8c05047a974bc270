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
    return sr_http1_is_idle(&conn->parser) ? SR_HTTP_PHASE_IDLE : SR_HTTP_PHASE_HEAD;
}

void sr_http_conn_timer(struct sr_http_conn *conn, bool progress)
{
    const struct sr_http_server_settings *settings = &conn->server->settings;
    enum sr_http_phase phase = sr_http_conn_phase(conn);
    uint32_t ms[] = {[SR_HTTP_PHASE_NONE] = 0,
                     [SR_HTTP_PHASE_IDLE] = settings->idle_timeout_ms,
                     [SR_HTTP_PHASE_HEAD] = settings->header_timeout_ms,
                     [SR_HTTP_PHASE_BODY] = settings->body_timeout_ms,
                     [SR_HTTP_PHASE_WRITE] = settings->write_timeout_ms};
    bool changed = phase != conn->phase;
    conn->phase = phase;
    if (phase == SR_HTTP_PHASE_WRITE && changed)
        conn->queued_then = sr_conn_queued(conn->sock);
    /* With NONE the timer stays armed: a spurious fire is cheaper than a stop for every request. */
    if (ms[phase] && (changed || (progress && phase == SR_HTTP_PHASE_BODY)))
        sr_timer_start(&conn->timer, ms[phase]);
}
