/* Entries for tests of the history. */
#ifndef TESTS_UNIT_HISTORY_KIT_H
#define TESTS_UNIT_HISTORY_KIT_H

#include "base/clock.h"
#include "history/history.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

static inline int64_t history_now_us(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_US);
}

/* An entry of that id, which ended at `us`; change `facts` first where more is wanted. */
static inline struct sr_history_entry *history_entry(struct sr_history_facts *facts, const char *id,
                                                     int64_t us)
{
    struct sr_history_entry *entry;
    facts->time_us = us - 1000;
    facts->ended_us = us;
    facts->texts[SR_HISTORY_ID] = sr_bytes_str(id);
    assert_int_equal(sr_history_entry_new(&entry, facts), SR_OK);
    return entry;
}

/* Adds entries "FIRST".."LAST" that have just ended. */
static inline void history_add(struct sr_history *history, int first, int last)
{
    struct sr_history_facts facts;
    char id[16];
    sr_history_facts_init(&facts);
    for (int i = first; i <= last; i++) {
        snprintf(id, sizeof id, "%d", i);
        struct sr_history_entry *entry = history_entry(&facts, id, history_now_us());
        sr_history_add(history, entry);
        sr_history_entry_unref(entry);
    }
}

/* The ids that are there, oldest first, with a space after each. */
static inline const char *history_ids(struct sr_history *history)
{
    static char text[4096];
    struct sr_history_entry *entries[3];
    uint64_t from = 0;
    size_t n, at = 0;
    text[0] = 0;
    while ((n = sr_history_take(history, &from, entries, 3)) != 0) {
        for (size_t i = 0; i < n; i++) {
            struct sr_bytes id = entries[i]->f.texts[SR_HISTORY_ID];
            at += (size_t)snprintf(text + at, sizeof text - at, "%.*s ", (int)id.n, id.p);
            sr_history_entry_unref(entries[i]);
        }
    }
    return text;
}

#endif
