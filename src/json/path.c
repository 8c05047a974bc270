/* Compiles path specifications into the automaton by subset construction, and hashes keys. */
#include "json/path.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/mem.h"
#include "json/alike.h"

#define PATH_SPECS_MAX 1024
#define PATH_NODES_MAX 8192

enum step_kind { STEP_MEMBER, STEP_STAR, STEP_ELEMENT };

struct step {
    enum step_kind kind;
    struct sr_bytes text;
};

struct parsed {
    struct step steps[SR_PATH_STEPS_MAX];
    size_t n_steps, stars;
    uint16_t id;
    uint8_t tag;
};

struct builder {
    struct sr_paths *paths;
    struct parsed *specs;
};

static int parse_step(const char **at, struct step *step)
{
    const char *p = *at;
    if (*p == '[') {
        if (p[1] != ']')
            return SR_EINVAL;
        *step = (struct step){.kind = STEP_ELEMENT};
        *at = p + 2;
        return SR_OK;
    }
    size_t n = strcspn(p, ".[]");
    if (n == 0 || n > SR_PATH_KEY_BLOCK)
        return SR_EINVAL;
    *step = (struct step){.kind = n == 1 && *p == '*' ? STEP_STAR : STEP_MEMBER, .text = {p, n}};
    *at = p + n;
    return SR_OK;
}

static int parse_spec(struct parsed *spec, const char *path, struct sr_err *err)
{
    for (const char *p = path;;) {
        if (spec->n_steps == SR_PATH_STEPS_MAX)
            return sr_err_set(err, SR_EINVAL, "path `%s` has more than %d steps", path, SR_PATH_STEPS_MAX);
        struct step *step = &spec->steps[spec->n_steps];
        if (parse_step(&p, step))
            return sr_err_set_at(err, SR_EINVAL, (size_t)(p - path), "path `%s` is malformed", path);
        spec->n_steps++;
        spec->stars += step->kind == STEP_STAR;
        if (!*p)
            return SR_OK;
        if (*p == '.' && p[1] != '[')
            p++;
        else if (*p != '[')
            return sr_err_set_at(err, SR_EINVAL, (size_t)(p - path), "path `%s` is malformed", path);
    }
}

static int add_nodes(struct sr_paths *paths, size_t count)
{
    int rc = sr_grow(&paths->nodes, &paths->cap_nodes, paths->n_nodes + count, sizeof *paths->nodes,
                     PATH_NODES_MAX);
    if (rc)
        return rc;
    memset(paths->nodes + paths->n_nodes, 0, count * sizeof *paths->nodes);
    paths->n_nodes += count;
    return SR_OK;
}

static bool step_is(const struct parsed *spec, size_t depth, enum step_kind kind)
{
    return spec->n_steps > depth && spec->steps[depth].kind == kind;
}

/* The members of `set` that can take a step of `kind`; a name matches equal names and stars. */
static size_t select_specs(const struct builder *b, const uint16_t *set, size_t n, size_t depth,
                           const struct step *by, uint16_t *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct parsed *spec = &b->specs[set[i]];
        bool fits = step_is(spec, depth, by->kind) &&
                    (by->kind != STEP_MEMBER || sr_bytes_eq(spec->steps[depth].text, by->text));
        if (fits || (by->kind == STEP_MEMBER && step_is(spec, depth, STEP_STAR)))
            out[count++] = set[i];
    }
    return count;
}

/* True when set[i] is the first of the set that names its member. */
static bool first_of_name(const struct builder *b, const uint16_t *set, size_t i, size_t depth)
{
    if (!step_is(&b->specs[set[i]], depth, STEP_MEMBER))
        return false;
    for (size_t j = 0; j < i; j++)
        if (step_is(&b->specs[set[j]], depth, STEP_MEMBER) &&
            sr_bytes_eq(b->specs[set[j]].steps[depth].text, b->specs[set[i]].steps[depth].text))
            return false;
    return true;
}

static int build(struct builder *b, const uint16_t *set, size_t n, size_t depth, uint16_t *out);

