/*
 * A header field, as the protocols and the router pass it: borrowed bytes. `name` is lower-case when it comes
 * from a peer; `value` has no white space around it.
 */
#ifndef SR_BASE_HEADER_H
#define SR_BASE_HEADER_H

#include "base/bytes.h"

#ifndef SR_HEADER_DEFINED /* semroute/semroute.h includes nothing and also defines it */
#define SR_HEADER_DEFINED
struct sr_header {
    struct sr_bytes name;
    struct sr_bytes value;
};
#endif

#endif
