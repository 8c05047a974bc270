/*
 * semroute compress: the most informative sentences of a text within a budget of tokens.
 */
#include "cli/cmd.h"

#include "base/clock.h"
#include "model/tokenizer/tokenizer.h"
#include "text/compress/compress.h"

#define OUTPUT_MAX (SR_COMPRESS_TEXT_MAX * 6 + ((size_t)64 << 20))

static long budget = SR_COMPRESS_BUDGET;
static const char *profile = "default", *tokenizer_file;
static bool json, compat;
static const struct sr_option options[] = {
    {"budget", SR_OPTION_NUMBER, &budget, "N", "maximum number of tokens to keep, default 512"},
    {"profile", SR_OPTION_TEXT, &profile, "P", "default, coding, medical, security or multi_turn"},
    {"tokenizer", SR_OPTION_TEXT, &tokenizer_file, "FILE", "a tokenizer.json that counts the tokens exactly"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document, with the scores of what is kept"},
    {"compat", SR_OPTION_FLAG, &compat, NULL, "follow the published algorithm exactly"},
};
const struct sr_usage sr_compress_usage = {
    .name = "compress",
    .synopsis = "[--budget N] [--profile P] [--json] < TEXT",
    .summary = "Keeps the most informative sentences of a text, verbatim and in order.",
    .text = "It reads standard input. Without --tokenizer tokens are estimated.\n",
    SR_OPTIONS(options),
};

/* The counter of a tokenizer; what it cannot count is too long for any budget. */
static size_t count_tokens(void *ctx, struct sr_bytes text)
{
    size_t n;
    return sr_tokenizer_count(ctx, text, 0, &n) == SR_OK ? n : SIZE_MAX;
}

static size_t fit_tokens(void *ctx, struct sr_bytes text, size_t tokens)
{
    size_t length;
    return sr_tokenizer_fit(ctx, text, 0, tokens, &length) == SR_OK ? length : 0;
}

/* Prints what is kept; SR_EIO when it cannot be written. */
static int put(const sr_compressor *c, const struct sr_compress_result *result, double us)
{
    struct sr_buf out;
    sr_buf_init(&out, OUTPUT_MAX);
    int rc = json ? sr_compress_json(c, result, us, &out) : sr_compress_write(c, &out);
    if (rc == SR_OK && out.len && (json || out.data[out.len - 1] != '\n'))
        rc = sr_buf_append(&out, "\n", 1);
    if (rc == SR_OK && !sr_cmd_put(sr_buf_view(&out)))
        rc = SR_EIO;
    sr_buf_dispose(&out);
    return rc;
}

static int compress(const struct sr_compress_settings *settings, struct sr_bytes text)
{
    struct sr_compress_result result;
    sr_compressor *c = NULL;
    int rc = sr_compressor_new(&c, SR_COMPRESS_TEXT_MAX);
    uint64_t start = sr_clock_ns();
    if (rc == SR_OK)
        rc = sr_compress_text(c, settings, text, &result);
    double us = (double)(sr_clock_ns() - start) / 1e3;
    if (rc == SR_OK)
        rc = put(c, &result, us);
    sr_compressor_free(c);
    return rc;
}

int sr_cmd_compress(int argc, char **argv)
{
    struct sr_compress_settings settings;
    struct sr_operands operands;
    struct sr_err err = {0};
    struct sr_buf input;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_compress_usage, argc, argv, 0, &operands, &code))
        return code;
    if (!sr_compress_profile(sr_bytes_str(profile), &settings))
        return sr_cmd_misuse(&sr_compress_usage,
                             "there is no profile `%.40s`: default, coding, medical, security, multi_turn",
                             profile);
    if (budget < 1 || budget > 1000000000)
        return sr_cmd_misuse(&sr_compress_usage, "--budget takes 1 to 1000000000 tokens");
    settings.budget = (size_t)budget;
    settings.compat = compat;
    struct sr_tokenizer *tokenizer = NULL;
    if (compat && tokenizer_file)
        return sr_cmd_misuse(&sr_compress_usage,
                             "--compat estimates tokens as published: leave --tokenizer out");
    if (tokenizer_file && sr_tokenizer_open_file(&tokenizer, tokenizer_file, &err) != SR_OK)
        return sr_cmd_fail(&sr_compress_usage, SR_EXIT_FAILED, "%s: %s", tokenizer_file, err.message);
    const struct sr_compress_counter counter = {count_tokens, fit_tokens, tokenizer};
    settings.counter = tokenizer ? &counter : NULL;
    sr_buf_init(&input, SR_COMPRESS_TEXT_MAX);
    if (sr_cmd_read("-", &input, &err) != SR_OK) {
        code = sr_cmd_fail(&sr_compress_usage, err.code == SR_ELIMIT ? SR_EXIT_NO : SR_EXIT_FAILED, "%s",
                           err.message);
    } else {
        int rc = compress(&settings, sr_buf_view(&input));
        if (rc != SR_OK)
            code = sr_cmd_fail(&sr_compress_usage, SR_EXIT_FAILED, "%s", sr_strerror(rc));
    }
    sr_buf_dispose(&input);
    sr_tokenizer_unref(tokenizer);
    return code;
}
