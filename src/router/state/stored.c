/*
 * A record's answer is the response, then the input; its verdict says where one ends: "1 TURNS BYTES". The
 * first number is the version of this form. A record without turns holds nothing: its id is withdrawn.
 */
#include "router/state/stored.h"

#include "base/hash.h"
#include "base/json_read.h"

#include <stdio.h>
#include <string.h>

#define FORM      1u
#define TURNS_MAX 1000000u

int sr_stored_key(struct sr_bytes owner, struct sr_bytes id, struct sr_cache_key *out)
{
    uint8_t hash[SR_SHA256_SIZE];
    if (!id.n || id.n > SR_STORED_ID_MAX)
        return SR_EINVAL;
    int rc = sr_sha256_both(SR_LIT("semroute response of "), owner, hash);
    return rc ? rc : sr_sha256_both(sr_bytes_of(hash, sizeof hash), id, out->bytes);
}

/* ---- the record ---- */

/* The views of `stored` are JSON of their kinds; they are trimmed. */
static bool is_good(struct sr_stored *stored)
{
    sr_json_view response, input;
    if (sr_json_view_open(&response, stored->response, NULL) || !sr_json_view_is_object(response) ||
        sr_json_view_open(&input, stored->input, NULL) || !sr_json_view_is_array(input))
        return false;
    stored->response = response; /* without white space around it */
    stored->input = input;
    stored->output = sr_json_view_get(response, "output");
    return sr_json_view_is_string(sr_json_view_get(response, "id")) && sr_json_view_is_array(stored->output);
}

static int hash_name(struct sr_bytes name, struct sr_cache_key *out)
{
    return name.n ? sr_sha256(name, out->bytes) : SR_OK;
}

int sr_stored_write(struct sr_cache_record **out, const struct sr_stored *stored,
                    const struct sr_stored_owner *owner, size_t max)
{
    struct sr_stored checked = *stored;
    struct sr_cache_fields fields = {.created_ms = owner->now_ms,
                                     .expires_ms = owner->ttl_ms ? owner->now_ms + owner->ttl_ms : 0,
                                     .form = SR_CACHE_JSON,
                                     .model = sr_bytes_str(owner->model)};
    struct sr_arena arena;
    struct sr_buf both;
    char head[64];
    *out = NULL;
    if (stored->response.n > max || stored->input.n > max - stored->response.n)
        return SR_ELIMIT;
    if (!is_good(&checked))
        return SR_EPARSE;
    sr_arena_init(&arena, 4096);
    struct sr_bytes id = sr_stored_id(stored->response, &arena);
    int rc = id.p ? sr_stored_key(owner->name, id, &fields.exact) : SR_EPARSE;
    sr_arena_dispose(&arena);
    sr_buf_init(&both, max);
    if (!rc)
        rc = hash_name(owner->name, &fields.tenant);
    if (!rc)
        rc = hash_name(owner->user, &fields.user);
    if (!rc)
        rc = sr_buf_append_bytes(&both, stored->response);
    if (!rc)
        rc = sr_buf_append_bytes(&both, stored->input);
    if (!rc) {
        int n = snprintf(head, sizeof head, "%u %d %zu", FORM, stored->turns, stored->response.n);
        fields.verdict = sr_bytes_of(head, (size_t)n);
        fields.answer = sr_buf_view(&both);
        rc = sr_cache_record_new(out, &fields);
    }
    sr_buf_dispose(&both);
    return rc;
}

int sr_stored_withdraw(struct sr_cache_record **out, const struct sr_cache_record *record)
{
    struct sr_cache_fields fields = record->f;
    char head[32];
    int n = snprintf(head, sizeof head, "%u 0 0", FORM);
    fields.verdict = sr_bytes_of(head, (size_t)n);
    fields.answer = SR_LIT("");
    return sr_cache_record_new(out, &fields);
}

/* Takes a number and the space behind it, if there is one. */
static bool take_number(struct sr_bytes *text, unsigned long long *out)
{
    const char *space = text->n ? memchr(text->p, ' ', text->n) : NULL;
    size_t n = space ? (size_t)(space - text->p) : text->n;
    if (!sr_bytes_to_u64(sr_bytes_of(text->p, n), out))
        return false;
    n += space ? 1 : 0;
    *text = sr_bytes_of(text->p + n, text->n - n);
    return true;
}

