/* Which requests that have ended a client asks for, in the query of a URL: of replay, and of those that
 * follow. */
#ifndef SR_SERVE_ADMIN_QUERY_H
#define SR_SERVE_ADMIN_QUERY_H

#include "history/select.h"

/* As sr_history_query_read; an outcome that no request can have is refused, too. */
bool sr_api_query_read(struct sr_history_query *out, struct sr_bytes query, struct sr_arena *arena,
                       const char **why);

#endif
