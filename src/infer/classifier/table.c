/* The judge's memory: texts by their bytes and windows by their ids, those under way and those that are
 * remembered, in one table with one order of age. */
#include "infer/classifier/private.h"

#include <string.h>

static void item_unref(struct sr_judge_item *item)
{
    if (item->key.kind == SR_JUDGE_TEXT)
        sr_judge_reading_unref((struct sr_judge_reading *)item);
    else
        sr_judge_window_unref((struct sr_judge_window *)item);
}

static struct sr_judge_item **bucket_of(struct sr_judge *judge, const struct sr_judge_key *key)
{
    uint32_t head;
    memcpy(&head, key->digest, sizeof head);
    return &judge->buckets[(head ^ (uint32_t)key->salt) % SR_JUDGE_BUCKETS];
}

struct sr_judge_item *sr_judge_find(struct sr_judge *judge, const struct sr_judge_key *key)
{
    struct sr_judge_item *item = *bucket_of(judge, key);
    while (item && (item->key.kind != key->kind || item->key.salt != key->salt ||
                    memcmp(item->key.digest, key->digest, SR_SHA256_SIZE) != 0))
        item = item->chain;
    return item;
}

void sr_judge_list(struct sr_judge *judge, struct sr_judge_item *item)
{
    struct sr_judge_item **bucket = bucket_of(judge, &item->key);
    item->chain = *bucket;
    *bucket = item;
    item->listed = true;
}

void sr_judge_unlist(struct sr_judge *judge, struct sr_judge_item *item)
{
    struct sr_judge_item **at = bucket_of(judge, &item->key);
    if (!item->listed)
        return;
    while (*at != item)
        at = &(*at)->chain;
    *at = item->chain;
    item->listed = false;
}

static void unlink_age(struct sr_judge *judge, struct sr_judge_item *item)
{
    *(item->newer ? &item->newer->older : &judge->newest) = item->older;
    *(item->older ? &item->older->newer : &judge->oldest) = item->newer;
    item->newer = item->older = NULL;
}

static void link_newest(struct sr_judge *judge, struct sr_judge_item *item)
{
    item->older = judge->newest;
    item->newer = NULL;
    *(judge->newest ? &judge->newest->newer : &judge->oldest) = item;
    judge->newest = item;
}

void sr_judge_remember(struct sr_judge *judge, struct sr_judge_item *item)
{
    link_newest(judge, item);
    judge->stats.memo_bytes += item->memory;
    judge->stats.memo_items++;
    while (judge->oldest && judge->stats.memo_bytes > judge->options.memo_bytes) {
        struct sr_judge_item *old = judge->oldest;
        unlink_age(judge, old);
        sr_judge_unlist(judge, old);
        judge->stats.memo_bytes -= old->memory;
        judge->stats.memo_items--;
        judge->stats.dropped++;
        item_unref(old);
    }
}

void sr_judge_renew(struct sr_judge *judge, struct sr_judge_item *item)
{
    unlink_age(judge, item);
    link_newest(judge, item);
    sr_ref_get(&item->ref);
}

void sr_judge_forget_all(struct sr_judge *judge)
{
    while (judge->newest) {
        struct sr_judge_item *next = judge->newest->older;
        item_unref(judge->newest);
        judge->newest = next;
    }
}
