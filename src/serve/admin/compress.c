#include "serve/admin/compress.h"

#include "base/clock.h"
#include "text/compress/compress.h"
#include "json/doc.h"

/* Reads the settings; any status but 200 has a message. */
static int read_settings(const sr_doc_value *root, struct sr_compress_settings *settings, struct sr_err *err)
{
    const sr_doc_value *profile = sr_doc_get(root, "profile"), *budget = sr_doc_get(root, "budget");
    struct sr_bytes name = sr_doc_string(profile);
    int64_t tokens = SR_COMPRESS_BUDGET;
    if ((profile && !name.p) || !sr_compress_profile(profile ? name : SR_LIT(""), settings)) {
        sr_err_set(err, SR_EINVAL, "profile must be default, coding, medical, security or multi_turn");
        return 400;
    }
    if (budget && (!sr_doc_int(budget, &tokens) || tokens < 1 || tokens > 1000000000)) {
        sr_err_set(err, SR_EINVAL, "budget must be a whole number of tokens from 1 to 1000000000");
        return 400;
    }
    settings->budget = (size_t)tokens;
    settings->compat = sr_doc_is_true(sr_doc_get(root, "compat"));
    return 200;
}

static int compress(const struct sr_compress_settings *settings, struct sr_bytes text, struct sr_buf *out)
{
    struct sr_compress_result result;
    sr_compressor *c = NULL;
    uint64_t start = sr_clock_ns();
    int rc = sr_compressor_new(&c, text.n);
    if (rc == SR_OK)
        rc = sr_compress_text(c, settings, text, &result);
    double us = (double)(sr_clock_ns() - start) / 1e3;
    if (rc == SR_OK)
        rc = sr_compress_json(c, &result, us, out);
    sr_compressor_free(c);
    return rc;
}

int sr_api_compress(struct sr_bytes body, struct sr_buf *out, struct sr_err *err)
{
    struct sr_compress_settings settings;
    struct sr_doc *doc = NULL;
    int status = 400;
    if (sr_doc_parse(&doc, body, body.n, err) == SR_OK) {
        const sr_doc_value *root = sr_doc_root(doc);
        struct sr_bytes text = sr_doc_string(sr_doc_get(root, "text"));
        if (!text.p) {
            sr_err_set(err, SR_EINVAL, "The body must be {\"text\": \"...\"}.");
        } else if (text.n > SR_API_COMPRESS_MAX) {
            status = 413;
            sr_err_set(err, SR_ELIMIT, "The text is larger than %zu bytes.", SR_API_COMPRESS_MAX);
        } else {
            status = read_settings(root, &settings, err);
            if (status == 200 && compress(&settings, text, out) != SR_OK) {
                status = 503;
                sr_err_set(err, SR_ENOMEM, "The server is out of memory.");
            }
        }
    }
    sr_doc_free(doc);
    return status;
}
