/*
 * Counts by group: for each value of a few keys (the file, the label, the language, the length, the tier that
 * answered) how often something was so.
 *
 * A group has up to two rates, of which each row says how much it adds. Knows no task.
 */
#ifndef SR_CLI_EVAL_TALLY_H
#define SR_CLI_EVAL_TALLY_H

#include "cli/classify/report.h"

#include <stdbool.h>

#define SR_TALLY_RATES      2
#define SR_TALLY_VALUES_MAX 256 /* of one key; rows of further ones are counted as "(others)" */
#define SR_TALLY_VALUE_MAX  64  /* bytes of a value that are kept */

enum sr_tally_key {
    SR_TALLY_FILE,
    SR_TALLY_LABEL,
    SR_TALLY_GROUP, /* a member of the rows that the user names */
    SR_TALLY_LANG,
    SR_TALLY_TOKENS, /* ranges of the estimated length */
    SR_TALLY_TIER,   /* whose answer it is */
    SR_TALLY_KEYS,
};

/* Parts of a whole: `hits` of `of`. */
struct sr_tally_rate {
    size_t hits, of;
};

struct sr_tally_row {
    struct sr_bytes values[SR_TALLY_KEYS]; /* p NULL: the row has none; of SR_TALLY_TOKENS unused */
    size_t tokens;
    struct sr_tally_rate rates[SR_TALLY_RATES];
};

struct sr_tally_entry {
    char value[SR_TALLY_VALUE_MAX];
    size_t rows;
    struct sr_tally_rate rates[SR_TALLY_RATES];
};

struct sr_tally_group {
    struct sr_tally_entry *items;
    size_t n, cap;
};

struct sr_tally {
    const char *rates[SR_TALLY_RATES];  /* names in JSON; NULL: no such rate */
    const char *titles[SR_TALLY_RATES]; /* heads of columns */
    const char *group;                  /* what SR_TALLY_GROUP is called; NULL: not counted */
    struct sr_tally_group groups[SR_TALLY_KEYS];
    size_t rows;
};

void sr_tally_dispose(struct sr_tally *tally);

/* SR_ENOMEM. */
int sr_tally_add(struct sr_tally *tally, const struct sr_tally_row *row) SR_WARN_UNUSED;

/* Members of an object: the share of each tier, "tiers":{"linear":0.58,"neural":0.42}, and
 * "by":{"file":{"a.jsonl":{"rows":3,"recall":...}},...}. */
void sr_tally_put_json(const struct sr_tally *tally, struct sr_report *report);

/* The mean of a rate over the files that have it, and how many they are. */
double sr_tally_mean(const struct sr_tally *tally, size_t rate, size_t *files);

/* The end that all documents share: ,"us":...,"tiers":{...},"by":{...}} and a line end; or the tables. */
void sr_tally_put_end(const struct sr_tally *tally, double us, bool json, struct sr_report *report);

#endif
