/*
 * Texts by their bytes and windows by their ids while they are pending. What is done goes to the memo
 * (model/memo.h), shared by reference among the results and asks that use it.
 *
 * All of it happens under the neural classifier's lock: "remembered, pending or to be begun" is one question,
 * or two requests would compute the same window.
 */
#include "infer/classifier/private.h"

#include <string.h>

static struct sr_neural_item **bucket_of(struct sr_neural *neural, const struct sr_memo_key *key)
{
    uint32_t head;
    memcpy(&head, key->digest, sizeof head);
    return &neural->buckets[(head ^ (uint32_t)key->salt) % SR_NEURAL_BUCKETS];
}

struct sr_neural_item *sr_neural_find(struct sr_neural *neural, const struct sr_memo_key *key)
{
    struct sr_neural_item *item = *bucket_of(neural, key);
    while (item && !sr_memo_key_eq(&item->entry.key, key))
        item = item->chain;
    if (!item)
        return (struct sr_neural_item *)sr_memo_find(neural->memo, key);
    sr_ref_get(&item->entry.ref);
    return item;
}

void sr_neural_list(struct sr_neural *neural, struct sr_neural_item *item)
{
    struct sr_neural_item **bucket = bucket_of(neural, &item->entry.key);
    item->chain = *bucket;
    *bucket = item;
    item->listed = true;
}

void sr_neural_unlist(struct sr_neural *neural, struct sr_neural_item *item)
{
    struct sr_neural_item **at = bucket_of(neural, &item->entry.key);
    if (!item->listed)
        return;
    while (*at != item)
        at = &(*at)->chain;
    *at = item->chain;
    item->listed = false;
}

void sr_neural_item_done(struct sr_neural *neural, struct sr_neural_item *item, bool remember)
{
    bool listed = item->listed;
    item->done = true;
    sr_neural_unlist(neural, item);
    if (listed && remember)
        sr_memo_keep(neural->memo, &item->entry);
}
