/* The msgpack that events need: unsigned numbers, strings, arrays, maps, nil, floats. */
#include "mock/engine/events.h"

#include <string.h>

void sr_mock_events_init(struct sr_mock_events *events, enum sr_mock_events_form form)
{
    *events = (struct sr_mock_events){.form = form};
    sr_buf_init(&events->body, SR_MOCK_EVENTS_MAX);
}

void sr_mock_events_dispose(struct sr_mock_events *events)
{
    sr_buf_dispose(&events->body);
}

/* ---- msgpack ---------------------------------------------------------------------------------------- */

static int put_be(struct sr_buf *out, uint8_t tag, uint64_t value, size_t bytes)
{
    uint8_t piece[9] = {tag};
    for (size_t i = 0; i < bytes; i++)
        piece[1 + i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    return sr_buf_append(out, piece, 1 + bytes);
}

static int put_uint(struct sr_buf *out, uint64_t value)
{
    if (value < 0x80)
        return put_be(out, (uint8_t)value, 0, 0);
    if (value <= UINT8_MAX)
        return put_be(out, 0xcc, value, 1);
    if (value <= UINT16_MAX)
        return put_be(out, 0xcd, value, 2);
    return value <= UINT32_MAX ? put_be(out, 0xce, value, 4) : put_be(out, 0xcf, value, 8);
}

static int put_array(struct sr_buf *out, size_t n)
{
    if (n < 16)
        return put_be(out, (uint8_t)(0x90 | n), 0, 0);
    return n <= UINT16_MAX ? put_be(out, 0xdc, n, 2) : put_be(out, 0xdd, n, 4);
}

static int put_nil(struct sr_buf *out)
{
    return put_be(out, 0xc0, 0, 0);
}

/* Up to 31 bytes. */
static int put_text(struct sr_buf *out, const char *text)
{
    int rc = put_be(out, (uint8_t)(0xa0 | strlen(text)), 0, 0);
    return rc == SR_OK ? sr_buf_append(out, text, strlen(text)) : rc;
}

/* ---- events ----------------------------------------------------------------------------------------- */

/* Opens an event of `members` besides its name. */
static int open_event(struct sr_mock_events *events, const char *name, size_t members)
{
    struct sr_buf *out = &events->body;
    events->n++;
    if (events->form == SR_MOCK_EVENTS_ARRAYS) {
        int rc = put_array(out, 1 + members);
        return rc == SR_OK ? put_text(out, name) : rc;
    }
    int rc = put_be(out, (uint8_t)(0x80 | (1 + members)), 0, 0);
    if (rc == SR_OK)
        rc = put_text(out, "type");
    return rc == SR_OK ? put_text(out, name) : rc;
}

static int name_member(struct sr_mock_events *events, const char *name)
{
    return events->form == SR_MOCK_EVENTS_MAPS ? put_text(&events->body, name) : SR_OK;
}

static int put_hashes(struct sr_mock_events *events, const uint64_t *hashes, size_t n)
{
    int rc = name_member(events, "block_hashes");
    if (rc == SR_OK)
        rc = put_array(&events->body, n);
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        rc = put_uint(&events->body, hashes[i]);
    return rc;
}

static int put_parent(struct sr_mock_events *events, const uint64_t *parent)
{
    int rc = name_member(events, "parent_block_hash");
    if (rc != SR_OK)
        return rc;
    return parent ? put_uint(&events->body, *parent) : put_nil(&events->body);
}

static int put_tokens(struct sr_mock_events *events, const uint32_t *tokens, size_t n)
{
    int rc = name_member(events, "token_ids");
    if (rc == SR_OK)
        rc = put_array(&events->body, n);
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        rc = put_uint(&events->body, tokens[i]);
    return rc;
}

static int put_stored(struct sr_mock_events *events, const uint64_t *hashes, size_t n, const uint64_t *parent,
                      const uint32_t *tokens, size_t block_tokens)
{
    int rc = open_event(events, "BlockStored", events->form == SR_MOCK_EVENTS_ARRAYS ? 6 : 4);
    if (rc == SR_OK)
        rc = put_hashes(events, hashes, n);
    if (rc == SR_OK)
        rc = put_parent(events, parent);
    if (rc == SR_OK)
        rc = put_tokens(events, tokens, n * block_tokens);
    if (rc == SR_OK)
        rc = name_member(events, "block_size");
    if (rc == SR_OK)
        rc = put_uint(&events->body, block_tokens);
    if (rc != SR_OK || events->form == SR_MOCK_EVENTS_MAPS)
        return rc;
    rc = put_nil(&events->body); /* lora_id */
    return rc == SR_OK ? put_text(&events->body, "GPU") : rc;
}

void sr_mock_events_stored(struct sr_mock_events *events, const uint64_t *hashes, size_t n,
                           const uint64_t *parent, const uint32_t *tokens, size_t block_tokens)
{
    if (events->rc == SR_OK)
        events->rc = put_stored(events, hashes, n, parent, tokens, block_tokens);
}

static int put_removed(struct sr_mock_events *events, uint64_t hash)
{
    bool arrays = events->form == SR_MOCK_EVENTS_ARRAYS;
    int rc = open_event(events, "BlockRemoved", arrays ? 2 : 1);
    if (rc == SR_OK)
        rc = put_hashes(events, &hash, 1);
    return rc == SR_OK && arrays ? put_text(&events->body, "GPU") : rc;
}

void sr_mock_events_removed(struct sr_mock_events *events, uint64_t hash)
{
    if (events->rc == SR_OK)
        events->rc = put_removed(events, hash);
}

void sr_mock_events_cleared(struct sr_mock_events *events)
{
    if (events->rc == SR_OK)
        events->rc = open_event(events, "AllBlocksCleared", 0);
}

static int put_batch(const struct sr_mock_events *events, double seconds, struct sr_buf *out)
{
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    int rc = put_array(out, 3);
    if (rc == SR_OK)
        rc = put_be(out, 0xcb, bits, 8);
    if (rc == SR_OK)
        rc = put_array(out, events->n);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(out, sr_buf_view(&events->body));
    return rc == SR_OK ? put_uint(out, 0) : rc; /* the rank */
}

int sr_mock_events_take(struct sr_mock_events *events, double seconds, struct sr_buf *out)
{
    int rc = events->rc == SR_OK ? put_batch(events, seconds, out) : events->rc;
    sr_buf_clear(&events->body);
    events->n = 0;
    events->rc = SR_OK;
    return rc;
}
