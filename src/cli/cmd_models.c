/*
 * semroute models: the models that are built in, and the folders and files of others.
 */
#include "cli/cmd.h"

#include "base/json_write.h"
#include "cli/classify/encoder.h"
#include "cli/models/manifest.h"
#include "cli/models/models_found.h"
#include "cli/models/pull.h"
#include "cli/models/verify.h"
#include "infer/locate.h"
#include "model/linear/linear.h"

#include <sys/stat.h>
#include <unistd.h>

#define BUILT_IN  "domain-linear"
#define TEXTS_MAX ((size_t)16 << 20)
#define JSON_MAX  ((size_t)16 << 20)

static bool json;
static const char *text_file;
static struct sr_cli_encoder_args args;
static const char *heads;
static struct sr_models_pull pull;
static const struct sr_option options[] = {
    {"heads", SR_OPTION_TEXT, &heads, "DIR", "info, verify: heads or adapters for a neural model"},
    {"text", SR_OPTION_TEXT, &text_file, "FILE",
     "verify: compare on these lines instead of the built-in ones"},
    {"hub", SR_OPTION_TEXT, &pull.hub, "URL", "pull: the hub; else the variable HF_ENDPOINT"},
    {"to", SR_OPTION_TEXT, &pull.folder, "DIR", "pull: the folder; else NAME in $SEMROUTE_MODELS or models/"},
    {"revision", SR_OPTION_TEXT, &pull.revision, "REVISION", "pull: a branch, tag or commit (main)"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
    SR_CLI_ENCODER_OPTIONS(args),
};
const struct sr_usage sr_models_usage = {
    .name = "models",
    .synopsis = "list [DIR] | info [DIR|FILE] | verify [DIR] | pull NAME",
    .summary = "Lists, describes, verifies and downloads models.",
    .words = "list|info|verify|pull",
    .text =
        "list               the built-in models and the neural ones that are found\n"
        "list DIR           which folder of a models folder serves which task, and why\n"
        "info [DIR|FILE]    what a model is: architecture, heads, labels, size; without an argument the\n"
        "                   built-in linear one\n"
        "verify [DIR]       checks each file of DIR/manifest.json by size and SHA-256, and compares what a\n"
        "                   neural model says in fp32, bf16 and int8 on real text; without DIR the models "
        "of\n"
        "                   `list`\n"
        "pull NAME          downloads OWNER/NAME from a hub with the interface of Hugging Face's, at one\n"
        "                   commit: what semroute reads, checked by size and SHA-256. Continues where a\n"
        "                   call before it ended. HF_TOKEN is the hub's token\n",
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
    return sr_cmd_fail(&sr_models_usage, bad ? SR_EXIT_NO : SR_EXIT_FAILED, "%s%s%s",
                       names      ? ""
                       : built_in ? BUILT_IN
                                  : path,
                       names ? "" : ": ", err.message);
}

/* Prints the document in `out` and disposes of it. */
static void print_document(struct sr_buf *out, const struct sr_json_writer *w)
{
    if (w->rc == SR_OK)
        printf("%.*s\n", (int)out->len, out->data);
    sr_buf_dispose(out);
}

static void print_info(const struct sr_linear *model, const char *name)
{
    const char *const *labels = sr_linear_labels(model);
    printf("name    %s\ntask    %s\ntier    linear\nformat  %s\nrows    %zu\nsha256  %s\nlabels  ", name,
           sr_linear_task(model), SR_LINEAR_FORMAT, sr_linear_rows(model), sr_linear_sha256(model));
    for (size_t i = 0; i < sr_linear_n_labels(model); i++)
        printf("%s%s", i ? ", " : "", labels[i]);
    printf("\n");
}

static void print_info_json(const struct sr_linear *model, const char *name)
{
    struct sr_buf out;
    sr_buf_init(&out, JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "name", name);
    sr_json_text(&w, "task", sr_linear_task(model));
    sr_json_text(&w, "tier", "linear");
    sr_json_text(&w, "format", SR_LINEAR_FORMAT);
    sr_json_uint(&w, "rows", sr_linear_rows(model));
    sr_json_text(&w, "sha256", sr_linear_sha256(model));
    sr_json_array(&w, "labels");
    for (size_t i = 0; i < sr_linear_n_labels(model); i++)
        sr_json_text(&w, NULL, sr_linear_labels(model)[i]);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    print_document(&out, &w);
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
        return sr_cmd_fail(&sr_models_usage, SR_EXIT_FAILED, "%s", err.message);
    return SR_EXIT_DONE;
}

static const char *kind_name(enum sr_head_kind kind)
{
    static const char *const names[] = {"embedding", "sequence", "token"};
    return names[kind];
}

static void print_head(const struct sr_head_info *head)
{
    printf("head          %s (%s, %zu %s)%s", head->name, kind_name(head->kind), head->n_labels,
           head->labels ? "labels" : "dimensions", head->labels ? ": " : "");
    for (size_t i = 0; head->labels && i < head->n_labels; i++)
        printf("%s%s", i ? ", " : "", head->labels[i]);
    printf("\n");
}

static void print_encoder(const struct sr_encoder *encoder)
{
    const struct sr_encoder_info *i = sr_encoder_info(encoder);
    printf("name          %s\nfolder        %s\n", sr_cli_encoder_name(encoder), i->folder);
    printf("tier          neural\narchitecture  %s, %zu layers, %zu wide, %zu attention heads, %zu in "
           "between\nvocabulary    %zu\npositions     %zu\nparameters    %zu\nprecision     %s\n"
           "memory        %zu bytes of weights, %zu bytes of word embeddings\n",
           i->architecture, i->layers, i->hidden, i->attention_heads, i->intermediate, i->vocab,
           i->max_tokens, i->parameters, sr_precision_name(i->precision), i->weight_bytes, i->word_bytes);
    for (size_t h = 0; h < i->n_heads; h++)
        print_head(&i->heads[h]);
}

static void put_head(struct sr_json_writer *w, const struct sr_head_info *head)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "name", head->name);
    sr_json_text(w, "kind", kind_name(head->kind));
    sr_json_uint(w, "size", head->n_labels);
    sr_json_bool(w, "adapted", head->adapted);
    sr_json_real(w, "temperature", "%g", (double)head->temperature);
    sr_json_array(w, "labels");
    for (size_t i = 0; head->labels && i < head->n_labels; i++)
        sr_json_text(w, NULL, head->labels[i]);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static void print_encoder_json(const struct sr_encoder *encoder)
{
    const struct sr_encoder_info *i = sr_encoder_info(encoder);
    struct sr_buf out;
    sr_buf_init(&out, JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "name", sr_cli_encoder_name(encoder));
    sr_json_text(&w, "folder", i->folder);
    sr_json_text(&w, "tier", "neural");
    sr_json_text(&w, "architecture", i->architecture);
    sr_json_uint(&w, "layers", i->layers);
    sr_json_uint(&w, "hidden", i->hidden);
    sr_json_uint(&w, "attention_heads", i->attention_heads);
    sr_json_uint(&w, "intermediate", i->intermediate);
    sr_json_uint(&w, "vocabulary", i->vocab);
    sr_json_uint(&w, "max_tokens", i->max_tokens);
    sr_json_uint(&w, "parameters", i->parameters);
    sr_json_text(&w, "precision", sr_precision_name(i->precision));
    sr_json_uint(&w, "weight_bytes", i->weight_bytes);
    sr_json_uint(&w, "word_bytes", i->word_bytes);
    sr_json_array(&w, "heads");
    for (size_t h = 0; h < i->n_heads; h++)
        put_head(&w, &i->heads[h]);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    print_document(&out, &w);
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
        return sr_cmd_fail(&sr_models_usage, broke ? SR_EXIT_FAILED : SR_EXIT_NO, "%s", err.message);
    }
    (json ? print_encoder_json : print_encoder)(encoder);
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
            &sr_models_usage, SR_EXIT_NO,
            "%s: no config.json or adapter_config.json in it; `semroute models list %s` looks for "
            "models in its folders",
            path, path);
    int code = open_model(path, &model);
    if (code == SR_EXIT_DONE)
        (json ? print_info_json : print_info)(model, path ? path : BUILT_IN);
    sr_linear_unref(model);
    return code;
}