static int build_names(struct builder *b, const uint16_t *set, size_t n, size_t depth, uint16_t node,
                       uint16_t *sub)
{
    struct sr_paths *paths = b->paths;
    size_t names = 0;
    for (size_t i = 0; i < n; i++)
        names += first_of_name(b, set, i, depth);
    int rc = sr_grow(&paths->keys, &paths->cap_keys, paths->n_keys + names, sizeof *paths->keys, UINT16_MAX);
    if (rc)
        return rc;
    size_t at = paths->n_keys;
    paths->nodes[node].first_key = (uint16_t)at;
    paths->nodes[node].n_keys = (uint16_t)names;
    paths->n_keys += names;
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        if (!first_of_name(b, set, i, depth))
            continue;
        const struct step *step = &b->specs[set[i]].steps[depth];
        uint16_t child = SR_PATH_DEAD;
        rc = build(b, sub, select_specs(b, set, n, depth, step, sub), depth + 1, &child);
        paths->keys[at++] = (struct sr_path_key){step->text, child};
    }
    return rc;
}

/* Creates the node of the paths in `set`, `depth` steps from the root. */
static int build(struct builder *b, const uint16_t *set, size_t n, size_t depth, uint16_t *out)
{
    uint16_t node = (uint16_t)b->paths->n_nodes, child = SR_PATH_DEAD;
    int rc = add_nodes(b->paths, 1);
    uint16_t *sub = rc ? NULL : sr_mem_alloc(n * sizeof *sub);
    if (!sub)
        return rc ? rc : SR_ENOMEM;
    const struct parsed *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct parsed *spec = &b->specs[set[i]];
        if (spec->n_steps == depth && (!best || spec->stars < best->stars))
            best = spec;
    }
    if (best) {
        b->paths->nodes[node].named = true;
        b->paths->nodes[node].id = best->id;
        b->paths->nodes[node].tag = best->tag;
    }
    size_t count = select_specs(b, set, n, depth, &(struct step){.kind = STEP_ELEMENT}, sub);
    if (count && (rc = build(b, sub, count, depth + 1, &child)) == SR_OK)
        b->paths->nodes[node].element = child;
    count = rc ? 0 : select_specs(b, set, n, depth, &(struct step){.kind = STEP_STAR}, sub);
    if (count && (rc = build(b, sub, count, depth + 1, &child)) == SR_OK)
        b->paths->nodes[node].star = child;
    if (rc == SR_OK)
        rc = build_names(b, set, n, depth, node, sub);
    sr_mem_free(sub);
    *out = node;
    return rc;
}

static int parse_specs(struct builder *b, const struct sr_path_spec *specs, size_t count, struct sr_err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(specs[i].path) + 1;
    b->paths->text = sr_mem_alloc(bytes + 1);
    b->specs = sr_mem_calloc(count + 1, sizeof *b->specs);
    if (!b->paths->text || !b->specs)
        return SR_ENOMEM;
    char *text = b->paths->text;
    for (size_t i = 0; i < count; i++) {
        if (specs[i].id == SR_PATH_TOP)
            return sr_err_set(err, SR_EINVAL, "path `%s` has the reserved id %u", specs[i].path, SR_PATH_TOP);
        for (size_t j = 0; j < i; j++)
            if (strcmp(specs[i].path, specs[j].path) == 0)
                return sr_err_set(err, SR_EINVAL, "path `%s` is given twice", specs[i].path);
        size_t n = strlen(specs[i].path) + 1;
        memcpy(text, specs[i].path, n);
        if (specs[i].tag > SR_TAG_MAX)
            return sr_err_set(err, SR_EINVAL, "path `%s` has a tag over %u", specs[i].path, SR_TAG_MAX);
        b->specs[i].id = specs[i].id;
        b->specs[i].tag = specs[i].tag;
        int rc = parse_spec(&b->specs[i], text, err);
        if (rc)
            return rc;
        text += n;
    }
    return SR_OK;
}

static void paths_free(struct sr_paths *paths)
{
    sr_mem_free(paths->nodes);
    sr_mem_free(paths->keys);
    sr_mem_free(paths->text);
    sr_mem_free(paths);
}

