/* schedule_view.h - a schedule and its timeline, shown as text, JSON or a drawing. */
#ifndef DT_TOOLS_SCHEDULE_VIEW_H
#define DT_TOOLS_SCHEDULE_VIEW_H

#include "core/out.h"
#include "runtime/schedule.h"

struct dt_schedule_view {
    const struct dt_schedule *schedule;
    const struct dt_schedule_timeline *timeline; /* ms */
    const struct dt_schedule_costs *costs;
    double
        full_bubble; /* that of a last group of microbatches that is full, which interleaving wants; or -1 */
};

/* 'F', 'B', 'W'; 0 for what takes no time of the stage's. */
char dt_schedule_view_letter(enum dtrain_pp_action_kind kind);

/* "1f1b on 4 stages, 8 microbatches: 33 ms, bubble 27.3 %". Returns buf. */
#define DT_SCHEDULE_TITLE_MAX 160
char *dt_schedule_view_title(const struct dt_schedule_view *view, char buf[DT_SCHEDULE_TITLE_MAX]);

int dt_schedule_view_text(struct dt_out *out, const struct dt_schedule_view *view, struct dtrain_error *err);
void dt_schedule_view_json(struct dt_out *out, const struct dt_schedule_view *view);
void dt_schedule_view_svg(struct dt_out *out, const struct dt_schedule_view *view);

#endif
