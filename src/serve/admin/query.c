/* The history knows no outcomes: the router's names are checked here. */
#include "serve/admin/query.h"

#include "router/record.h"

bool sr_api_query_read(struct sr_history_query *out, struct sr_bytes query, struct sr_arena *arena,
                       const char **why)
{
    if (!sr_history_query_read(out, query, arena, why))
        return false;
    if (!out->filter.outcome.n || sr_record_is_outcome(out->filter.outcome))
        return true;
    *why = "outcome is routed, default, passed, degraded, cached, fast, local, blocked, refused, shed, "
           "failed or canceled.";
    return false;
}
