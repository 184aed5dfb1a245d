#include <stdio.h>

#include "tools/schedule_view.h"
#include "tools/svg.h"

#define INK "#1f2933"
#define FAINT "#616e7c"
#define MARGIN 24
#define TOP 72 /* of the stages: title and legend are above */
#define ROW 34
#define ROW_GAP 6
#define NAME 64 /* width of "stage 12" */
#define CELL 30 /* wanted width of the shortest action */
#define WIDTH_MIN 480
#define WIDTH_MAX 16000
#define TIP_MAX 160
#define NUMBER_MAX 16

static const struct dt_svg_font font_title = {18, true, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_name = {12, false, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_cell = {11, false, false, DT_SVG_MIDDLE, INK};
static const struct dt_svg_font font_faint = {11, false, false, DT_SVG_LEFT, FAINT};

/* Chunks are told apart by shade: the first two colours of a kind by turns. */
static const char *colour_of(const struct dtrain_pp_action *action)
{
    bool is_odd = action->chunk % 2 != 0;

    switch (dt_schedule_view_letter(action->kind)) {
    case 'F':
        return is_odd ? "#d0e3fa" : "#9cc3f0";
    case 'B':
        return is_odd ? "#d3f0d3" : "#9bd69b";
    default:
        return is_odd ? "#fbe7c0" : "#f3ca7a";
    }
}

static double shortest(const struct dt_schedule_costs *costs)
{
    double least = costs->forward < costs->backward ? costs->forward : costs->backward;

    return costs->weight < least ? costs->weight : least;
}

/* Pixels of the timeline. */
static int width_of(const struct dt_schedule_view *view)
{
    double width = view->timeline->makespan / shortest(view->costs) * CELL;

    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : (int)width;
}

static void draw_action(struct dt_out *out, const struct dt_schedule_view *view, int stage, size_t i,
                        int width)
{
    const struct dtrain_pp_action *action = &view->schedule->stages[stage].actions[i];
    const struct dt_schedule_span *span = &view->timeline->spans[stage][i];
    const struct dt_svg_paint paint = {
        .fill = colour_of(action), .stroke = INK, .stroke_width = 1, .radius = 2};
    int left = (int)(span->begin / view->timeline->makespan * width + 0.5);
    int right = (int)(span->end / view->timeline->makespan * width + 0.5);
    struct dt_box box = {MARGIN + NAME + left, TOP + stage * (ROW + ROW_GAP), right - left, ROW};
    char tip[TIP_MAX], number[NUMBER_MAX];

    if (dt_schedule_view_letter(action->kind) == 0)
        return;
    snprintf(tip, sizeof(tip), "%s of microbatch %d, chunk %d: %.6g to %.6g ms",
             dtrain_pp_action_name(action->kind), action->microbatch, action->chunk, span->begin, span->end);
    snprintf(number, sizeof(number), "%d", action->microbatch);
    dt_svg_box(out, box, &paint, tip);
    dt_svg_text(out, box.x + box.w / 2, box.y + ROW / 2 + 4, box.w, &font_cell, number);
}

static void draw_stage(struct dt_out *out, const struct dt_schedule_view *view, int stage, int width)
{
    const struct dt_svg_paint paint = {.fill = "#f0f2f5", .stroke = "none"};
    int y = TOP + stage * (ROW + ROW_GAP);
    char name[NUMBER_MAX];

    snprintf(name, sizeof(name), "stage %d", stage);
    dt_svg_text(out, MARGIN, y + ROW / 2 + 4, NAME, &font_name, name);
    dt_svg_box(out, (struct dt_box){MARGIN + NAME, y, width, ROW}, &paint, NULL);
    for (size_t i = 0; i < view->schedule->stages[stage].count; i++)
        draw_action(out, view, stage, i, width);
}

void dt_schedule_view_svg(struct dt_out *out, const struct dt_schedule_view *view)
{
    int stages = view->schedule->request.stages, width = width_of(view);
    char title[DT_SCHEDULE_TITLE_MAX];

    dt_svg_open(out, 2 * MARGIN + NAME + width, TOP + stages * (ROW + ROW_GAP) + MARGIN, "dtrain schedule");
    dt_svg_text(out, MARGIN, 32, NAME + width, &font_title, dt_schedule_view_title(view, title));
    dt_svg_text(out, MARGIN, 54, NAME + width, &font_faint,
                "blue: forward; green: backward; yellow: weights; paler: chunks 1, 3, ...");
    for (int s = 0; s < stages; s++)
        draw_stage(out, view, s, width);
    dt_svg_close(out);
}
