/* The plugin `guard` of a decision. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_enum_word actions[] = {{"allow", SR_GUARD_ALLOW},   {"flag", SR_GUARD_FLAG},
                                              {"route", SR_GUARD_ROUTE},   {"block", SR_GUARD_BLOCK},
                                              {"redact", SR_GUARD_REDACT}, {NULL, 0}};

static const struct sr_field guard_fields[] = {
    {"action", SR_FIELD_ENUM, PLUGIN(guard.action), .words = actions, .flags = SR_FIELD_REQUIRED,
     .help = "allow, flag (a header says so), route (to the decision's model), block or redact (private data "
             "becomes placeholders)"},
    {"restore", SR_FIELD_BOOL, PLUGIN(guard.restore), .def = "false",
     .help = "redact: put the values back into the answer"},
    {"status", SR_FIELD_INT, PLUGIN(guard.status), .def = "403", .min = 200, .max = 599,
     .help = "block: the status of the answer; with 200 it is a completion whose finish_reason is "
             "`content_filter`"},
    {"message", SR_FIELD_TEXT, PLUGIN(guard.message), .def_note = "a text that names the findings",
     .help = "block: the text of the answer"},
};

static void finish_guard(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_plugins *plugins = target;
    int status = plugins->guard.status;
    enum sr_guard_action action = plugins->guard.action;
    if (status != 200 && (status < 400 || status > 499))
        sr_bind_error(b, sr_bind_at(node, "status"), "`status`: expected 200 or 400 to 499, found %d",
                      status);
    if (action != SR_GUARD_REDACT && sr_yaml_get(node, "restore"))
        sr_bind_error(b, sr_bind_at(node, "restore"), "`restore` goes with the action `redact` only");
    if (action != SR_GUARD_BLOCK && (sr_yaml_get(node, "status") || sr_yaml_get(node, "message")))
        sr_bind_error(b, node, "`status` and `message` go with the action `block` only");
}

static const struct sr_section guard_section = {
    .name = "guard plugin",
    .help = "What happens to a request that holds an attack or private data. Guards are decided before all "
            "other decisions, among themselves.",
    SR_FIELDS(guard_fields),
    .own = true,
    .finish = finish_guard,
};

const struct sr_variant sr_plugin_guard = {
    "guard", "blocks, redacts, flags or routes the requests that the decision matches", &guard_section,
    PLUGIN(guard.set)};
