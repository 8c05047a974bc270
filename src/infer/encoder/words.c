/* One list of the tables of the process, compared by content, under one lock. */
#include "infer/encoder/words.h"

#include "base/hash.h"
#include "base/mem.h"

#include <pthread.h>
#include <sys/mman.h>

struct sr_enc_words {
    struct sr_enc_words *next; /* this and `takers`: under the lock */
    size_t takers;
    uint64_t hash;
    size_t n;
    void *data;
};

static pthread_mutex_t words_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sr_enc_words *words_list;

static struct sr_enc_words *find(uint64_t hash, struct sr_bytes table)
{
    struct sr_enc_words *words = words_list;
    while (words &&
           !(words->hash == hash && words->n == table.n && memcmp(words->data, table.p, table.n) == 0))
        words = words->next;
    return words;
}

static struct sr_enc_words *copy(uint64_t hash, struct sr_bytes table)
{
    struct sr_enc_words *words = sr_mem_calloc(1, sizeof *words);
    void *data =
        words ? mmap(NULL, table.n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (data == MAP_FAILED) {
        sr_mem_free(words);
        return NULL;
    }
    memcpy(data, table.p, table.n);
    *words = (struct sr_enc_words){.next = words_list, .hash = hash, .n = table.n, .data = data};
    words_list = words;
    return words;
}

int sr_enc_words_take(struct sr_enc_words **out, struct sr_bytes table)
{
    uint64_t hash = sr_hash64(table, 0);
    pthread_mutex_lock(&words_lock);
    struct sr_enc_words *words = find(hash, table);
    if (!words)
        words = copy(hash, table);
    if (words)
        words->takers++;
    pthread_mutex_unlock(&words_lock);
    *out = words;
    return words ? SR_OK : SR_ENOMEM;
}

const void *sr_enc_words_data(const struct sr_enc_words *words)
{
    return words->data;
}

void sr_enc_words_let_go(struct sr_enc_words *words)
{
    if (!words)
        return;
    pthread_mutex_lock(&words_lock);
    bool last = --words->takers == 0;
    struct sr_enc_words **link = &words_list;
    while (last && *link != words)
        link = &(*link)->next;
    if (last)
        *link = words->next;
    pthread_mutex_unlock(&words_lock);
    if (last) {
        munmap(words->data, words->n);
        sr_mem_free(words);
    }
}
