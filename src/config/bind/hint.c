/* Edit distances of words, and a search of the declared sections, the shallowest first. */
#include "config/bind/hint.h"

#include <stdio.h>

#define HINT_DEPTH 8

/* Two slips in a long word, one in a short one. */
static size_t tolerance(size_t n)
{
    return n < 3 ? 0 : n < 5 ? 1 : n < 12 ? 2 : 3;
}

/* The same letters with two neighbours swapped: one slip, though its edit distance is 2. */
static bool is_swap(struct sr_bytes a, struct sr_bytes b)
{
    size_t i = 0;
    while (i < a.n && i < b.n && a.p[i] == b.p[i])
        i++;
    return a.n == b.n && i + 1 < a.n && a.p[i] == b.p[i + 1] && a.p[i + 1] == b.p[i] &&
           memcmp(a.p + i + 2, b.p + i + 2, a.n - i - 2) == 0;
}

void sr_nearest_try(struct sr_nearest *nearest, const char *candidate)
{
    struct sr_bytes other = sr_bytes_str(candidate);
    bool same_letters = sr_bytes_eq_nocase(nearest->word, other);
    size_t distance = same_letters                    ? 0
                      : is_swap(nearest->word, other) ? 1
                                                      : sr_bytes_edit_distance(nearest->word, other);
    if (distance > tolerance(nearest->word.n) && !same_letters)
        return;
    if (!nearest->best || distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

const char *sr_nearest_hint(const struct sr_nearest *nearest, char *text, size_t size)
{
    text[0] = 0;
    if (nearest->best)
        snprintf(text, size, ", did you mean `%s`?", nearest->best);
    return text;
}

static bool find_in(const struct sr_section *section, const char *key, char *path, size_t size, size_t used,
                    int depth)
{
    for (size_t i = 0; i < section->n_fields; i++)
        if (strcmp(section->fields[i].key, key) == 0)
            return true;
    for (const struct sr_inert_key *at = section->inert; at && at->key; at++)
        if (strcmp(at->key, key) == 0)
            return true;
    for (size_t i = 0; depth > 0 && i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        if (!field->of || field->of == section)
            continue;
        const char *brackets = field->type == SR_FIELD_LIST ? "[]" : field->type == SR_FIELD_MAP ? ".*" : "";
        int n = snprintf(path + used, size - used, "%s%s%s", used ? "." : "", field->key, brackets);
        if (n > 0 && (size_t)n < size - used &&
            find_in(field->of, key, path, size, used + (size_t)n, depth - 1))
            return true;
        path[used] = 0;
    }
    return false;
}

bool sr_hint_section(const struct sr_section *root, const char *key, char *path, size_t size)
{
    static const char *const common[] = {"name",   "type",      "description", "enabled",
                                         "models", "threshold", NULL};
    for (const char *const *word = common; *word; word++)
        if (strcmp(*word, key) == 0)
            return false;
    for (int depth = 0; depth < HINT_DEPTH; depth++) {
        path[0] = 0;
        if (find_in(root, key, path, size, 0, depth))
            return true;
    }
    return false;
}

const char *sr_hint_keys(const struct sr_section *section, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "; it has");
    for (size_t i = 0; i < section->n_fields && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s `%s`", i ? "," : "", section->fields[i].key);
    if (n >= size || section->n_fields < 2)
        text[0] = 0;
    return text;
}
