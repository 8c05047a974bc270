/* `listeners`: where the doors listen. */
#include "config/section/section.h"

static const struct sr_field fields[] = {
    {"name", SR_FIELD_TEXT, offsetof(struct sr_config_listener, name), .help = "a name for the logs"},
    {"address", SR_FIELD_TEXT, offsetof(struct sr_config_listener, address), .def = "127.0.0.1",
     .help = "the address to listen on; 0.0.0.0 or :: for every interface", .flags = SR_FIELD_NOT_EMPTY},
    {"port", SR_FIELD_INT, offsetof(struct sr_config_listener, port), .min = 0, .max = 65535,
     .help = "the port; 0 takes any free one", .flags = SR_FIELD_REQUIRED},
    {"timeout", SR_FIELD_DURATION, offsetof(struct sr_config_listener, timeout_ms), .def = "0",
     .help = "the longest time for one request and its answer; 0 = no limit"},
};

const struct sr_section sr_section_listener = {
    .name = "listener",
    .help = "One address that the gateway listens on.",
    .size = sizeof(struct sr_config_listener),
    SR_FIELDS(fields),
};
