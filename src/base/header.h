/*
 * A header field as protocols read and write it and as the router sees it: borrowed bytes.
 * `name` is lower-case when it comes from a peer; `value` has no white space around it.
 */
#ifndef SR_BASE_HEADER_H
#define SR_BASE_HEADER_H

#include "base/bytes.h"

#ifndef SR_HEADER_DEFINED /* semroute/semroute.h, the installed header, stands alone and has it too */
#define SR_HEADER_DEFINED
struct sr_header {
    struct sr_bytes name;
    struct sr_bytes value;
};
#endif

#endif
