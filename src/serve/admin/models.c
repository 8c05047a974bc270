/* One entry for each classifier and for the encoder, and a few words about the machine. */
#include "serve/admin/models.h"

#include "infer/locate.h"
#include "serve/admin/embed_request.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

struct entry {
    const char *name, *type, *path, *tier;
    const char *const *labels;
    size_t n_labels;
    bool loaded;
};

static const char *type_of(const char *task)
{
    static const struct {
        const char *task, *type;
    } types[] = {{"domain", "intent_classification"},
                 {"jailbreak", "security_detection"},
                 {"pii", "pii_detection"},
                 {"embedding", "similarity"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].task, task) == 0)
            return types[i].type;
    return "classification";
}

static int put_text(struct sr_buf *out, const char *before, const char *text)
{
    int rc = sr_buf_printf(out, "%s\"", before);
    if (rc == SR_OK)
        rc = sr_buf_append_json(out, sr_bytes_str(text));
    return rc == SR_OK ? sr_buf_append_bytes(out, SR_LIT("\"")) : rc;
}

static int put_entry(struct sr_buf *out, bool *first, const struct entry *entry)
{
    int rc = put_text(out, *first ? "{\"name\":" : ",{\"name\":", entry->name);
    *first = false;
    if (rc == SR_OK)
        rc = put_text(out, ",\"type\":", entry->type);
    if (rc == SR_OK)
        rc = put_text(
            out, entry->loaded ? ",\"loaded\":true,\"model_path\":" : ",\"loaded\":false,\"model_path\":",
            entry->path);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(out, SR_LIT(",\"categories\":["));
    for (size_t i = 0; i < entry->n_labels && rc == SR_OK; i++)
        rc = put_text(out, i ? "," : "", entry->labels[i]);
    return rc == SR_OK ? sr_buf_printf(out, "],\"metadata\":{\"tier\":\"%s\"}}", entry->tier) : rc;
}

/* The classifiers that answer by themselves. */
static int put_readers(struct sr_buf *out, bool *first, const struct sr_router *engine)
{
    static const struct {
        enum sr_signal_type type;
        const char *name, *task;
    } kinds[] = {{SR_SIGNAL_DOMAIN, "domain-linear", "domain"},
                 {SR_SIGNAL_JAILBREAK, "jailbreak", "jailbreak"},
                 {SR_SIGNAL_PII, "pii", "pii"}};
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && engine->readers && i < sizeof kinds / sizeof kinds[0]; i++) {
        struct sr_reader_info info = sr_readers_info(engine->readers, kinds[i].type);
        struct entry entry = {.name = kinds[i].name,
                              .type = type_of(kinds[i].task),
                              .path = info.where && *info.where ? info.where : "built in",
                              .tier = info.tier ? info.tier : "",
                              .labels = info.labels,
                              .n_labels = info.n_labels,
                              .loaded = true};
        if (!sr_readers_missing(engine->readers, kinds[i].type))
            rc = put_entry(out, first, &entry);
    }
    return rc;
}

/* The heads of the encoder; without one a word that the default is not there. */
static int put_neural(struct sr_buf *out, bool *first, const struct sr_encoder *encoder)
{
    struct entry entry = {
        .name = SR_LOCATE_DEFAULT, .type = type_of("embedding"), .path = "", .tier = "neural"};
    if (!encoder)
        return put_entry(out, first, &entry);
    const struct sr_encoder_info *info = sr_encoder_info(encoder);
    char name[256];
    int rc = SR_OK;
    for (size_t i = 0; i < info->n_heads && rc == SR_OK; i++) {
        const struct sr_head_info *head = &info->heads[i];
        bool vector = head->kind == SR_HEAD_EMBEDDING;
        snprintf(name, sizeof name, "%s%s%s", sr_api_embed_name(encoder), vector ? "" : "/",
                 vector ? "" : head->name);
        entry = (struct entry){.name = name,
                               .type = type_of(head->name),
                               .path = info->folder,
                               .tier = "neural",
                               .labels = head->labels,
                               .n_labels = head->labels ? head->n_labels : 0,
                               .loaded = true};
        rc = put_entry(out, first, &entry);
    }
    return rc;
}

static double resident_mb(void)
{
    unsigned long long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

int sr_api_models(sr_runtime *runtime, struct sr_buf *out)
{
    struct sr_infer *infer;
    struct sr_router *engine = sr_runtime_router(runtime);
    struct sr_encoder *encoder = sr_runtime_encoder(runtime, &infer);
    struct utsname machine;
    bool first = true;
    int rc = sr_buf_append_bytes(out, SR_LIT("{\"models\":["));
    if (rc == SR_OK)
        rc = put_readers(out, &first, engine);
    if (rc == SR_OK)
        rc = put_neural(out, &first, encoder);
    if (rc == SR_OK)
        rc = put_text(out, "],\"system\":{\"go_version\":\"\",\"os\":\"linux\",\"architecture\":",
                      uname(&machine) == 0 ? machine.machine : "");
    if (rc == SR_OK)
        rc = sr_buf_printf(out, ",\"memory_usage\":\"%.2f MB\",\"gpu_available\":false}}", resident_mb());
    sr_encoder_unref(encoder);
    sr_router_unref(engine);
    return rc;
}