static int paths_new(struct sr_paths **out, const struct sr_path_spec *specs, size_t count, bool complete,
                     struct sr_err *err)
{
    *out = NULL;
    if (count > PATH_SPECS_MAX)
        return sr_err_set(err, SR_ELIMIT, "more than %d paths", PATH_SPECS_MAX);
    struct builder b = {.paths = sr_mem_calloc(1, sizeof *b.paths)};
    uint16_t *all = sr_mem_alloc((count + 1) * sizeof *all), root = 0;
    int rc = b.paths && all ? parse_specs(&b, specs, count, err) : SR_ENOMEM;
    if (rc == SR_OK)
        rc = sr_random(&b.paths->multiplier, sizeof b.paths->multiplier);
    if (rc == SR_OK)
        rc = add_nodes(b.paths, 1); /* SR_PATH_DEAD */
    for (size_t i = 0; i < count && all; i++)
        all[i] = (uint16_t)i;
    if (rc == SR_OK)
        rc = build(&b, all, count, 0, &root);
    if (rc == SR_OK) {
        sr_ref_init(&b.paths->ref);
        b.paths->multiplier = (b.paths->multiplier >> 4) | (UINT64_C(1) << 40);
        b.paths->complete = complete;
        *out = b.paths;
    } else if (b.paths) {
        paths_free(b.paths);
    }
    sr_mem_free(all);
    sr_mem_free(b.specs);
    if (rc && rc != SR_EINVAL)
        return sr_err_set(err, rc, "the table of paths: %s", sr_strerror(rc));
    return rc;
}

int sr_paths_new(struct sr_paths **out, const struct sr_path_spec *specs, size_t count, struct sr_err *err)
{
    return paths_new(out, specs, count, false, err);
}

int sr_paths_new_complete(struct sr_paths **out, const struct sr_path_spec *specs, size_t count,
                          struct sr_err *err)
{
    return paths_new(out, specs, count, true, err);
}

struct sr_paths *sr_paths_ref(struct sr_paths *paths)
{
    sr_ref_get(&paths->ref);
    return paths;
}

void sr_paths_unref(struct sr_paths *paths)
{
    if (paths && sr_ref_put(&paths->ref))
        paths_free(paths);
}

uint16_t sr_paths_member(const struct sr_paths *paths, uint16_t node, const struct sr_key *key, bool *alike)
{
    const struct sr_path_node *at = &paths->nodes[node];
    const struct sr_path_key *k = paths->keys + at->first_key;
    *alike = false;
    for (size_t i = 0; i < at->n_keys && !key->overflown; i++)
        if (k[i].text.n == key->n && memcmp(k[i].text.p, key->block, key->n) == 0)
            return k[i].node;
    if (!paths->complete || at->n_keys == 0)
        return at->star;
    size_t same = sr_key_alike(k, at->n_keys, key);
    *alike = same < at->n_keys;
    return *alike ? k[same].node : at->star;
}

/* (hash + word) * multiplier modulo the prime 2^61 - 1; hash < 2^61, word < 2^57. */
static uint64_t key_fold(uint64_t hash, uint64_t word, uint64_t multiplier)
{
    const uint64_t prime = (UINT64_C(1) << 61) - 1;
    unsigned __int128 product = (unsigned __int128)(hash + word) * multiplier;
    uint64_t sum = (uint64_t)(product & prime) + (uint64_t)(product >> 61);
    return sum >= prime ? sum - prime : sum;
}

static uint64_t key_fold_block(const struct sr_key *key, const struct sr_paths *paths)
{
    uint64_t hash = key->hash;
    for (size_t i = 0; i < key->n; i += 7) {
        uint64_t word = 0;
        for (size_t j = 0; j < 7 && i + j < key->n; j++)
            word |= (uint64_t)(unsigned char)key->block[i + j] << (8 * j);
        hash = key_fold(hash, word, paths->multiplier);
    }
    return hash;
}

void sr_key_init(struct sr_key *key, uint32_t object)
{
    key->hash = (uint64_t)object + 1;
    key->n = 0;
    key->overflown = false;
}

void sr_key_append(struct sr_key *key, const struct sr_paths *paths, const void *p, size_t n)
{
    const char *from = p;
    while (n) {
        if (key->n == SR_PATH_KEY_BLOCK) {
            key->hash = key_fold_block(key, paths);
            key->overflown = true;
            key->n = 0;
        }
        size_t part = SR_PATH_KEY_BLOCK - key->n < n ? SR_PATH_KEY_BLOCK - key->n : n;
        memcpy(key->block + key->n, from, part);
        key->n += (uint32_t)part;
        from += part;
        n -= part;
    }
}

uint64_t sr_key_hash(const struct sr_key *key, const struct sr_paths *paths)
{
    /* The number of bytes in the last block distinguishes keys that end in NULs. */
    uint64_t hash = key_fold(key_fold_block(key, paths), key->n + 1, paths->multiplier);
    return hash ? hash : 1;
}
