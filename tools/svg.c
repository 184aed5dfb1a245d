#include "tools/svg.h"

#include <stdio.h>
#include <string.h>

#define SANS "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
#define MONO "DejaVu Sans Mono, Menlo, Consolas, monospace"
#define MORE "..."

/* Widths of a character in thousandths of the size: of every one in the fixed font, about so in the other. */
#define MONO_WIDTH 602
#define SANS_WIDTH 610
#define BOLD_WIDTH 680

/* What XML gives a meaning is named, what it forbids or what is not ASCII becomes '?'. */
static void escape(struct dt_out *out, const char *text, size_t n)
{
    for (; n > 0 && *text != '\0'; text++, n--) {
        switch (*text) {
        case '&':
            dt_out_text(out, "&amp;");
            break;
        case '<':
            dt_out_text(out, "&lt;");
            break;
        case '>':
            dt_out_text(out, "&gt;");
            break;
        case '"':
            dt_out_text(out, "&quot;");
            break;
        default:
            dt_out_printf(out, "%c", *text >= ' ' && *text <= '~' ? *text : '?');
        }
    }
}

void dt_svg_open(struct dt_out *out, int width, int height, const char *title)
{
    dt_out_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
        "<title>",
        width, height, width, height);
    escape(out, title, strlen(title));
    dt_out_text(out, "</title>\n");
    dt_svg_box(out, (struct dt_box){0, 0, width, height},
               &(struct dt_svg_paint){.fill = "#ffffff", .stroke = "none"}, NULL);
}

void dt_svg_close(struct dt_out *out)
{
    dt_out_text(out, "</svg>\n");
}

void dt_svg_box(struct dt_out *out, struct dt_box box, const struct dt_svg_paint *paint, const char *tip)
{
    dt_out_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"%s\"", box.x,
                  box.y, box.w, box.h, paint->fill, paint->stroke);
    if (paint->stroke_width > 0)
        dt_out_printf(out, " stroke-width=\"%d\"", paint->stroke_width);
    if (paint->radius > 0)
        dt_out_printf(out, " rx=\"%d\"", paint->radius);
    if (paint->is_dashed)
        dt_out_text(out, " stroke-dasharray=\"4 3\"");
    if (tip == NULL) {
        dt_out_text(out, "/>\n");
        return;
    }
    dt_out_text(out, "><title>");
    escape(out, tip, strlen(tip));
    dt_out_text(out, "</title></rect>\n");
}

void dt_svg_line(struct dt_out *out, const int *points, unsigned n, const char *colour, int width)
{
    dt_out_text(out, "<polyline points=\"");
    for (unsigned i = 0; i < n; i++)
        dt_out_printf(out, "%s%d,%d", i > 0 ? " " : "", points[2 * i], points[2 * i + 1]);
    dt_out_printf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" stroke-linejoin=\"round\"/>\n",
                  colour, width);
}

static int character_width(const struct dt_svg_font *font)
{
    return font->size * (font->is_mono ? MONO_WIDTH : font->is_bold ? BOLD_WIDTH : SANS_WIDTH);
}

int dt_svg_text_width(const struct dt_svg_font *font, const char *text)
{
    return ((int)strlen(text) * character_width(font) + 999) / 1000;
}

void dt_svg_text(struct dt_out *out, int x, int y, int room, const struct dt_svg_font *font, const char *text)
{
    size_t fit = room > 0 ? (size_t)room * 1000 / (size_t)character_width(font) : 0;
    bool is_cut = strlen(text) > fit;

    if (text[0] == '\0' || (is_cut && fit < sizeof(MORE)))
        return;
    dt_out_printf(out, "<text x=\"%d\" y=\"%d\" font-family=\"%s\" font-size=\"%d\" fill=\"%s\"", x, y,
                  font->is_mono ? MONO : SANS, font->size, font->colour);
    if (font->is_bold)
        dt_out_text(out, " font-weight=\"bold\"");
    if (font->anchor == DT_SVG_MIDDLE)
        dt_out_text(out, " text-anchor=\"middle\"");
    dt_out_text(out, ">");
    escape(out, text, is_cut ? fit - strlen(MORE) : fit);
    dt_out_text(out, is_cut ? MORE "</text>\n" : "</text>\n");
}
