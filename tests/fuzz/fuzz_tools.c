/*
 * Any bytes as a tool database (first byte even) or as its kept vectors (odd). Tools that are accepted have a
 * name and lie in the bytes; vectors are found only in a file that was written whole.
 */
#include "router/toolbox/database.h"
#include "router/toolbox/kept.h"

#include <stdlib.h>

#define D 4u

static void database(struct sr_bytes text)
{
    struct sr_arena arena;
    struct sr_tool_set set;
    struct sr_err err = {0};
    sr_arena_init(&arena, (size_t)64 << 20);
    int rc = sr_tool_database_read(text, &arena, &set, &err);
    if (rc && rc != SR_ENOMEM && !err.message[0])
        abort();
    for (size_t i = 0; rc == SR_OK && i < set.n; i++)
        if (!set.tools[i].name.n || set.tools[i].json.p < text.p ||
            set.tools[i].json.p + set.tools[i].json.n > text.p + text.n)
            abort();
    sr_arena_dispose(&arena);
}

static void kept(struct sr_bytes file)
{
    static const char *const texts[] = {"a", "b"};
    const struct sr_kept_of of = {SR_LIT("encoder"), D};
    float vectors[2 * D] = {0};
    bool has[2] = {false, false};
    size_t found = sr_kept_read(file, &of, texts, 2, vectors, has);
    if (found != (size_t)has[0] + (size_t)has[1])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct sr_bytes rest = sr_bytes_of((const char *)data + 1, size - 1);
    if (data[0] % 2 == 0)
        database(rest);
    else
        kept(rest);
    return 0;
}
