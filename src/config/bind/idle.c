/* Reads the lists of a section. What the keys mean is in config/bind/meaning.c and beside the lists. */
#include "config/bind/idle.h"

bool sr_key_is_among(const char *const *words, struct sr_bytes word)
{
    for (; words && *words; words++)
        if (sr_bytes_eq(word, sr_bytes_str(*words)))
            return true;
    return false;
}

bool sr_key_is_off(const struct sr_yaml_node *value, bool switched)
{
    const struct sr_yaml_node *enabled = sr_yaml_get(value, "enabled");
    bool on = !switched;
    if (!value || sr_yaml_type(value) == SR_YAML_NULL)
        return true;
    if ((value->kind == SR_YAML_SCALAR ? value->text.n : value->count) == 0)
        return true;
    if (value->kind == SR_YAML_SCALAR)
        return sr_yaml_to_bool(value, &on) && !on;
    if (enabled && !sr_yaml_to_bool(enabled, &on))
        return false;
    return value->kind == SR_YAML_MAP && !on;
}

bool sr_key_is_inert(struct sr_binder *b, const struct sr_section *section, const struct sr_yaml_node *key,
                     const struct sr_yaml_node *value)
{
    for (const struct sr_inert_key *inert = section->inert; inert && inert->key; inert++) {
        if (!sr_bytes_eq(key->text, sr_bytes_str(inert->key)))
            continue;
        if (inert->warns && !sr_key_is_off(value, false))
            sr_bind_warning(b, key, "`%s` changes nothing: %s", inert->key, inert->because);
        return true;
    }
    return sr_key_is_among(section->later, key->text) &&
           sr_key_is_off(value, sr_key_is_among(section->switched, key->text));
}
