/* A result as JSON: the command's and the API's. */
#include "text/compress/compress.h"

static int put_unit(struct sr_buf *out, const struct sr_compress_unit *unit)
{
    return sr_buf_printf(out,
                         "{\"start\":%zu,\"end\":%zu,\"tokens\":%zu,\"score\":%.6f,\"textrank\":%.6f,"
                         "\"position\":%.6f,\"tfidf\":%.6f,\"novelty\":%.6f}",
                         unit->start, unit->end, unit->tokens, unit->score, unit->scores.textrank,
                         unit->scores.position, unit->scores.tfidf, unit->scores.novelty);
}

int sr_compress_json(const sr_compressor *c, const struct sr_compress_result *result, double us,
                     struct sr_buf *out)
{
    struct sr_buf text;
    sr_buf_init(&text, out->max);
    double ratio =
        result->original_tokens ? (double)result->compressed_tokens / (double)result->original_tokens : 1;
    int rc = sr_compress_write(c, &text);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(out, SR_LIT("{\"text\":\""));
    if (rc == SR_OK)
        rc = sr_buf_append_json(out, sr_buf_view(&text));
    if (rc == SR_OK)
        rc = sr_buf_printf(out,
                           "\",\"original_tokens\":%zu,\"compressed_tokens\":%zu,\"estimated\":%s,\"original_"
                           "estimated\":%s,\"ratio\":%.4f,"
                           "\"sentences\":%zu,\"kept\":[",
                           result->original_tokens, result->compressed_tokens,
                           result->compressed_exact ? "false" : "true",
                           result->original_exact ? "false" : "true", ratio,
                           result->whole ? result->n_kept : result->n_units);
    for (size_t i = 0; i < result->n_kept && rc == SR_OK; i++) {
        if (i)
            rc = sr_buf_append(out, ",", 1);
        if (rc == SR_OK)
            rc = put_unit(out, &result->kept[i]);
    }
    sr_buf_dispose(&text);
    return rc ? rc : sr_buf_printf(out, "],\"us\":%.1f}", us);
}
