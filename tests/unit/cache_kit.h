/*
 * What tests of the cache share: records that are made of numbers, a clock that a test moves, and lookups.
 *
 * A test that moves the clock defines CACHE_KIT_CLOCK before it includes this file: its clock_gettime is the
 * program's.
 */
#ifndef TESTS_UNIT_CACHE_KIT_H
#define TESTS_UNIT_CACHE_KIT_H

#include "cmocka_all.h"

#include "base/clock.h"
#include "cache/cache.h"
#include "cache/index/pack.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIT_DIMENSIONS 16u

#ifdef CACHE_KIT_CLOCK
/* Added to what the system's clocks say. */
static _Atomic(int64_t) kit_wall_ms, kit_mono_ms;

int clock_gettime(clockid_t id, struct timespec *out)
{
    long rc = syscall(SYS_clock_gettime, id, out);
    int64_t ms = id == CLOCK_REALTIME ? kit_wall_ms : id == CLOCK_MONOTONIC ? kit_mono_ms : 0;
    int64_t ns = out->tv_nsec + ms % 1000 * 1000000;
    out->tv_sec += ms / 1000 + (ns < 0 ? -1 : ns / 1000000000);
    out->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
    return (int)rc;
}
#endif

static inline uint64_t kit_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t kit_now_ms(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
}

/* A key that differs from another of its kind in the bytes of the number only. */
static inline struct sr_cache_key kit_key(uint8_t kind, uint32_t number)
{
    struct sr_cache_key key;
    memset(key.bytes, 0x5a, sizeof key.bytes);
    key.bytes[3] = kind;
    memcpy(key.bytes + 20, &number, sizeof number);
    return key;
}

enum { KIT_REQUEST = 1, KIT_EXACT, KIT_PARTITION, KIT_TENANT, KIT_USER };

/* The vector of a question: questions 10n to 10n + 9 are near to each other (above 0.95), others are far. */
static inline void kit_unit(uint32_t question, float unit[KIT_DIMENSIONS])
{
    uint64_t state = question / 10 + 1, fine = question + 1000003;
    float length = 0;
    for (size_t i = 0; i < KIT_DIMENSIONS; i++) {
        unit[i] = (float)(kit_random(&state) >> 40) / (float)(1 << 23) - 1;
        unit[i] += 0.02f * ((float)(kit_random(&fine) >> 40) / (float)(1 << 23) - 1);
        length += unit[i] * unit[i];
    }
    for (size_t i = 0; i < KIT_DIMENSIONS; i++)
        unit[i] /= sqrtf(length);
}

struct kit_record {
    uint32_t partition, question;
    uint32_t request, tenant, user; /* 0: none */
    const char *model;
    int64_t created_ms, expires_ms; /* created 0: now */
    size_t answer;                  /* bytes; at least what names partition and question */
    bool flat;                      /* without a vector */
};

#define KIT_TEXT 64

/* The text of a question: that of its ten, but the last of ten says the opposite. */
static inline struct sr_bytes kit_text(uint32_t question, char text[KIT_TEXT])
{
    uint32_t ten = question / 10;
    snprintf(text, KIT_TEXT, "why is the sky%s blue above %c%c%c", question % 10 == 9 ? " not" : "",
             'a' + (char)(ten % 26), 'a' + (char)(ten / 26 % 26), 'a' + (char)(ten / 676 % 26));
    return sr_bytes_str(text);
}

static inline uint32_t kit_exact(uint32_t partition, uint32_t question)
{
    return partition << 16 | question;
}

