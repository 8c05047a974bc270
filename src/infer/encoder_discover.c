/*
 * Finding a task's model among the folders of a models folder, in the order that published set-ups expect:
 * LoRA-trained models before others, then BERT before RoBERTa before ModernBERT, then by name.
 */
#include "infer/encoder_private.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define RANKS 6 /* LoRA or not, three architectures */

/* Words in the names of published models for a task; the task's own name always counts. */
static const struct {
    const char *task, *words[3];
} known[] = {
    {"domain", {"category", "intent"}},
    {"fact_check", {"factcheck", "fact-check"}},
    {"user_feedback", {"feedback"}},
    {SR_ENC_EMBEDDING, {"embed", "minilm"}},
};

static bool contains(const char *text, const char *word)
{
    return word && strcasestr(text, word);
}

static bool is_for(const char *name, const char *task)
{
    if (contains(name, task))
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t k = 0; strcmp(known[i].task, task) == 0 && k < 3; k++)
            if (contains(name, known[i].words[k]))
                return true;
    return false;
}

static bool has(const char *folder, const char *name, const char *file)
{
    char inner[SR_ENC_PATH_MAX], path[SR_ENC_PATH_MAX];
    return sr_enc_path(inner, folder, name, NULL) == SR_OK && sr_enc_path(path, inner, file, NULL) == SR_OK &&
           access(path, R_OK) == 0;
}

/* 0 is best; RANKS: no model. */
static size_t rank_of(const char *folder, const char *name, const char *task)
{
    bool adapter = has(folder, name, "adapter_config.json");
    if (name[0] == '.' || !is_for(name, task) || !(adapter || has(folder, name, "config.json")))
        return RANKS;
    size_t rank = adapter || contains(name, "lora") || has(folder, name, "lora_config.json") ? 0 : 3;
    if (contains(name, "modernbert") || contains(name, "mmbert"))
        return rank + 2;
    return contains(name, "roberta") ? rank + 1 : rank;
}

int sr_encoder_discover(const char *folder, const char *task, char *path, size_t size, struct sr_err *err)
{
    char best[SR_ENC_NAME_MAX] = "";
    size_t best_rank = RANKS;
    DIR *dir = opendir(folder);
    if (!dir)
        return sr_err_set(err, SR_ENOENT, "%s: the models folder cannot be read", folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t rank = rank_of(folder, entry->d_name, task);
        if (rank > best_rank || rank == RANKS || strlen(entry->d_name) >= sizeof best)
            continue;
        if (rank < best_rank || strcmp(entry->d_name, best) < 0)
            memcpy(best, entry->d_name, strlen(entry->d_name) + 1);
        best_rank = rank;
    }
    closedir(dir);
    if (best_rank == RANKS)
        return sr_err_set(err, SR_ENOENT, "%s: has no model for `%s`", folder, task);
    if ((size_t)snprintf(path, size, "%s/%s", folder, best) >= size)
        return sr_err_set(err, SR_ELIMIT, "%s: the path of a model is too long", folder);
    return SR_OK;
}
