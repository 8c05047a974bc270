/* The system's list when it is newer than the library's own. */
#include "text/entity/public_suffix.h"

#include <libpsl.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static psl_ctx_t *list;

static void load(void)
{
    list = psl_latest(NULL);
}

bool sr_public_suffix_has(struct sr_bytes name)
{
    char text[254];
    if (name.n == 0 || name.n >= sizeof text)
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    pthread_once(&once, load);
    if (!list)
        return false;
    /* Names under no entry of the list count as suffixes of one label; they are not accepted as domains. */
    const char *own = psl_registrable_domain(list, text);
    const char *suffix = psl_unregistrable_domain(list, text);
    return own && suffix && psl_is_public_suffix2(list, suffix, PSL_TYPE_ANY | PSL_TYPE_NO_STAR_RULE);
}
