/*
 * The configuration of guards: the rules of the `jailbreak` and `pii` signals, and the parts of `global`
 * that hold for all of them.
 */
#include "config/section/section.h"

#define JAILBREAK(member) offsetof(struct sr_config_jailbreak, member)
#define PII(member)       offsetof(struct sr_config_pii, member)
#define GUARDS(member)    offsetof(struct sr_config_guards, member)
#define POLICY(member)    offsetof(struct sr_config_policy, member)
#define GLOBAL(member)    offsetof(struct sr_config_global, member)
#define SR_PATTERNS_MAX   256 /* of a kind, in a contrastive rule */

static const struct sr_enum_word methods[] = {
    {"classifier", SR_JAILBREAK_CLASSIFIER}, {"contrastive", SR_JAILBREAK_CONTRASTIVE}, {NULL, 0}};

static const struct sr_field jailbreak_fields[] = {
    {"name", SR_FIELD_TEXT, JAILBREAK(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the name that rules refer to"},
    {"threshold", SR_FIELD_NUMBER, JAILBREAK(threshold), .min = 0, .max = 1, .flags = SR_FIELD_EXCLUSIVE,
     .def_note = "`threshold` of `prompt_guard`; contrastive: 0.1",
     .help = "the probability of an attack from which the rule matches; contrastive: how much nearer to the "
             "nearest attack than to the nearest benign text"},
    {"include_history", SR_FIELD_BOOL, JAILBREAK(include_history), .def = "true",
     .help =
         "read everything; `false`: not what stands before the last user message, but for system prompts"},
    {"method", SR_FIELD_ENUM, JAILBREAK(method), .words = methods, .def = "classifier",
     .flags = SR_FIELD_DROPPABLE,
     .help =
         "classifier: a model reads the texts; contrastive: their meaning is compared with example texts"},
    {"jailbreak_patterns", SR_FIELD_TEXTS, JAILBREAK(attacks),
     .help = "contrastive: example texts of attacks, at most 256"},
    {"benign_patterns", SR_FIELD_TEXTS, JAILBREAK(benign), .def_note = "none: nothing is subtracted",
     .help = "contrastive: example texts that are no attacks, at most 256"},
};

static void finish_jailbreak(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_jailbreak *rule = target;
    bool contrastive = rule->method == SR_JAILBREAK_CONTRASTIVE;
    if (contrastive && !rule->attacks.count)
        sr_bind_error(b, node, "`method: contrastive` needs `jailbreak_patterns`");
    else if (contrastive && (rule->attacks.count > SR_PATTERNS_MAX || rule->benign.count > SR_PATTERNS_MAX))
        sr_bind_error(b, node, "a rule has at most %d patterns of a kind", SR_PATTERNS_MAX);
    else if (!contrastive && (rule->attacks.count || rule->benign.count)) {
        sr_bind_unsupported(b, node, "`jailbreak_patterns` and `benign_patterns` need `method: contrastive`");
        sr_bind_drop(b, node);
    }
}

const struct sr_section sr_section_jailbreak = {
    .name = "jailbreak rule",
    .help = "Attempts to turn a model against its instructions, in any message or tool result.",
    .size = sizeof(struct sr_config_jailbreak),
    SR_FIELDS(jailbreak_fields),
    .finish = finish_jailbreak,
    .inert = (const struct sr_inert_key[]){{"description", SR_INERT_NOTE, false}, {NULL, NULL, false}},
};

static const struct sr_field pii_fields[] = {
    {"name", SR_FIELD_TEXT, PII(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the name that rules refer to"},
    {"threshold", SR_FIELD_NUMBER, PII(threshold), .min = 0, .max = 1, .flags = SR_FIELD_EXCLUSIVE,
     .def_note = "`threshold` of `classifier.pii`", .help = "the confidence from which a finding counts"},
    {"type_thresholds", SR_FIELD_PAIRS, PII(type_thresholds),
     .help = "the same for single types, such as `PERSON: 0.9`"},
    {"pii_types_allowed", SR_FIELD_TEXTS, PII(types_allowed), .help = "types that do not count"},
    {"include_history", SR_FIELD_BOOL, PII(include_history), .def = "true",
     .help =
         "read everything; `false`: not what stands before the last user message, but for system prompts"},
};

const struct sr_section sr_section_pii = {
    .name = "pii rule",
    .help = "Private data: names, addresses, numbers that belong to a person.",
    .size = sizeof(struct sr_config_pii),
    SR_FIELDS(pii_fields),
    .inert = (const struct sr_inert_key[]){{"description", SR_INERT_NOTE, false}, {NULL, NULL, false}},
};

static const struct sr_enum_word unread_actions[] = {
    {"on_error", SR_UNREAD_ON_ERROR}, {"ignore", SR_UNREAD_IGNORE}, {NULL, 0}};

#define UNREAD(kind) ((kind) * sizeof(enum sr_unread_action))

static const struct sr_field unread_fields[] = {
    {"images", SR_FIELD_ENUM, UNREAD(SR_UNREAD_IMAGES), .words = unread_actions, .def = "on_error",
     .help = "images and videos, as bytes or URLs"},
    {"audio", SR_FIELD_ENUM, UNREAD(SR_UNREAD_AUDIO), .words = unread_actions, .def = "on_error",
     .help = "sound, as bytes, URLs or ids of earlier answers"},
    {"files", SR_FIELD_ENUM, UNREAD(SR_UNREAD_FILES), .words = unread_actions, .def = "on_error",
     .help = "documents as bytes, and files that were uploaded before"},
    {"encrypted", SR_FIELD_ENUM, UNREAD(SR_UNREAD_ENCRYPTED), .words = unread_actions, .def = "on_error",
     .help =
         "encrypted content, but reasoning and signatures in the members that the APIs have for them, which "
         "pass: no model reads them as text"},
    {"tokens", SR_FIELD_ENUM, UNREAD(SR_UNREAD_TOKENS), .words = unread_actions, .def = "on_error",
     .help = "prompts as numbers of tokens or as vectors"},
    {"stored", SR_FIELD_ENUM, UNREAD(SR_UNREAD_STORED), .words = unread_actions, .def = "on_error",
     .help = "what a request only names because the upstream keeps it: conversations, prompts, items of "
             "Responses, vector stores and containers"},
};

const struct sr_section sr_section_unread = {
    .name = "global.semroute.guards.unread",
    .help = "What a model may read of a request and no signal can. `on_error`: it lowers the coverage, and "
            "`on_error` of the guards' rules decides. `ignore`: it passes; the texts beside it are judged.",
    SR_FIELDS(unread_fields),
};

#define PROMPTS(member) offsetof(struct sr_config_system_prompts, member)

static const struct sr_field system_prompts_fields[] = {
    {"sha256", SR_FIELD_TEXTS, PROMPTS(sha256),
     .help = "SHA-256 of texts, each exactly as a request has it when it is decoded, in UTF-8"},
    {"trusted_tenants", SR_FIELD_TEXTS, PROMPTS(trusted_tenants),
     .help = "tenants, by `tenant_header`, whose system prompts are all the operator's"},
};

const struct sr_section sr_section_system_prompts = {
    .name = "global.semroute.guards.system_prompts",
    .help = "Messages of the roles system and developer, and instructions, that are the operator's: the "
            "signal `jailbreak` does not read them, `pii` does. The texts of plugins `system_prompt` are "
            "the operator's too. Clients can write these roles, so all others are read.",
    SR_FIELDS(system_prompts_fields),
};

static const struct sr_field guards_fields[] = {
    {"explicit_models", SR_FIELD_BOOL, GUARDS(explicit_models), .def = "true",
     .help = "whether guards also apply to requests that name their model"},
    {"memo_bytes", SR_FIELD_SIZE, GUARDS(memo_bytes), .def = "16MiB", .max = 0x1p34,
     .help = "memory for the results of texts that were classified before; 0 = no results are kept"},
    {"tenant_header", SR_FIELD_TEXT, GUARDS(tenant_header),
     .def_note = "none: all requests share the kept results",
     .help = "a request header, set by a trusted proxy, that names the tenant; tenants share no results"},
    {"skip_tenants", SR_FIELD_TEXTS, GUARDS(skip_tenants),
     .help =
         "tenants whose `x-vsr-skip-processing: true` also skips guards; for all others the header has no "
         "effect where guards, policies or rules of jailbreak or pii are configured"},
    {"audit_log", SR_FIELD_TEXT, GUARDS(audit_log), .def = "stdout", .flags = SR_FIELD_NOT_EMPTY,
     .help = "where the audit log goes, one line for each action of a guard: `stdout`, `off`, or a file"},
    {"unread", SR_FIELD_OBJECT, GUARDS(unread), .of = &sr_section_unread,
     .help = "what counts of content that no signal can read"},
    {"system_prompts", SR_FIELD_OBJECT, GUARDS(system_prompts), .of = &sr_section_system_prompts,
     .help = "system prompts that are no attacks, whatever they say"},
};

const struct sr_section sr_section_guards = {
    .name = "global.semroute.guards",
    .help = "Settings of all guards.",
    SR_FIELDS(guards_fields),
};

static const struct sr_field pii_policy_fields[] = {
    {"allow_by_default", SR_FIELD_BOOL, POLICY(allow_by_default), .def = "true",
     .help = "whether the model may see all private data"},
    {"pii_types_allowed", SR_FIELD_TEXTS, POLICY(types_allowed),
     .help = "types that it may see where `allow_by_default` is false"},
};
static const struct sr_section pii_policy_section = {
    .name = "pii_policy",
    .help = "Which private data a model may see.",
    SR_FIELDS(pii_policy_fields),
};
static const struct sr_field policy_fields[] = {
    {"pii_policy", SR_FIELD_OBJECT, .of = &pii_policy_section, .help = "which private data it may see"},
};

const struct sr_section sr_section_policy = {
    .name = "model of global.semroute",
    .help = "What a model of `providers.models` may see.",
    .size = sizeof(struct sr_config_policy),
    SR_FIELDS(policy_fields),
};

static const struct sr_enum_word guard_errors[] = {
    {"block", SR_ON_ERROR_MATCH}, {"allow", SR_ON_ERROR_NO_MATCH}, {NULL, 0}};

static const struct sr_field prompt_guard_fields[] = {
    {"threshold", SR_FIELD_NUMBER, GLOBAL(jailbreak_threshold), .def = "0.7", .min = 0, .max = 1,
     .help = "the probability from which a text is an attack, for rules without a threshold"},
    {"model_id", SR_FIELD_TEXT, GLOBAL(jailbreak_model), .def_note = "the built-in model",
     .help =
         "a linear text model (a .safetensors file), or the folder of an encoder with a classification head"},
    {"positive_labels", SR_FIELD_TEXTS, GLOBAL(jailbreak_labels),
     .def_note = "all but `benign`, `safe`, `normal`, `legit`, `harmless` and `clean`",
     .help = "the model's labels that mean an attack; needed where its labels are `LABEL_0` and `LABEL_1`"},
    {"on_error", SR_FIELD_ENUM, GLOBAL(jailbreak_on_error), .words = guard_errors, .def = "block",
     .help = "block: conditions match what the model could not read; allow: they do not; a condition's own "
             "`on_error` says otherwise"},
};

const struct sr_section sr_section_prompt_guard = {
    .name = "prompt_guard",
    .help = "The model behind the `jailbreak` signal.",
    SR_FIELDS(prompt_guard_fields),
    .inert = (const struct sr_inert_key[]){SR_INERT_CLASSIFIER,
                                           {"use_vllm", SR_INERT_ELSEWHERE, true},
                                           {"protocol", SR_INERT_ELSEWHERE, true},
                                           {"endpoint", SR_INERT_ELSEWHERE, true},
                                           {"enabled", SR_INERT_ENABLED, false},
                                           {"jailbreak_mapping_path", SR_INERT_LABELS, false},
                                           {NULL, NULL, false}},
};

static const struct sr_field pii_classifier_fields[] = {
    {"threshold", SR_FIELD_NUMBER, GLOBAL(pii_threshold), .def = "0.7", .min = 0, .max = 1,
     .help = "the confidence from which a finding counts, for rules without a threshold"},
    {"model_id", SR_FIELD_TEXT, GLOBAL(pii_model), .def_note = "the bundled model, where it is found",
     .help = "the folder of an encoder that labels tokens; it works beside the exact recognisers"},
};

const struct sr_section sr_section_pii_classifier = {
    .name = "pii classifier",
    .help = "What finds private data.",
    SR_FIELDS(pii_classifier_fields),
    .inert = (const struct sr_inert_key[]){SR_INERT_CLASSIFIER,
                                           {"enabled", SR_INERT_ENABLED, false},
                                           {"pii_mapping_path", SR_INERT_LABELS, false},
                                           {NULL, NULL, false}},
};