/* ---- list ---- */

/* One line of the list: a model and where it is, NULL where it is not there; `sha256` NULL: not known here.
 */
struct listed {
    const char *name, *task, *tier, *sha256, *where;
};

static void print_line(const struct listed *l)
{
    printf("%-21s %-10s %-7s %-16.16s  %s\n", l->name, l->task, l->tier, l->sha256 ? l->sha256 : "-",
           l->where ? l->where : "not found");
}

static void put_line(struct sr_json_writer *w, const struct listed *l)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "name", l->name);
    sr_json_text(w, "task", l->task);
    sr_json_text(w, "tier", l->tier);
    sr_json_text(w, "where", l->where);
    if (l->sha256)
        sr_json_text(w, "sha256", l->sha256);
    sr_json_object_end(w);
}

static struct listed linear_line(const struct sr_linear *model, const char *name)
{
    return (struct listed){name, sr_linear_task(model), "linear", sr_linear_sha256(model), "built in"};
}

static struct listed neural_line(const char *name, const char *task, char folder[SR_LOCATE_MAX])
{
    bool there = sr_locate_model(folder, name, NULL) == SR_OK;
    return (struct listed){name, task, "neural", NULL, there ? folder : NULL};
}

static void print_list(const struct listed *lines, size_t n)
{
    struct sr_buf out;
    if (!json) {
        printf("%-21s %-10s %-7s %-16s  %s\n", "name", "task", "tier", "sha256", "where");
        for (size_t i = 0; i < n; i++)
            print_line(&lines[i]);
        return;
    }
    sr_buf_init(&out, JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_array(&w, NULL);
    for (size_t i = 0; i < n; i++)
        put_line(&w, &lines[i]);
    sr_json_array_end(&w);
    print_document(&out, &w);
}

static int list(void)
{
    struct sr_linear *domain = NULL, *jailbreak = NULL;
    struct listed lines[6];
    char folders[4][SR_LOCATE_MAX];
    size_t n = 0;
    int code = open_model(NULL, &domain);
    if (code != SR_EXIT_DONE)
        return code;
    lines[n++] = linear_line(domain, BUILT_IN);
    if (sr_linear_open_jailbreak(&jailbreak, NULL) == SR_OK)
        lines[n++] = linear_line(jailbreak, "jailbreak-linear");
    lines[n++] = neural_line(SR_LOCATE_DEFAULT, "embedding", folders[0]);
    lines[n++] = neural_line("neural", "heads", folders[1]);
    lines[n++] = neural_line(SR_LOCATE_MULTILINGUAL, "embedding", folders[2]);
    lines[n++] = neural_line("neural-multilingual", "heads", folders[3]);
    print_list(lines, n);
    sr_linear_unref(domain);
    sr_linear_unref(jailbreak);
    return SR_EXIT_DONE;
}

/* ---- verify ---- */

static void put_file(struct sr_json_writer *w, const struct sr_manifest_file *file, bool good)
{
    sr_json_object(w, NULL);
    sr_json_bytes(w, "path", file->path);
    sr_json_bool(w, "good", good);
    sr_json_object_end(w);
}

/* The files of the manifest, as a document or as lines; quiet where the document is that of the precisions.
 */
static int verify_files(const struct sr_manifest *manifest, const char *dir, bool quiet)
{
    struct sr_buf out;
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    sr_buf_init(&out, JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "name", dir);
    sr_json_array(&w, "files");
    for (size_t i = 0; i < manifest->n_files; i++) {
        const struct sr_manifest_file *file = &manifest->files[i];
        bool good = sr_manifest_verify(dir, file, &err) == SR_OK;
        put_file(&w, file, good);
        if (!good)
            code = sr_cmd_fail(&sr_models_usage, SR_EXIT_NO, "%s", err.message);
        else if (!json)
            printf("%s/%.*s: good\n", dir, (int)file->path.n, file->path.p);
    }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    if (json && !quiet)
        print_document(&out, &w);
    else
        sr_buf_dispose(&out);
    return code;
}

static int verify_manifest(const char *dir, bool quiet)
{
    struct sr_manifest manifest;
    struct sr_err err = {0};
    int rc = sr_manifest_read(&manifest, dir, &err);
    int code = rc == SR_OK ? verify_files(&manifest, dir, quiet)
                           : sr_cmd_fail(&sr_models_usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_FAILED,
                                         "%s", err.message);
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
        code = sr_cmd_fail(&sr_models_usage, SR_EXIT_FAILED, "%s", err.message);
    else
        code = sr_verify_precisions(&sr_models_usage, opened.encoder, opened.heads,
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
            printf("%s: not found; `make setup` downloads it\n", SR_LOCATE_DEFAULT);
        return SR_EXIT_DONE;
    }
    const struct sr_manifest_file weights = {.path = SR_LIT("model.safetensors"),
                                             .sha256 = SR_LIT(SR_CLI_ENCODER_SHA256),
                                             .bytes = SR_CLI_ENCODER_BYTES};
    struct sr_err err = {0};
    if (sr_manifest_verify(folder, &weights, &err) != SR_OK)
        return sr_cmd_fail(&sr_models_usage, SR_EXIT_NO, "%s", err.message);
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
        return verify_manifest(dir, false);
    int code = has_file(folder, "manifest.json") ? verify_manifest(folder, true) : SR_EXIT_DONE;
    return code == SR_EXIT_DONE ? verify_encoder(folder) : code;
}

int sr_cmd_models(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_models_usage, argc, argv, 2, &operands, &code))
        return code;
    const char *what = operands.count > 0 ? operands.items[0] : "";
    const char *path = operands.count > 1 ? operands.items[1] : NULL;
    if (strcmp(what, "list") == 0)
        return path ? sr_models_print_found(&sr_models_usage, path, json) : list();
    if (strcmp(what, "info") == 0)
        return info(path);
    if (strcmp(what, "verify") == 0)
        return verify(path);
    if (strcmp(what, "pull") == 0) {
        pull.name = path;
        pull.json = json;
        return sr_models_pull(&sr_models_usage, &pull);
    }
    return sr_cmd_misuse(&sr_models_usage, "say one of: list, info, verify, pull");
}
