/* Profiles: the published weights by kind of text. */
#include "text/compress/compress.h"

static const struct {
    const char *name;
    double textrank, position, tfidf, novelty, depth;
    size_t first, last;
} profiles[] = {
    {"default", 0.20, 0.40, 0.35, 0.05, 0.50, 3, 2},    {"coding", 0.15, 0.30, 0.40, 0.15, 0.60, 2, 4},
    {"medical", 0.20, 0.35, 0.30, 0.15, 0.50, 3, 2},    {"security", 0.15, 0.30, 0.25, 0.30, 0.60, 2, 3},
    {"multi_turn", 0.15, 0.25, 0.35, 0.10, 0.50, 2, 5},
};
#define N_PROFILES (sizeof profiles / sizeof profiles[0])

static bool same_name(struct sr_bytes given, const char *name)
{
    if (given.n != strlen(name))
        return false;
    for (size_t i = 0; i < given.n; i++) {
        char c = sr_ascii_lower(given.p[i]);
        if ((c == '-' ? '_' : c) != name[i])
            return false;
    }
    return true;
}

bool sr_compress_profile(struct sr_bytes name, struct sr_compress_settings *settings)
{
    size_t found = 0;
    struct sr_bytes given = sr_bytes_trim(name);
    while (given.n && found < N_PROFILES && !same_name(given, profiles[found].name))
        found++;
    size_t use = found < N_PROFILES ? found : 0;
    *settings = (struct sr_compress_settings){
        .budget = SR_COMPRESS_BUDGET,
        .textrank = profiles[use].textrank,
        .position = profiles[use].position,
        .tfidf = profiles[use].tfidf,
        .novelty = profiles[use].novelty,
        .depth = profiles[use].depth,
        .first = profiles[use].first,
        .last = profiles[use].last,
    };
    return found < N_PROFILES;
}
