/* PCRE2 with JIT; the limits that keep a hostile text from costing more than a bounded time. */
#include "signal/keyword/regex.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define PATTERN_MAX    ((size_t)8 << 10)
#define STEPS_MAX      50000               /* backtracking steps from one start position */
#define HEAP_MAX_KIB   1024                /* for the interpreter, where there is no JIT */
#define SLICE          ((size_t)512)       /* start positions between two looks at the clock */
#define BUDGET_NS      (20 * SR_NS_PER_MS) /* processor time for a text, and as much more for each byte: */
#define BUDGET_NS_BYTE 100

struct sr_regex {
    pcre2_code *code;
    pcre2_match_context *context; /* limits; replaced by a copy where the offset limit moves */
};

static uint64_t thread_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * SR_NS_PER_S + (uint64_t)ts.tv_nsec;
}

int sr_regex_new(struct sr_regex **out, struct sr_bytes pattern, bool case_sensitive, struct sr_err *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_USE_OFFSET_LIMIT | PCRE2_NEVER_BACKSLASH_C |
                       (case_sensitive ? 0 : PCRE2_CASELESS);
    int code = 0;
    PCRE2_SIZE offset = 0;
    if (pattern.n > PATTERN_MAX)
        return sr_err_set(err, SR_ELIMIT, "the pattern has more than %zu bytes", PATTERN_MAX);
    struct sr_regex *regex = sr_mem_calloc(1, sizeof *regex);
    if (!regex)
        return SR_ENOMEM;
    regex->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &code, &offset, NULL);
    if (!regex->code) {
        PCRE2_UCHAR message[128] = "";
        pcre2_get_error_message(code, message, sizeof message);
        sr_regex_free(regex);
        return sr_err_set_at(err, SR_EPARSE, offset, "bad pattern at byte %zu: %s", (size_t)offset,
                             (char *)message);
    }
    /* Without JIT (another platform, no memory for code) the slower interpreter is used. */
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    regex->context = pcre2_match_context_create(NULL);
    if (!regex->context) {
        sr_regex_free(regex);
        return SR_ENOMEM;
    }
    pcre2_set_match_limit(regex->context, STEPS_MAX);
    pcre2_set_heap_limit(regex->context, HEAP_MAX_KIB);
    *out = regex;
    return SR_OK;
}

void sr_regex_free(struct sr_regex *regex)
{
    if (!regex)
        return;
    pcre2_match_context_free(regex->context);
    pcre2_code_free(regex->code);
    sr_mem_free(regex);
}

/* The next start offset after a match: its end, or one character further when the match was empty. */
static size_t step(struct sr_bytes text, size_t start, size_t end)
{
    int32_t cp;
    if (end > start || end >= text.n)
        return end > start ? end : end + 1;
    return end + sr_utf8_decode(text, end, &cp);
}

static size_t slice_end(struct sr_bytes text, size_t at)
{
    size_t end = at + SLICE < text.n ? at + SLICE : text.n;
    while (end < text.n && sr_utf8_is_tail(text.p[end]))
        end++;
    return end;
}

/* Processor time that may be used. Reading it is a system call, so it is read when as much time has passed by
 * the cheap clock, which is never behind. */
struct budget {
    uint64_t left, since; /* of the thread's time, as of the last reading */
    uint64_t look;        /* by the cheap clock: earlier it cannot be used up */
};

static void budget_begin(struct budget *budget, uint64_t ns)
{
    *budget = (struct budget){ns, thread_ns(), sr_clock_ns() + ns};
}

static bool budget_is_used(struct budget *budget)
{
    uint64_t now = sr_clock_ns();
    if (now <= budget->look)
        return false;
    uint64_t at = thread_ns(), used = at - budget->since;
    if (used > budget->left)
        return true;
    budget->left -= used;
    budget->since = at;
    budget->look = now + budget->left;
    return false;
}

static int count_matches(const struct sr_regex *regex, struct sr_bytes text, size_t max, size_t *count,
                         pcre2_match_context *context, pcre2_match_data *data)
{
    struct budget budget = {0};
    size_t at = 0;
    for (size_t round = 0; at <= text.n && *count < max; round++) {
        if (round == 1)
            budget_begin(&budget, BUDGET_NS + (uint64_t)text.n * BUDGET_NS_BYTE);
        else if (round > 1 && budget_is_used(&budget))
            return SR_ELIMIT;
        size_t end = slice_end(text, at);
        pcre2_set_offset_limit(context, end);
        int rc = pcre2_match(regex->code, (PCRE2_SPTR)text.p, text.n, at, PCRE2_NO_UTF_CHECK, data, context);
        if (rc == PCRE2_ERROR_NOMATCH) {
            at = end < text.n ? end : text.n + 1;
            continue;
        }
        if (rc < 0)
            return rc == PCRE2_ERROR_NOMEMORY ? SR_ENOMEM : SR_ELIMIT;
        const PCRE2_SIZE *found = pcre2_get_ovector_pointer(data);
        (*count)++;
        at = step(text, found[0], found[1]);
    }
    return SR_OK;
}

int sr_regex_count(const struct sr_regex *regex, struct sr_bytes text, size_t max, size_t *count)
{
    int rc = SR_ENOMEM;
    *count = 0;
    pcre2_match_context *context = pcre2_match_context_copy(regex->context);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    if (context && data)
        rc = count_matches(regex, text, max, count, context, data);
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    return rc;
}
