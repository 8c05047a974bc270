/* Arms in a table with open addressing that only grows; requests in places by the hash of their id. */
#include "select/state/private.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

int sr_arms_new(struct sr_select_arms **out)
{
    struct sr_select_arms *arms = sr_mem_calloc(1, sizeof *arms);
    *out = arms;
    if (!arms)
        return SR_ENOMEM;
    pthread_mutex_init(&arms->lock, NULL);
    return SR_OK;
}

void sr_arms_free(struct sr_select_arms *arms)
{
    if (!arms)
        return;
    for (size_t i = 0; i < SR_ARMS_SLOTS; i++)
        for (size_t k = 0; k < 3; k++)
            sr_mem_free(arms->entries[i].names[k]);
    pthread_mutex_destroy(&arms->lock);
    sr_mem_free(arms);
}

uint64_t sr_arm_key(const char *decision, const char *model, const char *lora)
{
    uint64_t key = sr_hash64(sr_bytes_str(decision), 0);
    key = sr_hash64(sr_bytes_str(model), key);
    return sr_hash64(sr_bytes_str(lora ? lora : ""), key) | 1;
}

/* The place of a key, or the free one where it would be. */
static size_t place_of(const struct sr_select_arms *arms, uint64_t key)
{
    size_t at = (size_t)(key >> 1) % SR_ARMS_SLOTS;
    while (arms->entries[at].key && arms->entries[at].key != key)
        at = (at + 1) % SR_ARMS_SLOTS;
    return at;
}

static bool name_entry(struct sr_arm_entry *entry, const struct sr_arm_name *name)
{
    const char *const names[3] = {name->decision, name->model, name->lora ? name->lora : ""};
    for (size_t k = 0; k < 3; k++) {
        size_t n = strlen(names[k]);
        entry->names[k] = sr_mem_dup(names[k], n < SR_ARMS_NAME_MAX ? n : SR_ARMS_NAME_MAX);
        if (!entry->names[k]) {
            while (k > 0)
                sr_mem_free(entry->names[--k]);
            return false;
        }
    }
    return true;
}

struct sr_arm_entry *sr_arms_entry(struct sr_select_arms *arms, const struct sr_arm_name *name)
{
    uint64_t key = sr_arm_key(name->decision, name->model, name->lora);
    struct sr_arm_entry *entry = &arms->entries[place_of(arms, key)];
    if (entry->key)
        return entry;
    if (arms->n == SR_ARMS_MAX || !name_entry(entry, name))
        return NULL;
    entry->key = key;
    entry->memory = 1;
    arms->n++;
    return entry;
}

struct sr_arm sr_arms_get(struct sr_select_arms *arms, uint64_t key)
{
    pthread_mutex_lock(&arms->lock);
    struct sr_arm arm = arms->entries[place_of(arms, key)].arm;
    pthread_mutex_unlock(&arms->lock);
    return arm;
}

/* A mean in which each older value has faded by one step. */
static void fold(double *mean, double *weight, double value, int memory)
{
    double faded = *weight * exp2(-1.0 / (memory > 0 ? memory : 1));
    *mean = (*mean * faded + value) / (faded + 1);
    *weight = faded + 1;
}

static void note_quality(struct sr_select_arms *arms, struct sr_arm_entry *entry, double quality, int memory)
{
    quality = quality < 0 ? 0 : quality > 1 ? 1 : quality;
    fold(&entry->arm.quality, &entry->arm.quality_weight, quality, memory);
    arms->changes++;
}

void sr_arms_outcome(struct sr_select_arms *arms, const struct sr_arm_name *name, double quality, int memory)
{
    pthread_mutex_lock(&arms->lock);
    struct sr_arm_entry *entry = isfinite(quality) ? sr_arms_entry(arms, name) : NULL;
    if (entry)
        note_quality(arms, entry, quality, memory);
    pthread_mutex_unlock(&arms->lock);
}

void sr_arms_time(struct sr_select_arms *arms, const struct sr_arm_name *name, double ttft_ms, int memory)
{
    pthread_mutex_lock(&arms->lock);
    struct sr_arm_entry *entry = isfinite(ttft_ms) && ttft_ms >= 0 ? sr_arms_entry(arms, name) : NULL;
    if (entry) {
        fold(&entry->arm.ttft_ms, &entry->arm.ttft_weight, ttft_ms, memory);
        arms->changes++;
    }
    pthread_mutex_unlock(&arms->lock);
}

void sr_arms_placed(struct sr_select_arms *arms, struct sr_bytes request_id, const struct sr_arm_name *name,
                    int memory)
{
    uint64_t id = sr_hash64(request_id, 0) | 1;
    pthread_mutex_lock(&arms->lock);
    struct sr_arm_entry *entry = sr_arms_entry(arms, name);
    if (entry) {
        entry->memory = memory;
        arms->requests[(id >> 1) % SR_ARMS_REQUESTS] =
            (struct sr_arm_request){id, (uint32_t)(entry - arms->entries)};
    }
    pthread_mutex_unlock(&arms->lock);
}

int sr_arms_feedback(struct sr_select_arms *arms, struct sr_bytes request_id, double quality)
{
    uint64_t id = sr_hash64(request_id, 0) | 1;
    int rc = SR_ENOENT;
    pthread_mutex_lock(&arms->lock);
    struct sr_arm_request *request = &arms->requests[(id >> 1) % SR_ARMS_REQUESTS];
    if (request->id == id && isfinite(quality)) {
        struct sr_arm_entry *entry = &arms->entries[request->slot];
        note_quality(arms, entry, quality, entry->memory);
        request->id = 0;
        rc = SR_OK;
    }
    pthread_mutex_unlock(&arms->lock);
    return rc;
}

uint64_t sr_arms_changes(struct sr_select_arms *arms)
{
    pthread_mutex_lock(&arms->lock);
    uint64_t changes = arms->changes;
    pthread_mutex_unlock(&arms->lock);
    return changes;
}
