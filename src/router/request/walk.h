/*
 * The walk over the strings of a request: which a model may read, what they belong to, and what cannot be
 * read.
 *
 * Used by signals, guards, and the prefetch, which walks while the body arrives. The dialect's table gives
 * each string its class; a string that the table does not know is text, and so is its key.
 */
#ifndef SR_ROUTER_REQUEST_WALK_H
#define SR_ROUTER_REQUEST_WALK_H

#include "router/request/request.h"
#include "signal/signal.h"
#include "json/strings.h"

enum sr_texts {
    SR_TEXTS_CONTENT, /* contents of messages, and prompts */
    SR_TEXTS_JUDGED,  /* these and other text that a model reads: refusals, reasoning, arguments of calls */
};

bool sr_walk_is_text(const struct sr_span *span, enum sr_texts which);

/* The first span from `from` on that begins before byte `end` of the body and holds a text; n_spans when
 * there is none. */
size_t sr_walk_text(const struct sr_request *doc, size_t from, size_t end, enum sr_texts which);

/* The first message whose span is `from` or a later one; n_spans when there is none. */
size_t sr_walk_message(const struct sr_request *doc, size_t from);

/* The role in this span, the complete value of a `role` member. */
enum sr_signal_role sr_walk_role_of(const struct sr_request *doc, const struct sr_span *role);

/* The role of a message; SR_ROLE_OTHER before it has arrived. */
enum sr_signal_role sr_walk_role(const struct sr_request *doc, size_t message);

/* The last content of a message; SR_SPAN_NONE without one. */
uint32_t sr_walk_content(const struct sr_request *doc, size_t message);

/* ---- every string ---- */

/* A string that a model may read. Strings with equal `group` belong to one unit, and follow each other but
 * for units nested in it: a part's strings, a tool's, a document's, a field's. */
struct sr_walk_string {
    size_t start, end;            /* bytes of the body, without the quotes */
    bool escaped;                 /* has a backslash: sr_json_unescape */
    bool key;                     /* the key of a member; else a value */
    bool number;                  /* a long number, without quotes: it may be that of a card */
    enum sr_signal_source source; /* instructions beside the messages, prompts: SR_SOURCE_MESSAGE */
    enum sr_signal_role role; /* of its message; of instructions SR_ROLE_SYSTEM, of prompts SR_ROLE_USER */
    uint32_t span;            /* the string itself, its member, or the container that it is in */
    uint32_t group;           /* span of its unit */
    uint32_t message;         /* span of its message; SR_SPAN_NONE outside of messages */
};

/* What a model may read of a request and the router cannot, by kind. */
struct sr_unread {
    struct {
        uint32_t parts; /* strings, and lists of numbers */
        uint64_t bytes; /* of the body */
    } of[SR_UNREAD_KINDS];
};

/* "images", "audio", ... */
extern const char *const sr_unread_names[SR_UNREAD_KINDS];

/* What the strings inside a member are. */
enum sr_walk_what {
    SR_WALK_PLAIN,
    SR_WALK_CALL,
    SR_WALK_RESULT,
    SR_WALK_DOCUMENT,
    SR_WALK_TOOL,
    SR_WALK_SYSTEM
};

/* The owners whose `type` was looked up last: a message, a part of it, a part of that. */
enum { SR_WALK_OWNER_MESSAGE, SR_WALK_OWNER_PART, SR_WALK_OWNER_INNER, SR_WALK_OWNERS };

struct sr_walk {
    const struct sr_request *doc;
    struct sr_unread unread; /* complete when sr_walk_next has returned false */
    size_t next, stop;       /* the next span; the byte where the walk ends */
    size_t strings;          /* given so far */
    bool inside;             /* `container` is being read */
    bool key_given;          /* the key of span `next` was given */
    bool media;              /* of what no path names: the latest key names media */
    struct sr_json_strings container;
    struct sr_walk_string place; /* of the last string */
    struct {
        uint32_t span;
        enum sr_walk_what what;
        enum sr_signal_role role; /* of a message */
        struct sr_bytes sealed;   /* its member that the provider sealed; empty: none */
        bool refers;              /* of a message: it stands for one that the upstream keeps */
        bool cites;               /* of a part: its `source` is the name of one, no content */
    } owners[SR_WALK_OWNERS];
};

/* Strings of one request, unless it says another number; what follows is unread. */
#define SR_WALK_STRINGS_MAX 65536u

/* Walks over all strings of a complete body, in their order. */
void sr_walk_begin(struct sr_walk *walk, const struct sr_request *doc);

/* The same for the strings of one span that is complete. */
void sr_walk_begin_span(struct sr_walk *walk, const struct sr_request *doc, uint32_t span);

/* Counts one more string of `bytes` bytes, found inside of one that was given. False over the limit: it is
 * noted as unread. */
bool sr_walk_counts(struct sr_walk *walk, size_t bytes);

/* The next string that is to be judged; never an empty one. False when there is none. */
bool sr_walk_next(struct sr_walk *walk, struct sr_walk_string *out);

#endif
