/* `global.semroute.responses`: where conversations of Responses are kept. */
#include "config/section/section.h"

#define RESPONSES(member) offsetof(struct sr_config_responses, member)

#define PREFIX_MAX 64u

static const struct sr_enum_word stores[] = {
    {"memory", SR_RESPONSES_MEMORY}, {"redis", SR_RESPONSES_REDIS}, {NULL, 0}};

static const struct sr_field responses_fields[] = {
    {"enabled", SR_FIELD_BOOL, RESPONSES(enabled), .def = "true",
     .help = "whether answers are kept, so that `previous_response_id`, GET and DELETE find them; else these "
             "pass to the upstream, or are refused where it speaks another API"},
    {"store", SR_FIELD_ENUM, RESPONSES(store), .words = stores, .def = "memory",
     .help = "memory (with a file: `path`), or a Redis that several instances share"},
    {"path", SR_FIELD_TEXT, RESPONSES(path), .def_note = "none: a restart forgets all conversations",
     .help = "with `store: memory`: an SQLite file that keeps conversations over a restart; only its owner "
             "may read it"},
    {"key_file", SR_FIELD_TEXT, RESPONSES(key_file), .def_note = "none: the file is not encrypted",
     .help = "encrypts that file: 32 bytes or more as text; to rotate, the new key is the first line and the "
             "old one the second"},
    {"redis", SR_FIELD_OBJECT, RESPONSES(redis), .of = &sr_section_store_server,
     .help = "the Redis or Valkey"},
    {"prefix", SR_FIELD_TEXT, RESPONSES(prefix), .def = "semroute:responses:", .flags = SR_FIELD_NOT_EMPTY,
     .help = "the beginning of every key there, and of the channel"},
    {"timeout", SR_FIELD_DURATION, RESPONSES(timeout_ms), .def = "500ms",
     .help = "how long a request waits for the store; then it is refused with 503"},
    {"ttl_seconds", SR_FIELD_INT64, RESPONSES(ttl_s), .def = "2592000", .min = 0, .max = 1e9,
     .help = "how long an answer is kept; 0 = until others need its room"},
    {"max_entries", SR_FIELD_SIZE, RESPONSES(max_entries), .def = "10000", .min = 1, .max = 1e8,
     .help = "answers that are kept; those used least recently give way"},
    {"max_bytes", SR_FIELD_SIZE, RESPONSES(max_bytes), .def = "256MiB", .min = 65536, .max = 0x1p40,
     .help = "the size of all of them together, with the items before each"},
    {"max_entry_bytes", SR_FIELD_SIZE, RESPONSES(max_entry_bytes), .def = "4MiB", .min = 1024, .max = 0x1p24,
     .help = "the size of one answer with the items before it; a larger one is not kept"},
    {"max_turns", SR_FIELD_INT, RESPONSES(max_turns), .def = "1000", .min = 1, .max = 1e6,
     .help = "answers of one conversation; a longer one is refused with 400"},
    {"upstream_models", SR_FIELD_TEXTS, RESPONSES(upstream_models), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "none",
     .help = "models with one backend that keeps conversations itself: requests that name them pass with "
             "their ids, and nothing of them is kept here"},
};

static void finish_responses(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_responses *responses = target;
    if (responses->timeout_ms == 0)
        sr_bind_error(b, sr_bind_at(node, "timeout"), "`timeout` must be above 0");
    if (strlen(responses->prefix) > PREFIX_MAX || strpbrk(responses->prefix, " \t\r\n%"))
        sr_bind_error(b, sr_bind_at(node, "prefix"),
                      "`prefix` has at most 64 characters, none of them white space");
}

const struct sr_section sr_section_responses = {
    .name = "global.semroute.responses",
    .help = "Where conversations of Responses are kept (docs/dialects.md).",
    SR_FIELDS(responses_fields),
    .finish = finish_responses,
};
