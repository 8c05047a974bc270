/* A selection curve as a table, as JSON and as an SVG picture. */
#ifndef SR_CLI_SELECT_PICTURE_H
#define SR_CLI_SELECT_PICTURE_H

#include "base/buf.h"
#include "select/fit/curve.h"

struct sr_curve_view {
    const struct sr_selection_curve *curve;
    const char *const *models; /* [models] names */
    const char *how;           /* "by cross-validation", ... */
};

int sr_curve_view_text(const struct sr_curve_view *view, struct sr_buf *out) SR_WARN_UNUSED;
int sr_curve_view_json(const struct sr_curve_view *view, struct sr_buf *out) SR_WARN_UNUSED;
int sr_curve_view_svg(const struct sr_curve_view *view, struct sr_buf *out) SR_WARN_UNUSED;

#endif
