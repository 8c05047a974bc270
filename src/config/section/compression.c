/* `global.model_catalog.modules.prompt_compression`: compression of long texts for signals. */
#include "config/section/section.h"

#include "config/bind/hint.h"

#define COMPRESSION(member) offsetof(struct sr_config_compression, member)

static const struct sr_enum_word profiles[] = {{"default", 0},  {"coding", 0},     {"medical", 0},
                                               {"security", 0}, {"multi_turn", 0}, {NULL, 0}};

static const struct sr_field fields[] = {
    {"enabled", SR_FIELD_BOOL, COMPRESSION(enabled), .def = "false",
     .help = "whether signals read long texts compressed; the model always gets the original"},
    {"profile", SR_FIELD_WORD, COMPRESSION(profile), .words = profiles, .def = "default",
     .help = "the weights below, by kind of text"},
    {"max_tokens", SR_FIELD_INT, COMPRESSION(max_tokens), .def = "512", .max = 1e9,
     .help = "the tokens to keep of a longer text, counted by `tokenizer` or estimated; 0 = off"},
    {"min_length", SR_FIELD_SIZE, COMPRESSION(min_length), .def = "0", .max = 0x1p40,
     .help = "texts up to this size are not compressed"},
    {"skip_signals", SR_FIELD_TEXTS, COMPRESSION(skip_signals),
     .help = "signals that read the original, besides those that always do: keyword, structure, context, "
             "jailbreak, pii"},
    {"textrank_weight", SR_FIELD_NUMBER, COMPRESSION(textrank), .max = 1e6, .def_note = "the profile's",
     .help = "weight of a sentence's centrality; 0 = the profile's"},
    {"position_weight", SR_FIELD_NUMBER, COMPRESSION(position), .max = 1e6, .def_note = "the profile's",
     .help = "weight of its position: the beginning and the end count more; 0 = the profile's"},
    {"tfidf_weight", SR_FIELD_NUMBER, COMPRESSION(tfidf), .max = 1e6, .def_note = "the profile's",
     .help = "weight of its rare words; 0 = the profile's"},
    {"novelty_weight", SR_FIELD_NUMBER, COMPRESSION(novelty), .max = 1e6, .def_note = "the profile's",
     .help = "weight of its distance from the rest; 0 = the profile's"},
    {"position_depth", SR_FIELD_NUMBER, COMPRESSION(depth), .max = 1, .def_note = "the profile's",
     .help = "how much less the middle counts; 0 = the profile's"},
    {"preserve_first_n", SR_FIELD_INT, COMPRESSION(first), .max = 1e6, .def_note = "the profile's",
     .help = "sentences at the beginning that stay when they fit; 0 = the profile's"},
    {"preserve_last_n", SR_FIELD_INT, COMPRESSION(last), .max = 1e6, .def_note = "the profile's",
     .help = "sentences at the end that stay when they fit; 0 = the profile's"},
    {"tokenizer", SR_FIELD_TEXT, COMPRESSION(tokenizer), .def_note = "estimated",
     .help = "the tokenizer.json that counts max_tokens"},
};

/* A type of signal, also one that only vLLM Semantic Router has. */
static bool is_type(const char *word)
{
    const struct sr_enum_word *type = sr_leaf_types;
    const char *const *later = sr_leaf_types_later;
    while (type->word && strcmp(type->word, word) != 0)
        type++;
    while (*later && strcmp(*later, word) != 0)
        later++;
    return type->word || *later;
}

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_compression *compression = target;
    const struct sr_strings *skip = &compression->skip_signals;
    const struct sr_yaml_node *tokenizer = sr_yaml_get(node, "tokenizer");
    if (tokenizer)
        compression->tokenizer_at = sr_bind_position(tokenizer);
    for (size_t i = 0; i < skip->count; i++) {
        if (is_type(skip->items[i]))
            continue;
        char hint[128];
        struct sr_nearest nearest = {.word = sr_bytes_str(skip->items[i])};
        for (const struct sr_enum_word *type = sr_leaf_types; type->word; type++)
            sr_nearest_try(&nearest, type->word);
        sr_bind_error(b, node, "skip_signals: there is no signal type `%.60s`%s", skip->items[i],
                      sr_nearest_hint(&nearest, hint, sizeof hint));
    }
}

const struct sr_section sr_section_compression = {
    .name = "prompt_compression",
    .help = "Prompt compression: signals read the most informative sentences of a long text.",
    SR_FIELDS(fields),
    .inert = (const struct sr_inert_key[]){{"max_evaluation_chars",
                                            "signals read texts whole, or `max_tokens` of them", false},
                                           {NULL, NULL, false}},
    .finish = finish,
};
