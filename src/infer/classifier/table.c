/*
 * Texts by their bytes and windows by their ids: those that are pending and those that are remembered, in one
 * table with one order of age.
 *
 * Not model/memo.h, which copies small values: an item is shared by reference among the results and asks that
 * use it, a pending one by those that join it, and "remembered, pending or to be begun" has to be one
 * question under one lock, or two requests would compute the same window. It has a limit of its own, of the
 * same size (guards.memo_bytes).
 */
#include "infer/classifier/private.h"

#include <string.h>

static struct sr_neural_item **bucket_of(struct sr_neural *neural, const struct sr_neural_key *key)
{
    uint32_t head;
    memcpy(&head, key->digest, sizeof head);
    return &neural->buckets[(head ^ (uint32_t)key->salt) % SR_NEURAL_BUCKETS];
}

struct sr_neural_item *sr_neural_find(struct sr_neural *neural, const struct sr_neural_key *key)
{
    struct sr_neural_item *item = *bucket_of(neural, key);
    while (item && (item->key.kind != key->kind || item->key.salt != key->salt ||
                    memcmp(item->key.digest, key->digest, SR_SHA256_SIZE) != 0))
        item = item->chain;
    return item;
}

void sr_neural_list(struct sr_neural *neural, struct sr_neural_item *item)
{
    struct sr_neural_item **bucket = bucket_of(neural, &item->key);
    item->chain = *bucket;
    *bucket = item;
    item->listed = true;
}

void sr_neural_unlist(struct sr_neural *neural, struct sr_neural_item *item)
{
    struct sr_neural_item **at = bucket_of(neural, &item->key);
    if (!item->listed)
        return;
    while (*at != item)
        at = &(*at)->chain;
    *at = item->chain;
    item->listed = false;
}

static void unlink_age(struct sr_neural *neural, struct sr_neural_item *item)
{
    *(item->newer ? &item->newer->older : &neural->newest) = item->older;
    *(item->older ? &item->older->newer : &neural->oldest) = item->newer;
    item->newer = item->older = NULL;
}

static void link_newest(struct sr_neural *neural, struct sr_neural_item *item)
{
    item->older = neural->newest;
    item->newer = NULL;
    *(neural->newest ? &neural->newest->newer : &neural->oldest) = item;
    neural->newest = item;
}

void sr_neural_remember(struct sr_neural *neural, struct sr_neural_item *item)
{
    link_newest(neural, item);
    neural->stats.memo_bytes += item->memory;
    neural->stats.memo_items++;
    while (neural->oldest && neural->stats.memo_bytes > neural->options.memo_bytes) {
        struct sr_neural_item *old = neural->oldest;
        unlink_age(neural, old);
        sr_neural_unlist(neural, old);
        neural->stats.memo_bytes -= old->memory;
        neural->stats.memo_items--;
        neural->stats.dropped++;
        old->unref(old);
    }
}

void sr_neural_renew(struct sr_neural *neural, struct sr_neural_item *item)
{
    unlink_age(neural, item);
    link_newest(neural, item);
    sr_ref_get(&item->ref);
}

void sr_neural_forget_all(struct sr_neural *neural)
{
    while (neural->newest) {
        struct sr_neural_item *next = neural->newest->older;
        neural->newest->unref(neural->newest);
        neural->newest = next;
    }
}
