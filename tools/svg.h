/* svg.h - a drawing in SVG: boxes, lines and texts that fit. Pixels, from the top left. */
#ifndef DT_TOOLS_SVG_H
#define DT_TOOLS_SVG_H

#include <stdbool.h>

#include "core/out.h"

struct dt_box {
    int x, y, w, h;
};

enum dt_svg_anchor { DT_SVG_LEFT, DT_SVG_MIDDLE };

struct dt_svg_font {
    int size; /* pixels */
    bool is_bold, is_mono;
    enum dt_svg_anchor anchor;
    const char *colour;
};

struct dt_svg_paint {
    const char *fill, *stroke; /* "none" or "#rrggbb" */
    int stroke_width;
    int radius;     /* of the corners */
    bool is_dashed; /* the outline */
};

/* title is what a reader of the file is told it shows. */
void dt_svg_open(struct dt_out *out, int width, int height, const char *title);
void dt_svg_close(struct dt_out *out);

/* tip: shown where the pointer rests; NULL: nothing. */
void dt_svg_box(struct dt_out *out, struct dt_box box, const struct dt_svg_paint *paint, const char *tip);
/* n points, x and y by turns. */
void dt_svg_line(struct dt_out *out, const int *points, unsigned n, const char *colour, int width);
/* On the base line y; cut with "..." to fit `room` pixels. */
void dt_svg_text(struct dt_out *out, int x, int y, int room, const struct dt_svg_font *font,
                 const char *text);

/* Pixels that a text takes at most. */
int dt_svg_text_width(const struct dt_svg_font *font, const char *text);

#endif
