#include "tools/plan_groups.h"

#include <stdio.h>
#include <string.h>

static const char *const usual[DT_GRID_COUNT] = {
    [DT_DENSE] = "tp,cp,dp,pp,dp-cp,tp-pp,tp-cp,tp-dp,tp-dp-cp",
    [DT_EXPERT] = "tp,ep,dp,pp,tp-ep,tp-ep-pp",
};

static const char *const option[DT_GRID_COUNT] = {
    [DT_DENSE] = "--groups",
    [DT_EXPERT] = "--expert-groups",
};

static int add(struct dt_plan_print_groups *list, enum dt_grid grid, const char *name,
               struct dtrain_error *err)
{
    uint32_t n = list->n[grid];

    if (n == DT_PLAN_PRINT_GROUPS_MAX)
        return dt_error_set(err, "%s names more than %u sets: expected at most that many", option[grid], n);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list->names[grid][i], name) == 0)
            return dt_error_set(err, "%s names '%.64s' twice: name each set once", option[grid], name);
    if (dt_axes_parse(&list->axes[grid][n], grid, name, err) != 0)
        return -1;
    list->names[grid][n] = name;
    list->n[grid]++;
    return 0;
}

static int grid_init(struct dt_plan_groups *groups, enum dt_grid grid, const char *text,
                     struct dtrain_error *err)
{
    char *rest = groups->text[grid];

    if (strlen(text) >= DT_PLAN_GROUPS_TEXT_MAX)
        return dt_error_set(err, "%s has %zu bytes: expected less than %d", option[grid], strlen(text),
                            DT_PLAN_GROUPS_TEXT_MAX);
    strcpy(rest, text);
    while (rest != NULL && text[0] != '\0') {
        char *name = strsep(&rest, ",");

        if (add(&groups->list, grid, name, err) != 0)
            return -1;
    }
    return 0;
}

int dt_plan_groups_init(struct dt_plan_groups *groups, const char *const texts[DT_GRID_COUNT],
                        struct dtrain_error *err)
{
    memset(groups, 0, sizeof(*groups));
    for (unsigned grid = 0; grid < DT_GRID_COUNT; grid++)
        if (grid_init(groups, (enum dt_grid)grid, texts[grid] != NULL ? texts[grid] : usual[grid], err) != 0)
            return -1;
    return 0;
}

static bool is_telling(const struct dt_plan *plan, enum dt_grid grid, unsigned axes)
{
    if (grid == DT_EXPERT && !dt_plan_print_has_experts(plan))
        return false;
    for (unsigned axis = 0; axis < DT_AXIS_COUNT; axis++)
        if ((axes & 1u << axis) && dt_plan_layout(plan)->size[grid][axis] == 1)
            return false;
    return true;
}

void dt_plan_groups_trim(struct dt_plan_groups *groups, const struct dt_plan *plan,
                         enum dt_grid grid)
{
    struct dt_plan_print_groups *list = &groups->list;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->n[grid]; i++) {
        if (!is_telling(plan, grid, list->axes[grid][i]))
            continue;
        list->axes[grid][kept] = list->axes[grid][i];
        list->names[grid][kept++] = list->names[grid][i];
    }
    list->n[grid] = kept;
}