static inline int kit_try_record(struct sr_cache_record **out, const struct kit_record *r)
{
    static _Thread_local char answer[1 << 20];
    float unit[KIT_DIMENSIONS];
    char packed[256], question[KIT_TEXT];
    int n = snprintf(answer, sizeof answer, "%u/%u;", r->partition, r->question);
    kit_unit(r->question, unit);
    assert_int_equal(sr_vector_pack(unit, KIT_DIMENSIONS, packed), SR_OK);
    struct sr_cache_fields f = {
        .exact = kit_key(KIT_EXACT, kit_exact(r->partition, r->question)),
        .partition = kit_key(KIT_PARTITION, r->partition),
        .created_ms = r->created_ms ? r->created_ms : kit_now_ms(),
        .expires_ms = r->expires_ms,
        .form = SR_CACHE_JSON,
        .model = sr_bytes_str(r->model),
        .question = kit_text(r->question, question),
        .answer = sr_bytes_of(answer, r->answer > (size_t)n ? r->answer : (size_t)n),
    };
    if (!r->flat)
        f.vector = sr_bytes_of(packed, sr_vector_packed_size(KIT_DIMENSIONS));
    if (r->request)
        f.request = kit_key(KIT_REQUEST, r->request);
    if (r->tenant)
        f.tenant = kit_key(KIT_TENANT, r->tenant);
    if (r->user)
        f.user = kit_key(KIT_USER, r->user);
    return sr_cache_record_new(out, &f);
}

static inline struct sr_cache_record *kit_record(struct kit_record r)
{
    struct sr_cache_record *record;
    assert_int_equal(kit_try_record(&record, &r), SR_OK);
    return record;
}

static inline void kit_put(struct sr_cache *cache, struct kit_record r)
{
    struct sr_cache_record *record = kit_record(r);
    assert_int_equal(sr_cache_put(cache, record), SR_OK);
    sr_cache_record_unref(record);
}

/* True when a record answers this question of this partition. */
static inline bool kit_is(const struct sr_cache_record *record, uint32_t partition, uint32_t question)
{
    char start[64];
    snprintf(start, sizeof start, "%u/%u;", partition, question);
    return sr_bytes_starts_with(record->f.answer, sr_bytes_str(start));
}

static inline struct sr_cache_limits kit_limits(size_t entries)
{
    return (struct sr_cache_limits){.max_entries = entries,
                                    .max_bytes = 1u << 30,
                                    .eviction = SR_CACHE_LRU,
                                    .dimensions = KIT_DIMENSIONS};
}

static inline struct sr_cache *kit_cache(size_t entries)
{
    struct sr_cache *cache;
    struct sr_cache_limits limits = kit_limits(entries);
    assert_int_equal(sr_cache_new(&cache, &limits), SR_OK);
    return cache;
}

static inline struct sr_cache_stats kit_stats(struct sr_cache *cache)
{
    struct sr_cache_stats stats;
    sr_cache_stats(cache, &stats);
    return stats;
}

/* An exact query; with `unit` a semantic one too. */
static inline struct sr_cache_query kit_query(uint32_t partition, uint32_t question, const float *unit)
{
    static _Thread_local char text[KIT_TEXT];
    return (struct sr_cache_query){.exact = kit_key(KIT_EXACT, kit_exact(partition, question)),
                                   .partition = kit_key(KIT_PARTITION, partition),
                                   .question = kit_text(question, text),
                                   .unit = unit,
                                   .dimensions = unit ? KIT_DIMENSIONS : 0,
                                   .threshold = 0.9f};
}

/* A lookup that ends at once. */
static inline struct sr_cache_lookup *kit_lookup(struct sr_cache *cache, const struct sr_cache_query *query)
{
    struct sr_cache_lookup *lookup;
    assert_int_equal(sr_cache_lookup(cache, query, NULL, NULL, NULL, &lookup), SR_OK);
    return lookup;
}

static inline enum sr_cache_hit kit_hit(struct sr_cache *cache, const struct sr_cache_query *query)
{
    struct sr_cache_lookup *lookup = kit_lookup(cache, query);
    enum sr_cache_hit hit = lookup->hit;
    assert_int_equal(lookup->record != NULL, hit != SR_CACHE_MISS);
    sr_task_unref(&lookup->task);
    return hit;
}

/* Whether the record of this question is found by its exact key. */
static inline bool kit_has(struct sr_cache *cache, uint32_t partition, uint32_t question)
{
    struct sr_cache_query query = kit_query(partition, question, NULL);
    return kit_hit(cache, &query) == SR_CACHE_HIT_EXACT;
}

#endif
