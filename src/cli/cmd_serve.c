/*
 * semroute serve: the flags, and exit codes from the server's end.
 */
#include "cli/cmd.h"

#include "serve/process/server.h"

static struct sr_server_options server;
static const struct sr_option options[] = {
    {"config,c", SR_OPTION_TEXT, &server.config, "FILE",
     "the configuration; else ./semroute.yaml, else the built-in one"},
    {"gateway", SR_OPTION_TEXT, &server.gateway, "ADDR:PORT|off",
     "the OpenAI-compatible gateway; default: the configuration's listeners, else 127.0.0.1:8801"},
    {"api,api-port", SR_OPTION_TEXT, &server.api, "ADDR:PORT|off",
     "the API: health, classification, explain, the live page; default " SR_SERVER_API_DEFAULT},
    {"metrics,metrics-port", SR_OPTION_TEXT, &server.metrics, "ADDR:PORT|off",
     "metrics and probes; default " SR_SERVER_METRICS_DEFAULT},
    {"extproc,port", SR_OPTION_TEXT, &server.extproc, "ADDR:PORT|off",
     "Envoy's external processor (gRPC); default " SR_SERVER_EXTPROC_DEFAULT},
    {"lenient", SR_OPTION_FLAG, &server.lenient, NULL,
     "unknown and unsupported configuration keys are warnings"},
};
const struct sr_usage sr_serve_usage = {
    .name = "serve",
    .synopsis = "[-c FILE] [--gateway ADDR:PORT|off] [--extproc ADDR:PORT|off] [--api ADDR:PORT|off] "
                "[--metrics ADDR:PORT|off]",
    .summary = "Serves requests until SIGTERM or SIGINT, then finishes the requests in progress.",
    .text = "SIGHUP or a change of the file reloads the configuration without dropping a stream.\n",
    SR_OPTIONS(options),
};

static int exit_code(int rc)
{
    switch (rc) {
    case SR_EPARSE:
        return SR_EXIT_NO;
    case SR_EINVAL:
        return SR_EXIT_USAGE;
    default:
        return SR_EXIT_FAILED;
    }
}

static int failed(int rc, const char *message)
{
    return sr_cmd_fail(&sr_serve_usage, exit_code(rc), "%s", message);
}

int sr_cmd_serve(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_serve_usage, argc, argv, 0, &operands, &code))
        return code;
    if (!sr_cmd_has_config(&sr_serve_usage, server.config))
        return SR_EXIT_FAILED;
    server.config = sr_cmd_config(server.config);
    return sr_server_run(&server, failed);
}
