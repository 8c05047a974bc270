/* One line for each task: the chosen folder, the reason, and the next candidates. */
#include "cli/models/models_found.h"

#include "base/json_write.h"
#include "cli/cmd.h"
#include "infer/encoder/encoder.h"

#define SHOWN   64u /* candidates of a task */
#define OUT_MAX ((size_t)4 << 20)

struct task {
    const char *name;
    struct sr_encoder_candidate found[SHOWN];
    size_t n;
};

static int put_why(struct sr_buf *out, const struct task *task)
{
    const struct sr_encoder_candidate *best = &task->found[0];
    int rc = sr_buf_printf(out, "%s, %s, by its %s",
                           best->adapter ? "LoRA adapter"
                           : best->lora  ? "merged LoRA"
                                         : "no LoRA",
                           best->architecture, best->by_name ? "name" : "mapping file");
    for (size_t i = 1; i < task->n && !rc; i++)
        rc = sr_buf_printf(out, "%s%s", i == 1 ? "; before " : ", ", task->found[i].name);
    return rc;
}

static int put_line(struct sr_buf *out, const struct task *task)
{
    int rc = sr_buf_printf(out, "%-10s %-44s ", task->name, task->n ? task->found[0].name : "-");
    if (!rc && task->n)
        rc = put_why(out, task);
    else if (!rc)
        rc = sr_buf_printf(out, "no folder's name or mapping file says %s", task->name);
    return rc ? rc : sr_buf_append(out, "\n", 1);
}

static void put_candidate(struct sr_json_writer *w, const struct sr_encoder_candidate *c)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "name", c->name);
    sr_json_text(w, "architecture", c->architecture);
    sr_json_bool(w, "lora", c->lora);
    sr_json_bool(w, "adapter", c->adapter);
    sr_json_text(w, "found_by", c->by_name ? "name" : "mapping");
    sr_json_object_end(w);
}

static void put_json(struct sr_json_writer *w, const struct task *task, const char *folder)
{
    char path[8192] = "";
    if (task->n)
        snprintf(path, sizeof path, "%s/%s", folder, task->found[0].name);
    sr_json_object(w, NULL);
    sr_json_text(w, "task", task->name);
    sr_json_text(w, "folder", task->n ? path : NULL);
    sr_json_array(w, "candidates");
    for (size_t i = 0; i < task->n; i++)
        put_candidate(w, &task->found[i]);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static int put_all(struct sr_buf *out, const char *folder, bool json, size_t *all, struct sr_err *err)
{
    static struct task tasks[] = {
        {.name = "domain"}, {.name = "jailbreak"}, {.name = "pii"}, {.name = "embedding"}};
    struct sr_json_writer w = sr_json_writer_of(out);
    int rc = json ? SR_OK : sr_buf_printf(out, "%-10s %-44s %s\n", "task", "folder", "why");
    if (json)
        sr_json_array(&w, NULL);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks && !rc; i++) {
        rc = sr_encoder_candidates(folder, tasks[i].name, tasks[i].found, SHOWN, &tasks[i].n, err);
        *all += tasks[i].n;
        if (!rc && json)
            put_json(&w, &tasks[i], folder);
        else if (!rc)
            rc = put_line(out, &tasks[i]);
    }
    if (rc || !json)
        return rc;
    sr_json_array_end(&w);
    return w.rc ? w.rc : sr_buf_append(out, "\n", 1);
}

int sr_models_print_found(const struct sr_usage *usage, const char *folder, bool json)
{
    struct sr_buf out;
    struct sr_err err = {0};
    size_t all = 0;
    int code = SR_EXIT_DONE;
    sr_buf_init(&out, OUT_MAX);
    int rc = put_all(&out, folder, json, &all, &err);
    if (rc)
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", err.message[0] ? err.message : sr_strerror(rc));
    else if (!sr_cmd_put(sr_buf_view(&out)))
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "cannot write to standard output");
    else if (all == 0)
        code = sr_cmd_fail(usage, SR_EXIT_NO, "%s: has no model folder for any task", folder);
    sr_buf_dispose(&out);
    return code;
}
