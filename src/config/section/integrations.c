/* `global.integrations`: tools, and calls of several models for one request (the looper), which there is
 * none. */
#include "config/section/section.h"

#define LOOPER_CALLS "no algorithm calls several models for one request"

static const struct sr_section looper_section = {
    .name = "looper",
    .help = "Calls of several models for one request: there is none.",
    .later = (const char *const[]){"remom", "fusion", "workflows", "flow", NULL},
    .inert =
        (const struct sr_inert_key[]){
            {"endpoint", LOOPER_CALLS, false},
            {"timeout_seconds", LOOPER_CALLS, false},
            {"headers", LOOPER_CALLS, false},
            {"max_response_bytes_mb", LOOPER_CALLS, false},
            {"grpc_max_msg_size_mb", "`global.semroute.extproc.max_message_bytes` limits messages", false},
            {NULL, NULL, false}},
};

static const struct sr_field integrations_fields[] = {
    {"tools", SR_FIELD_OBJECT, offsetof(struct sr_config_global, tools), .of = &sr_section_tools,
     .help = "the database of tools"},
    {"looper", SR_FIELD_OBJECT, .of = &looper_section, .help = "calls of several models for one request"},
};

const struct sr_section sr_section_integrations = {
    .name = "global.integrations",
    .help = "What requests are joined with.",
    SR_FIELDS(integrations_fields),
};
