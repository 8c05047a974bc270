/*
 * Any bytes as the body of a request whose prompt is tokenized, for each chat template.
 *
 * The first byte chooses the template. Properties: what is read has tokens of the vocabulary, or numbers of
 * the body; a chat that a template takes begins with its first mark, where a template always begins with one;
 * a second reading says the same.
 */
#include "router/prompt/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEMPLATES 7
#define ARENA_MAX ((size_t)64 << 20)
#define VOCAB     400u

/* Bytes, and the marks of all templates from 256 on. */
static const char *const marks[] = {"<|im_start|>",
                                    "<|im_end|>",
                                    "<|begin_of_text|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|eot_id|>",
                                    "<s>",
                                    "</s>",
                                    "[INST]",
                                    "[/INST]",
                                    "<bos>",
                                    "<start_of_turn>",
                                    "<end_of_turn>"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_tokenizer(FILE *file)
{
    size_t n = sizeof marks / sizeof marks[0];
    fprintf(file, "{\"added_tokens\":[");
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s{\"id\":%zu,\"content\":\"%s\",\"special\":true,\"normalized\":false}", i ? "," : "",
                256 + i, marks[i]);
    fprintf(file, "],\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"merges\":[],\"vocab\":{");
    for (int i = 0; i < 256; i++)
        fprintf(file, "%s\"<0x%02X>\":%d", i ? "," : "", (unsigned)i, i);
    for (size_t i = 0; i < n; i++)
        fprintf(file, ",\"%s\":%zu", marks[i], 256 + i);
    fprintf(file, "}}}");
}

static struct sr_prompts *open_one(const char *path, size_t i)
{
    struct sr_prompts *prompts = NULL;
    struct sr_err err = {0};
    if (sr_prompts_new(&prompts, NULL, path, sr_chat_template_at(i)->name, &err)) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return prompts;
}

static struct sr_prompts *prompts_at(size_t i)
{
    static struct sr_prompts *all[TEMPLATES];
    char path[] = "/tmp/fuzz_prompt.XXXXXX";
    if (all[0])
        return all[i];
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        abort();
    write_tokenizer(file);
    fclose(file);
    for (size_t k = 0; k < TEMPLATES; k++)
        all[k] = open_one(path, k);
    unlink(path);
    return all[i];
}

static int read_one(size_t i, struct sr_bytes body, struct sr_arena *arena, const uint32_t **ids, size_t *n)
{
    *ids = NULL;
    *n = 0;
    return sr_prompts_read(prompts_at(i), body, arena, ids, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_arena arena;
    const uint32_t *ids, *again;
    size_t n, n_again;
    if (size == 0)
        return 0;
    size_t i = data[0] % TEMPLATES;
    struct sr_bytes body = sr_bytes_of((const char *)data + 1, size - 1);
    sr_arena_init(&arena, ARENA_MAX);
    int rc = read_one(i, body, &arena, &ids, &n);
    if (rc != read_one(i, body, &arena, &again, &n_again) || n != n_again ||
        (n && memcmp(ids, again, n * sizeof *ids) != 0))
        abort();
    if (rc == SR_OK && n == 0 && !memmem(body.p, body.n, "prompt", 6) && !memchr(body.p, '\\', body.n))
        abort();
    for (size_t k = 0; k < n; k++)
        if (ids[k] >= VOCAB && !memmem(body.p, body.n, "prompt", 6) && !memchr(body.p, '\\', body.n))
            abort();
    sr_arena_dispose(&arena);
    return 0;
}
