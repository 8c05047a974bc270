/*
 * semroute models: the models that are built in, and the folders and files of others.
 */
#include "cli/cmd.h"

#include "cli/classify/encoder.h"
#include "cli/models/manifest.h"
#include "cli/models/models_found.h"
#include "cli/models/verify.h"
#include "infer/locate.h"
#include "model/linear/linear.h"

#include <sys/stat.h>
#include <unistd.h>

#define BUILT_IN  "domain-linear"
#define TEXTS_MAX ((size_t)16 << 20)

static bool json;
static const char *text_file;
static struct sr_cli_encoder_args args;
static const char *heads;
static const struct sr_option options[] = {
    {"heads", SR_OPTION_TEXT, &heads, "DIR", "info, verify: heads or adapters for a neural model"},
    {"text", SR_OPTION_TEXT, &text_file, "FILE",
     "verify: compare on these lines instead of the built-in ones"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
    SR_CLI_ENCODER_OPTIONS(args),
};
static const struct sr_usage usage = {
    .name = "models",
    .synopsis = "list [DIR] | info [DIR|FILE] | verify [DIR]",
    .summary = "Looks at models.",
    .text =
        "list               the built-in models and the neural ones that are found\n"
        "list DIR           which folder of a models folder serves which task, and why\n"
        "info [DIR|FILE]    what a model is: architecture, heads, labels, size; without an argument the\n"
        "                   built-in linear one\n"
        "verify [DIR]       checks each file of DIR/manifest.json by size and SHA-256, and compares what a\n"
        "                   neural model says in fp32, bf16 and int8 on real text; without DIR the models "
        "of\n"
        "                   `list`\n",
    SR_OPTIONS(options),
};

static int open_model(const char *path, struct sr_linear **model)
{
    struct sr_err err = {0};
    bool built_in = !path || strcmp(path, BUILT_IN) == 0;
    int rc = built_in ? sr_linear_open_domain(model, &err) : sr_linear_open_file(model, path, NULL, &err);
    if (rc == SR_OK)
        return SR_EXIT_DONE;
    bool bad = rc == SR_EPARSE || rc == SR_EMISMATCH || rc == SR_EUNSUPPORTED;
    bool names = !built_in && strncmp(err.message, path, strlen(path)) == 0;
    return sr_cmd_fail(&usage, bad ? SR_EXIT_NO : SR_EXIT_BROKE, "%s%s%s",
                       names      ? ""
                       : built_in ? BUILT_IN
                                  : path,
                       names ? "" : ": ", err.message);
}

static void print_info(const struct sr_linear *model, const char *name)
{
    const char *const *labels = sr_linear_labels(model);
    printf(json ? "{\"name\":\"%s\",\"task\":\"%s\",\"tier\":\"linear\",\"format\":\"%s\",\"rows\":%zu,"
                  "\"sha256\":\"%s\","
                  "\"labels\":["
                : "name    %s\ntask    %s\ntier    linear\nformat  %s\nrows    %zu\nsha256  %s\nlabels  ",
           name, sr_linear_task(model), SR_LINEAR_FORMAT, sr_linear_rows(model), sr_linear_sha256(model));
    for (size_t i = 0; i < sr_linear_n_labels(model); i++)
        printf(json ? "%s\"%s\"" : "%s%s", !i ? "" : json ? "," : ", ", labels[i]);
    printf(json ? "]}\n" : "\n");
}

static bool has_file(const char *folder, const char *name)
{
    char path[SR_LOCATE_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, R_OK) == 0;
}

/* The folder of a model by name or path; false when it is none. */
static bool find_folder(const char *name, char out[SR_LOCATE_MAX])
{
    if (strlen(name) < SR_LOCATE_MAX &&
        (has_file(name, "config.json") || has_file(name, "adapter_config.json"))) {
        snprintf(out, SR_LOCATE_MAX, "%s", name);
        return true;
    }
    return !strchr(name, '/') && sr_locate_model(out, name, NULL) == SR_OK;
}

/* The encoder to open for a folder: itself, or the default one where it holds a bundle of heads. */
struct opened {
    char encoder[SR_LOCATE_MAX];
    const char *heads;
};

static int resolve(const char *folder, struct opened *out)
{
    struct sr_err err = {0};
    out->heads = heads;
    if (!has_file(folder, "adapters.safetensors")) {
        snprintf(out->encoder, sizeof out->encoder, "%s", folder);
        return SR_EXIT_DONE;
    }
    out->heads = folder;
    if (sr_locate_model(out->encoder, NULL, &err) != SR_OK)
        return sr_cmd_fail(&usage, SR_EXIT_BROKE, "%s", err.message);
    return SR_EXIT_DONE;
}

static void put_string(const char *text)
{
    struct sr_buf out;
    sr_buf_init(&out, (size_t)1 << 20);
    if (sr_buf_append_json(&out, sr_bytes_str(text)) == SR_OK)
        printf("\"%.*s\"", (int)out.len, out.data);
    sr_buf_dispose(&out);
}

static const char *kind_name(enum sr_head_kind kind)
{
    static const char *const names[] = {"embedding", "sequence", "token"};
    return names[kind];
}

static void print_head(const struct sr_head_info *head, bool first)
{
    if (!json) {
        printf("head          %s (%s, %zu %s)%s", head->name, kind_name(head->kind), head->n_labels,
               head->labels ? "labels" : "dimensions", head->labels ? ": " : "");
        for (size_t i = 0; head->labels && i < head->n_labels; i++)
            printf("%s%s", i ? ", " : "", head->labels[i]);
        printf("\n");
        return;
    }
    printf("%s{\"name\":", first ? "" : ",");
    put_string(head->name);
    printf(",\"kind\":\"%s\",\"size\":%zu,\"adapted\":%s,\"temperature\":%g,\"labels\":[",
           kind_name(head->kind), head->n_labels, head->adapted ? "true" : "false",
           (double)head->temperature);
    for (size_t i = 0; head->labels && i < head->n_labels; i++) {
        printf(i ? "," : "");
        put_string(head->labels[i]);
    }
    printf("]}");
}

static void print_encoder(const struct sr_encoder *encoder)
{
    const struct sr_encoder_info *i = sr_encoder_info(encoder);
    if (json) {
        printf("{\"name\":");
        put_string(sr_cli_encoder_name(encoder));
        printf(",\"folder\":");
        put_string(i->folder);
    } else {
        printf("name          %s\nfolder        %s\n", sr_cli_encoder_name(encoder), i->folder);
    }
    printf(
        json ? ",\"tier\":\"neural\",\"architecture\":\"%s\",\"layers\":%zu,\"hidden\":%zu,"
               "\"attention_heads\":%zu,\"intermediate\":%zu,\"vocabulary\":%zu,\"max_tokens\":%zu,"
               "\"parameters\":%zu,\"precision\":\"%s\",\"weight_bytes\":%zu,\"mapped_bytes\":%zu,\"heads\":["
             : "tier          neural\narchitecture  %s, %zu layers, %zu wide, %zu attention heads, %zu in "
               "between\nvocabulary    %zu\npositions     %zu\nparameters    %zu\nprecision     %s\n"
               "memory        %zu bytes of weights, %zu bytes of files mapped\n",
        i->architecture, i->layers, i->hidden, i->attention_heads, i->intermediate, i->vocab, i->max_tokens,
        i->parameters, sr_precision_name(i->precision), i->weight_bytes, i->mapped_bytes);
    for (size_t h = 0; h < i->n_heads; h++)
        print_head(&i->heads[h], h == 0);
    printf(json ? "]}\n" : "");
}

static int info_encoder(const char *folder)
{
    struct sr_encoder *encoder = NULL;
    struct opened opened;
    struct sr_err err = {0};
    int code = resolve(folder, &opened);
    if (code != SR_EXIT_DONE)
        return code;
    struct sr_encoder_options o = {.precision = sr_cli_encoder_precision(args.precision),
                                   .heads = &opened.heads,
                                   .n_heads = opened.heads ? 1 : 0};
    int rc = sr_encoder_open(&encoder, opened.encoder, &o, &err);
    if (rc != SR_OK) {
        bool broke = rc == SR_ENOENT || rc == SR_EIO || rc == SR_ENOMEM;
        return sr_cmd_fail(&usage, broke ? SR_EXIT_BROKE : SR_EXIT_NO, "%s", err.message);
    }
    print_encoder(encoder);
    sr_encoder_unref(encoder);
    return SR_EXIT_DONE;
}

static int info(const char *path)
{
    char folder[SR_LOCATE_MAX];
    struct sr_linear *model = NULL;
    bool built_in = !path || strcmp(path, BUILT_IN) == 0;
    if (!built_in && find_folder(path, folder))
        return info_encoder(folder);
    struct stat st;
    if (!built_in && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return sr_cmd_fail(
            &usage, SR_EXIT_NO,
            "%s: no config.json or adapter_config.json there; `semroute models list %s` looks for "
            "models in its folders",
            path, path);
    int code = open_model(path, &model);
    if (code == SR_EXIT_DONE)
        print_info(model, path ? path : BUILT_IN);
    sr_linear_unref(model);
    return code;
}

/* ---- list ---- */

static void print_linear_line(const struct sr_linear *model, const char *name, bool first)
{
    if (json)
        printf("%s{\"name\":\"%s\",\"task\":\"%s\",\"tier\":\"linear\",\"where\":\"built "
               "in\",\"sha256\":\"%s\"}",
               first ? "" : ",", name, sr_linear_task(model), sr_linear_sha256(model));
    else
        printf("%-17s %-10s %-7s %.16s  built in\n", name, sr_linear_task(model), "linear",
               sr_linear_sha256(model));
}

static void print_neural_line(const char *name, const char *task)
{
    char folder[SR_LOCATE_MAX];
    bool there = sr_locate_model(folder, name, NULL) == SR_OK;
    if (!json) {
        printf("%-17s %-10s %-7s %-16s  %s\n", name, task, "neural", "-", there ? folder : "not there");
        return;
    }
    printf(",{\"name\":\"%s\",\"task\":\"%s\",\"tier\":\"neural\",\"where\":", name, task);
    if (there)
        put_string(folder);
    else
        printf("null");
    printf("}");
}

static int list(void)
{
    struct sr_linear *domain = NULL, *jailbreak = NULL;
    int code = open_model(NULL, &domain);
    if (code != SR_EXIT_DONE)
        return code;
    if (json)
        printf("[");
    else
        printf("%-17s %-10s %-7s %-16s  %s\n", "name", "task", "tier", "sha256", "where");
    print_linear_line(domain, BUILT_IN, true);
    if (sr_linear_open_jailbreak(&jailbreak, NULL) == SR_OK)
        print_linear_line(jailbreak, "jailbreak-linear", false);
    print_neural_line(SR_LOCATE_DEFAULT, "embedding");
    print_neural_line("neural", "heads");
    printf(json ? "]\n" : "");
    sr_linear_unref(domain);
    sr_linear_unref(jailbreak);
    return SR_EXIT_DONE;
}

/* ---- verify ---- */

static int verify_manifest(const char *dir)
{
    struct sr_manifest manifest;
    struct sr_err err = {0};
    int code = SR_EXIT_DONE, rc = sr_manifest_read(&manifest, dir, &err);
    if (rc != SR_OK)
        code = sr_cmd_fail(&usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_BROKE, "%s", err.message);
    for (size_t i = 0; rc == SR_OK && i < manifest.n_files; i++) {
        const struct sr_manifest_file *file = &manifest.files[i];
        if (sr_manifest_verify(dir, file, &err) != SR_OK)
            code = sr_cmd_fail(&usage, SR_EXIT_NO, "%s", err.message);
        else if (!json)
            printf("%s/%.*s: good\n", dir, (int)file->path.n, file->path.p);
    }
    sr_manifest_dispose(&manifest);
    return code;
}

static int verify_encoder(const char *dir)
{
    struct sr_buf own;
    struct opened opened;
    struct sr_err err = {0};
    int code = resolve(dir, &opened);
    if (code != SR_EXIT_DONE)
        return code;
    sr_buf_init(&own, TEXTS_MAX);
    int rc = text_file ? sr_cmd_read(text_file, &own, &err) : SR_OK;
    if (rc != SR_OK)
        code = sr_cmd_fail(&usage, SR_EXIT_BROKE, "%s", err.message);
    else
        code = sr_verify_precisions(&usage, opened.encoder, opened.heads,
                                    text_file ? sr_buf_view(&own) : sr_verify_texts(), args.threads, json);
    sr_buf_dispose(&own);
    return code;
}

/* The built-in models: opening a linear one checks the hash of its data; the neural one's is that of its
 * publisher. */
static int verify_built_in(void)
{
    char folder[SR_LOCATE_MAX];
    struct sr_linear *model = NULL;
    int code = open_model(NULL, &model);
    sr_linear_unref(model);
    if (code != SR_EXIT_DONE)
        return code;
    if (!json)
        printf("%s: good\n", BUILT_IN);
    if (sr_locate_model(folder, NULL, NULL) != SR_OK) {
        if (json)
            printf("null\n");
        else
            printf("%s: not there; `make setup` takes it\n", SR_LOCATE_DEFAULT);
        return SR_EXIT_DONE;
    }
    const struct sr_manifest_file weights = {.path = SR_LIT("model.safetensors"),
                                             .sha256 = SR_LIT(SR_CLI_ENCODER_SHA256),
                                             .bytes = SR_CLI_ENCODER_BYTES};
    struct sr_err err = {0};
    if (sr_manifest_verify(folder, &weights, &err) != SR_OK)
        return sr_cmd_fail(&usage, SR_EXIT_NO, "%s", err.message);
    if (!json)
        printf("%s/model.safetensors: good\n", folder);
    return verify_encoder(folder);
}

static int verify(const char *dir)
{
    char folder[SR_LOCATE_MAX];
    if (!dir)
        return verify_built_in();
    if (!find_folder(dir, folder))
        return verify_manifest(dir);
    int code = has_file(folder, "manifest.json") ? verify_manifest(folder) : SR_EXIT_DONE;
    return code == SR_EXIT_DONE ? verify_encoder(folder) : code;
}

int sr_cmd_models(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&usage, argc, argv, 2, &operands, &code))
        return code;
    const char *what = operands.count > 0 ? operands.items[0] : "";
    const char *path = operands.count > 1 ? operands.items[1] : NULL;
    if (strcmp(what, "list") == 0)
        return path ? sr_models_print_found(&usage, path, json) : list();
    if (strcmp(what, "info") == 0)
        return info(path);
    if (strcmp(what, "verify") == 0)
        return verify(path);
    return sr_cmd_misuse(&usage, "say one of: list, info, verify");
}
