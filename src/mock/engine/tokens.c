/* Tokens of texts, and marks. */
#include "mock/engine/tokens.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/mem.h"

enum kind { WORD, SPACE, OTHER };

void sr_mock_tokens_init(struct sr_mock_tokens *tokens, size_t max)
{
    *tokens = (struct sr_mock_tokens){.max = max};
}

void sr_mock_tokens_dispose(struct sr_mock_tokens *tokens)
{
    sr_mem_free(tokens->ids);
    tokens->ids = NULL;
    tokens->n = tokens->cap = 0;
}

static enum kind kind_of(char c)
{
    unsigned char u = (unsigned char)c;
    if (u >= 0x80 || u == '_' || (u >= '0' && u <= '9') || ((u | 0x20) >= 'a' && (u | 0x20) <= 'z'))
        return WORD;
    return u == ' ' || u == '\n' || u == '\t' || u == '\r' ? SPACE : OTHER;
}

/* Bytes of the token at the start of `text`, which is not empty. */
static size_t token_bytes(struct sr_bytes text)
{
    size_t max = text.n < SR_MOCK_TOKEN_BYTES ? text.n : SR_MOCK_TOKEN_BYTES, n = 1;
    enum kind kind = kind_of(text.p[0]);
    if (kind == SPACE && text.p[0] == ' ' && max > 1 && kind_of(text.p[1]) == WORD)
        kind = WORD;
    if (kind == OTHER)
        return 1;
    while (n < max && kind_of(text.p[n]) == kind)
        n++;
    return n;
}

static int put(struct sr_mock_tokens *tokens, uint32_t id)
{
    int rc = sr_grow(&tokens->ids, &tokens->cap, tokens->n + 1, sizeof *tokens->ids, tokens->max);
    if (rc == SR_OK)
        tokens->ids[tokens->n++] = id;
    return rc;
}

int sr_mock_tokens_text(struct sr_mock_tokens *tokens, struct sr_bytes text)
{
    int rc = SR_OK;
    while (text.n > 0 && rc == SR_OK) {
        size_t n = token_bytes(text);
        uint64_t hash = n > 1 ? sr_hash64(sr_bytes_of(text.p, n), 0) : 0;
        rc = put(tokens, n > 1 ? SR_MOCK_TOKEN_FIRST + (uint32_t)(hash % SR_MOCK_TOKEN_SPREAD)
                               : (unsigned char)text.p[0]);
        text = sr_bytes_of(text.p + n, text.n - n);
    }
    return rc;
}

int sr_mock_tokens_mark(struct sr_mock_tokens *tokens, enum sr_mock_mark mark)
{
    return put(tokens, (uint32_t)mark);
}

enum sr_mock_mark sr_mock_role_mark(struct sr_bytes role)
{
    static const struct {
        struct sr_bytes name;
        enum sr_mock_mark mark;
    } roles[] = {
        {{"system", 6}, SR_MOCK_MARK_SYSTEM}, {{"developer", 9}, SR_MOCK_MARK_SYSTEM},
        {{"user", 4}, SR_MOCK_MARK_USER},     {{"assistant", 9}, SR_MOCK_MARK_ASSISTANT},
        {{"tool", 4}, SR_MOCK_MARK_TOOL},
    };
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (sr_bytes_eq(role, roles[i].name))
            return roles[i].mark;
    return SR_MOCK_MARK_OTHER;
}
