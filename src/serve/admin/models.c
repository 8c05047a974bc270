/* One entry for each classifier and for the encoder, and a short description of the machine. */
#include "serve/admin/models.h"

#include "base/json_write.h"
#include "infer/locate.h"
#include "router/embed/request.h"

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

/* Counts the entry in `total`, and where it is loaded in `loaded`. */
struct tally {
    unsigned total, loaded;
};

static void put_entry(struct sr_json_writer *w, const struct entry *entry, struct tally *tally)
{
    tally->total++;
    tally->loaded += entry->loaded;
    sr_json_object(w, NULL);
    sr_json_text(w, "name", entry->name);
    sr_json_text(w, "type", entry->type);
    sr_json_bool(w, "loaded", entry->loaded);
    sr_json_text(w, "state", entry->loaded ? "ready" : "missing");
    sr_json_text(w, "model_path", entry->path);
    sr_json_array(w, "categories");
    for (size_t i = 0; i < entry->n_labels; i++)
        sr_json_text(w, NULL, entry->labels[i]);
    sr_json_array_end(w);
    sr_json_object(w, "metadata");
    sr_json_text(w, "tier", entry->tier);
    sr_json_object_end(w);
    sr_json_object_end(w);
}

/* Writes the classifiers that are no heads of the encoder. */
static void put_readers(struct sr_json_writer *w, const struct sr_router *router, struct tally *tally)
{
    static const struct {
        enum sr_signal_type type;
        const char *name, *task;
    } kinds[] = {{SR_SIGNAL_DOMAIN, "domain-linear", "domain"},
                 {SR_SIGNAL_JAILBREAK, "jailbreak", "jailbreak"},
                 {SR_SIGNAL_PII, "pii", "pii"}};
    const struct sr_readers *readers = sr_router_readers(router);
    for (size_t i = 0; readers && i < sizeof kinds / sizeof kinds[0]; i++) {
        struct sr_reader_info info = sr_readers_info(readers, kinds[i].type);
        struct entry entry = {.name = kinds[i].name,
                              .type = type_of(kinds[i].task),
                              .path = info.where && *info.where ? info.where : "built in",
                              .tier = info.tier ? info.tier : "",
                              .labels = info.labels,
                              .n_labels = info.n_labels,
                              .loaded = true};
        if (!sr_readers_missing(readers, kinds[i].type))
            put_entry(w, &entry, tally);
    }
}

/* Writes the heads of the encoder; without one, that the default is missing. */
static void put_neural(struct sr_json_writer *w, const struct sr_encoder *encoder, struct tally *tally)
{
    struct entry entry = {
        .name = SR_LOCATE_DEFAULT, .type = type_of("embedding"), .path = "", .tier = "neural"};
    if (!encoder) {
        put_entry(w, &entry, tally);
        return;
    }
    const struct sr_encoder_info *info = sr_encoder_info(encoder);
    char name[256];
    for (size_t i = 0; i < info->n_heads; i++) {
        const struct sr_head_info *head = &info->heads[i];
        bool vector = head->kind == SR_HEAD_EMBEDDING;
        snprintf(name, sizeof name, "%s%s%s", sr_embeddings_name(encoder), vector ? "" : "/",
                 vector ? "" : head->name);
        entry = (struct entry){.name = name,
                               .type = type_of(head->name),
                               .path = info->folder,
                               .tier = "neural",
                               .labels = head->labels,
                               .n_labels = head->labels ? head->n_labels : 0,
                               .loaded = true};
        put_entry(w, &entry, tally);
    }
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
    struct sr_router *router = sr_runtime_router(runtime);
    struct sr_encoder *encoder = sr_runtime_encoder(runtime, &infer);
    struct utsname machine;
    char memory[48];
    struct tally tally = {0};
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_array(&w, "models");
    put_readers(&w, router, &tally);
    put_neural(&w, encoder, &tally);
    sr_json_array_end(&w);
    sr_json_object(&w, "summary");
    sr_json_bool(&w, "ready", true);
    sr_json_text(&w, "phase", "ready");
    sr_json_uint(&w, "loaded_models", tally.loaded);
    sr_json_uint(&w, "total_models", tally.total);
    sr_json_object_end(&w);
    sr_json_object(&w, "system");
    sr_json_text(&w, "go_version", "");
    sr_json_text(&w, "os", "linux");
    sr_json_text(&w, "architecture", uname(&machine) == 0 ? machine.machine : "");
    snprintf(memory, sizeof memory, "%.2f MB", resident_mb());
    sr_json_text(&w, "memory_usage", memory);
    sr_json_bool(&w, "gpu_available", false);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    sr_encoder_unref(encoder);
    sr_router_unref(router);
    return w.rc;
}
