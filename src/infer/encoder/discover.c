/*
 * Finding a task's model among the folders of a models folder, in the order that published set-ups expect:
 * LoRA-trained models before others, then BERT before RoBERTa before ModernBERT before DeBERTa, then
 * by name.
 *
 * A folder is for a task by its name or by its mapping file. Only small files are looked at; whether the
 * model opens is seen when it is opened.
 */
#include "infer/encoder/private.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* Words in the names of published models for a task; the task's own name always counts. */
static const struct {
    const char *task, *words[3], *mapping;
} known[] = {
    {"domain", {"category", "intent"}, "category_mapping.json"},
    {"jailbreak", {"prompt-guard", "prompt-injection", SR_ENC_PIGUARD}, "jailbreak_type_mapping.json"},
    {"pii", {NULL}, "pii_type_mapping.json"},
    {"fact_check", {"factcheck", "fact-check"}, NULL},
    {"user_feedback", {"feedback"}, "feedback_mapping.json"},
    {SR_ENC_EMBEDDING, {"embed", "minilm"}, NULL},
};

static bool contains(const char *text, const char *word)
{
    return word && strcasestr(text, word);
}

static bool has(const char *folder, const char *file)
{
    char path[SR_ENC_PATH_MAX];
    return sr_enc_path(path, folder, file, NULL) == SR_OK && access(path, R_OK) == 0;
}

static bool by_name(const char *name, const char *task)
{
    if (contains(name, task))
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t k = 0; strcmp(known[i].task, task) == 0 && k < 3; k++)
            if (contains(name, known[i].words[k]))
                return true;
    return false;
}

static bool by_mapping(const char *folder, const char *task)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].task, task) == 0 && known[i].mapping && has(folder, known[i].mapping))
            return true;
    return false;
}

/* ---- architecture ---- */

/* By model_type of the folder's config.json; false: it does not say. */
static bool read_type(const char *folder, enum sr_enc_family *family, bool *supported)
{
    struct sr_enc_json json;
    bool said = false;
    if (sr_enc_json_open(&json, folder, "config.json", true, NULL) == SR_OK) {
        sr_json_view type = sr_json_view_get(json.root, "model_type");
        said = sr_json_view_is_string(type);
        if (said)
            *supported = sr_enc_family_of(type, family);
        sr_enc_json_close(&json);
    }
    return said;
}

static bool named_family(const char *name, enum sr_enc_family *family)
{
    if (contains(name, "modernbert") || contains(name, "mmbert"))
        *family = SR_ENC_MODERNBERT;
    else if (contains(name, "deberta") || contains(name, "prompt-guard") || contains(name, SR_ENC_PIGUARD))
        *family = SR_ENC_DEBERTA;
    else if (contains(name, "roberta"))
        *family = SR_ENC_ROBERTA;
    else if (contains(name, "bert"))
        *family = SR_ENC_BERT;
    else
        return false;
    return true;
}

/* By config.json, an adapter's by its base's; else by the names. False: one that no encoder here runs. */
static bool find_family(const char *models, const char *folder, const char *name, bool adapter,
                        enum sr_enc_family *family)
{
    char base[SR_ENC_NAME_MAX + 1] = "", beside[SR_ENC_PATH_MAX];
    bool supported = true;
    *family = SR_ENC_BERT;
    if (read_type(folder, family, &supported))
        return supported;
    if (adapter)
        sr_enc_base_read(base, folder);
    if (base[0] && sr_enc_path(beside, models, base, NULL) == SR_OK && read_type(beside, family, &supported))
        return supported;
    if (!named_family(name, family))
        (void)named_family(base, family);
    return true;
}

/* ---- candidates ---- */

/* Smaller is better. */
static int rank_of(const struct sr_encoder_candidate *c)
{
    static const char *const order[] = {"bert", "roberta", "modernbert", "deberta-v2"};
    int rank = c->lora ? 0 : 4;
    for (int i = 0; i < 4; i++)
        if (strcmp(order[i], c->architecture) == 0)
            return rank + i;
    return rank + 4;
}

static bool look(const char *models, const char *name, const char *task, struct sr_encoder_candidate *c)
{
    char folder[SR_ENC_PATH_MAX];
    enum sr_enc_family family;
    if (name[0] == '.' || strlen(name) >= sizeof c->name || sr_enc_path(folder, models, name, NULL))
        return false;
    bool weights = has(folder, "model.safetensors") || has(folder, "model.safetensors.index.json");
    *c = (struct sr_encoder_candidate){.adapter = !weights && has(folder, "adapter_config.json"),
                                       .by_name = by_name(name, task)};
    if (!(c->adapter || has(folder, "config.json")) || !(c->by_name || by_mapping(folder, task)) ||
        has(folder, "adapters.safetensors") || !find_family(models, folder, name, c->adapter, &family))
        return false;
    memcpy(c->name, name, strlen(name) + 1);
    c->lora = c->adapter || contains(name, "lora") || has(folder, "lora_config.json");
    c->architecture = sr_enc_family_name(family);
    return true;
}

static bool before(const struct sr_encoder_candidate *a, const struct sr_encoder_candidate *b)
{
    int x = rank_of(a), y = rank_of(b);
    return x != y ? x < y : strcmp(a->name, b->name) < 0;
}

static void insert(struct sr_encoder_candidate *list, size_t max, size_t *n,
                   const struct sr_encoder_candidate *c)
{
    size_t at = *n;
    while (at > 0 && before(c, &list[at - 1]))
        at--;
    if (at == max)
        return;
    size_t last = *n < max ? *n : max - 1;
    memmove(&list[at + 1], &list[at], (last - at) * sizeof *list);
    list[at] = *c;
    *n = last + 1;
}

int sr_encoder_candidates(const char *folder, const char *task, struct sr_encoder_candidate *out, size_t max,
                          size_t *n, struct sr_err *err)
{
    struct sr_encoder_candidate c;
    *n = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return sr_err_set(err, SR_ENOENT, "%s: the models folder cannot be read", folder);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (look(folder, entry->d_name, task, &c))
            insert(out, max, n, &c);
    closedir(dir);
    return SR_OK;
}

int sr_encoder_discover(const char *folder, const char *task, char *path, size_t size, struct sr_err *err)
{
    struct sr_encoder_candidate best;
    size_t n;
    int rc = sr_encoder_candidates(folder, task, &best, 1, &n, err);
    if (rc)
        return rc;
    if (n == 0)
        return sr_err_set(err, SR_ENOENT, "%s: has no model for `%s`", folder, task);
    if ((size_t)snprintf(path, size, "%s/%s", folder, best.name) >= size)
        return sr_err_set(err, SR_ELIMIT, "%s: the path of a model is too long", folder);
    return SR_OK;
}
