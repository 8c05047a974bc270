/* A result as JSON, for the command and the API. */
#include "text/compress/compress.h"

#include "base/json_write.h"

static void put_unit(struct sr_json_writer *w, const struct sr_compress_unit *unit)
{
    sr_json_object(w, NULL);
    sr_json_uint(w, "start", unit->start);
    sr_json_uint(w, "end", unit->end);
    sr_json_uint(w, "tokens", unit->tokens);
    sr_json_real(w, "score", "%.6f", unit->score);
    sr_json_real(w, "textrank", "%.6f", unit->scores.textrank);
    sr_json_real(w, "position", "%.6f", unit->scores.position);
    sr_json_real(w, "tfidf", "%.6f", unit->scores.tfidf);
    sr_json_real(w, "novelty", "%.6f", unit->scores.novelty);
    sr_json_object_end(w);
}

int sr_compress_json(const sr_compressor *c, const struct sr_compress_result *result, double us,
                     struct sr_buf *out)
{
    struct sr_buf text;
    sr_buf_init(&text, out->max);
    double ratio =
        result->original_tokens ? (double)result->compressed_tokens / (double)result->original_tokens : 1;
    struct sr_json_writer w = {.out = out, .rc = sr_compress_write(c, &text)};
    sr_json_object(&w, NULL);
    sr_json_bytes(&w, "text", sr_buf_view(&text));
    sr_json_uint(&w, "original_tokens", result->original_tokens);
    sr_json_uint(&w, "compressed_tokens", result->compressed_tokens);
    sr_json_bool(&w, "estimated", !result->compressed_exact);
    sr_json_bool(&w, "original_estimated", !result->original_exact);
    sr_json_real(&w, "ratio", "%.4f", ratio);
    sr_json_uint(&w, "sentences", result->whole ? result->n_kept : result->n_units);
    sr_json_array(&w, "kept");
    for (size_t i = 0; i < result->n_kept; i++)
        put_unit(&w, &result->kept[i]);
    sr_json_array_end(&w);
    sr_json_real(&w, "us", "%.1f", us);
    sr_json_object_end(&w);
    sr_buf_dispose(&text);
    return w.rc;
}