int sr_stored_read(struct sr_stored *out, const struct sr_cache_record *record)
{
    struct sr_bytes head = record->f.verdict, both = record->f.answer;
    unsigned long long form, turns, split;
    if (record->f.form != SR_CACHE_JSON || !take_number(&head, &form) || form != FORM ||
        !take_number(&head, &turns) || !turns || turns > TURNS_MAX || !take_number(&head, &split) || head.n ||
        split > both.n)
        return SR_EPARSE;
    *out = (struct sr_stored){.response = sr_bytes_of(both.p, (size_t)split),
                              .input = sr_bytes_of(both.p + split, both.n - (size_t)split),
                              .turns = (int)turns};
    return is_good(out) ? SR_OK : SR_EPARSE;
}

/* ---- its parts ---- */

struct sr_bytes sr_stored_id(struct sr_bytes response, struct sr_arena *arena)
{
    sr_json_view root;
    struct sr_bytes id = {NULL, 0};
    if (sr_json_view_open(&root, response, NULL) == SR_OK) {
        sr_json_view value = sr_json_view_get(root, "id");
        if (!sr_json_view_is_string(value) || value.n > SR_STORED_ID_MAX + 2 ||
            !sr_json_view_dup(value, arena, &id))
            id = (struct sr_bytes){NULL, 0};
    }
    return id;
}

/* Appends the inside of a list, after a comma where something is before it. */
static int append_list(struct sr_buf *out, struct sr_bytes list, size_t from)
{
    struct sr_bytes inside = sr_bytes_trim(sr_bytes_of(list.p + 1, list.n - 2));
    int rc = SR_OK;
    if (inside.n && out->len > from)
        rc = sr_buf_append(out, ",", 1);
    return rc ? rc : sr_buf_append_bytes(out, inside);
}

static int append_input(struct sr_buf *out, struct sr_bytes input, size_t from)
{
    int rc = SR_OK;
    if (!input.n || input.p[0] == 'n')
        return SR_OK;
    if (input.p[0] == '[')
        return append_list(out, input, from);
    if (input.p[0] != '"')
        return SR_EINVAL;
    if (out->len > from)
        rc = sr_buf_append(out, ",", 1);
    if (!rc)
        rc = sr_buf_append_bytes(out, SR_LIT("{\"type\":\"message\",\"role\":\"user\",\"content\":"));
    if (!rc)
        rc = sr_buf_append_bytes(out, input);
    return rc ? rc : sr_buf_append(out, "}", 1);
}

int sr_stored_items(struct sr_bytes input, struct sr_buf *out)
{
    int rc = sr_buf_append(out, "[", 1);
    if (!rc)
        rc = append_input(out, input, out->len);
    return rc ? rc : sr_buf_append(out, "]", 1);
}

int sr_stored_continue(const struct sr_stored *stored, struct sr_bytes input, struct sr_buf *out)
{
    int rc = sr_buf_append(out, "[", 1);
    size_t from = out->len;
    if (!rc)
        rc = append_list(out, stored->input, from);
    if (!rc)
        rc = append_list(out, stored->output, from);
    if (!rc)
        rc = append_input(out, input, from);
    return rc ? rc : sr_buf_append(out, "]", 1);
}

int sr_stored_name_previous(struct sr_bytes response, struct sr_bytes id, struct sr_buf *out)
{
    sr_json_view root;
    struct sr_bytes old = {NULL, 0};
    if (id.n && sr_json_view_open(&root, response, NULL) == SR_OK)
        old = sr_json_view_get(root, "previous_response_id");
    if (!old.p)
        return sr_buf_append_bytes(out, response);
    size_t at = (size_t)(old.p - response.p);
    int rc = sr_buf_append(out, response.p, at);
    if (!rc)
        rc = sr_buf_append(out, "\"", 1);
    if (!rc)
        rc = sr_buf_append_json(out, id);
    if (!rc)
        rc = sr_buf_append(out, "\"", 1);
    return rc ? rc : sr_buf_append(out, old.p + old.n, response.n - at - old.n);
}
