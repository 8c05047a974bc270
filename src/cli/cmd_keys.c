/*
 * semroute keys: makes a key for a client, or hashes one that is there; writes no file.
 */
#include "base/hex.h"
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "config/bind/date.h"
#include "config/identity.h"

#include <string.h>

#define RANDOM_BYTES 24
#define OUT_MAX      ((size_t)64 << 10)

static const char *name, *tenant, *user, *models, *expires;
static bool hash, json;
static const struct sr_option options[] = {
    {"name", SR_OPTION_TEXT, &name, "NAME", "the key's name in limits, logs and metrics"},
    {"tenant", SR_OPTION_TEXT, &tenant, "NAME", "the tenant of its requests"},
    {"user", SR_OPTION_TEXT, &user, "NAME", "the user, else the key's name"},
    {"models", SR_OPTION_TEXT, &models, "A,B", "the models that it may use, with commas"},
    {"expires", SR_OPTION_TEXT, &expires, "DATE", "when it ends: 2030-01-31 or 2030-01-31T12:00:00Z"},
    {"hash", SR_OPTION_FLAG, &hash, NULL, "read a key from standard input instead of making one"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document: the key and its entry"},
};
const struct sr_usage sr_keys_usage = {
    .name = "keys",
    .synopsis = "[--name NAME] [--tenant NAME] [--models A,B] [--expires DATE]",
    .summary = "Makes a key for a client, and its entry for global.semroute.identity.keys or keys_file.",
    .text = "The key is shown once and kept nowhere; the entry holds its SHA-256 only. Give the key to the "
            "client,\nwhich sends it in `authorization: Bearer KEY` or `x-api-key`.\n",
    SR_OPTIONS(options),
};

/* Six characters that say what it is, and 192 random bits. */
static int make_key(struct sr_buf *key)
{
    uint8_t bytes[RANDOM_BYTES];
    char digits[2 * RANDOM_BYTES + 1];
    int rc = sr_random(bytes, sizeof bytes);
    if (!rc)
        rc = sr_buf_append(key, SR_KEY_PREFIX, sizeof SR_KEY_PREFIX - 1);
    if (rc)
        return rc;
    sr_hex_write(bytes, sizeof bytes, digits);
    return sr_buf_append(key, digits, sizeof digits - 1);
}

static void put_string(struct sr_json_writer *w, const char *key, struct sr_bytes text)
{
    sr_json_string(w, key);
    sr_json_string_part(w, text);
    sr_json_string_end(w);
}

static void put_models(struct sr_json_writer *w)
{
    sr_json_array(w, "models");
    for (const char *at = models; *at;) {
        size_t n = strcspn(at, ",");
        struct sr_bytes model = sr_bytes_trim(sr_bytes_of(at, n));
        if (model.n)
            put_string(w, NULL, model);
        at += n + (at[n] == ',');
    }
    sr_json_array_end(w);
}

static int put_entry(struct sr_json_writer *w, const char *key, struct sr_bytes text)
{
    char digest[SR_SHA256_HEX];
    int rc = sr_sha256_hex(text, digest);
    if (rc)
        return rc;
    sr_json_object(w, key);
    sr_json_text(w, "name", name ? name : "client");
    sr_json_text(w, "sha256", digest);
    if (tenant)
        sr_json_text(w, "tenant", tenant);
    if (user)
        sr_json_text(w, "user", user);
    if (models)
        put_models(w);
    if (expires)
        sr_json_text(w, "expires", expires);
    sr_json_object_end(w);
    return w->rc;
}

/* A list item of YAML whose mapping is written as JSON, after the key itself. */
static int put_all(struct sr_buf *out, struct sr_bytes key)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    int rc = SR_OK;
    if (json) {
        sr_json_object(&w, NULL);
        if (!hash)
            put_string(&w, "key", key);
        rc = put_entry(&w, "entry", key);
        sr_json_object_end(&w);
    } else {
        if (!hash)
            rc = sr_buf_printf(out, "%.*s\n", (int)key.n, key.p);
        if (!rc)
            rc = sr_buf_append(out, "- ", 2);
        if (!rc)
            rc = put_entry(&w, NULL, key);
    }
    return rc ? rc : w.rc ? w.rc : sr_buf_append(out, "\n", 1);
}

static int run(void)
{
    struct sr_buf key, out;
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    sr_buf_init(&key, SR_KEY_TEXT_MAX + 2);
    sr_buf_init(&out, OUT_MAX);
    int rc = hash ? sr_cmd_read("-", &key, &err) : make_key(&key);
    struct sr_bytes text = sr_bytes_trim(sr_buf_view(&key));
    if (!rc && (text.n < SR_KEY_TEXT_MIN || text.n > SR_KEY_TEXT_MAX))
        code = sr_cmd_fail(&sr_keys_usage, SR_EXIT_NO, "a key has %d to %d characters", SR_KEY_TEXT_MIN,
                           SR_KEY_TEXT_MAX);
    else if (rc || (rc = put_all(&out, text)) != SR_OK)
        code =
            sr_cmd_fail(&sr_keys_usage, SR_EXIT_FAILED, "%s", err.message[0] ? err.message : sr_strerror(rc));
    else if (!sr_cmd_put(sr_buf_view(&out)))
        code = sr_cmd_fail(&sr_keys_usage, SR_EXIT_FAILED, "cannot write to standard output");
    sr_buf_dispose(&key);
    sr_buf_dispose(&out);
    return code;
}

int sr_cmd_keys(int argc, char **argv)
{
    struct sr_operands operands;
    int64_t seconds;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_keys_usage, argc, argv, 0, &operands, &code))
        return code;
    if (expires && !sr_date_read(sr_bytes_str(expires), &seconds))
        return sr_cmd_misuse(&sr_keys_usage, "--expires: expected 2030-01-31 or 2030-01-31T12:00:00Z");
    if (expires && seconds <= (int64_t)(sr_clock_wall_ns() / SR_NS_PER_S))
        return sr_cmd_misuse(&sr_keys_usage, "--expires: %s has passed", expires);
    return run();
}
