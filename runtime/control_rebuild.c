#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control_report.h"
#include "control_state.h"

#define CHANNEL_OF_REBUILD (UINT64_C(1) << 60) /* with the number of the attempt */

/* One attempt. */
struct rebuild {
    struct dt_control *control;
    const uint32_t *survivors;
    uint32_t n;
    uint64_t channel;
    struct dt_deadline deadline;
    struct dt_branch branch;
    int parent_fd;
    int *child_fds; /* -1: not connected */
    struct dt_report report; /* what this rank and those below it say; then what the root says */
};

bool dt_control_is_left_out(const struct dt_control *control, uint32_t rank)
{
    return control->left_out != NULL && (control->left_out[rank / 8] & 1u << rank % 8) != 0;
}

/* ---- The list ------------------------------------------------------------------ */

static int check_survivors(const struct rebuild *rebuild, struct dtrain_error *err)
{
    struct dt_control *control = rebuild->control;
    bool has_self = false;

    for (uint32_t i = 0; i < rebuild->n; i++) {
        uint32_t rank = rebuild->survivors[i];

        if (rank >= control->world)
            return dt_error_set(err, "survivors[%u] is %u: the world has ranks 0 to %u", i, rank,
                                control->world - 1);
        if (i > 0 && rank <= rebuild->survivors[i - 1])
            return dt_error_set(err, "survivors[%u] is %u after %u: the list must be ascending", i, rank,
                                rebuild->survivors[i - 1]);
        has_self = has_self || rank == control->rank;
        if (control->peers.is_dead(control, rank, err))
            return dt_error_prefix(err, "survivors[%u] is %u", i, rank);
    }
    return has_self ? 0 : dt_error_set(err, "the %u survivors do not include this rank, %u", rebuild->n,
                                       control->rank);
}

/* ---- Up and down the new tree ---------------------------------------------------- */

/* The first failure counts. */
static void fail(struct rebuild *rebuild, const char *text)
{
    if (rebuild->report.failure[0] == '\0')
        snprintf(rebuild->report.failure, sizeof(rebuild->report.failure), "%s", text);
}

/* Unless somebody gave up, in whose words it then is. */
static void fail_of(struct rebuild *rebuild, uint32_t rank, const struct dtrain_error *err)
{
    const struct dt_peers *peers = &rebuild->control->peers;
    struct dtrain_error text;
    char who[DT_RANK_TEXT_MAX];

    if (peers->is_revoked(peers->context, rebuild->channel, &text)) {
        fail(rebuild, text.text);
        return;
    }
    dt_error_set(&text, "%s %s", dt_rank_text(rebuild->control->plan, rank, who, sizeof(who)), err->text);
    fail(rebuild, text.text);
}

/* The lower rank of the two calls, so that a parent does not wait here. */
static int reach(struct rebuild *rebuild, uint32_t rank, const struct dt_deadline *deadline)
{
    const struct dt_peers *peers = &rebuild->control->peers;
    struct dtrain_error err;
    bool is_local;
    int fd;

    if (peers->connect(peers->context, rank, rebuild->channel, deadline, &fd, &is_local, &err) == 0)
        return fd;
    fail(rebuild, err.text);
    return -1;
}

static struct dt_report_wire wire_to(const struct rebuild *rebuild, int fd, const struct dt_deadline *deadline)
{
    return (struct dt_report_wire){
        .fd = fd, .peers = &rebuild->control->peers, .channel = rebuild->channel, .deadline = *deadline};
}

static void compare(struct rebuild *rebuild, uint32_t child, const struct dt_report *theirs)
{
    const struct dt_plan *plan = rebuild->control->plan;
    uint32_t odd = dt_report_difference(&rebuild->report, theirs);
    char names[3][DT_RANK_TEXT_MAX];
    struct dtrain_error text;

    if (odd == DT_RANK_NONE)
        return;
    dt_error_set(&text, "%s counts %s among the survivors, %s does not: all must give the same list",
                 dt_rank_text(plan, dt_report_counts(theirs, odd) ? child : rebuild->control->rank, names[0],
                              sizeof(names[0])),
                 dt_rank_text(plan, odd, names[1], sizeof(names[1])),
                 dt_rank_text(plan, dt_report_counts(theirs, odd) ? rebuild->control->rank : child, names[2],
                              sizeof(names[2])));
    fail(rebuild, text.text);
}

static void hear_child(struct rebuild *rebuild, uint32_t i, const struct dt_deadline *deadline)
{
    uint32_t child = rebuild->branch.children[i];
    struct dt_report_wire wire = wire_to(rebuild, rebuild->child_fds[i], deadline);
    struct dt_report theirs = {.members = NULL};
    struct dtrain_error err;

    if (dt_report_receive(&wire, &theirs, rebuild->control->world, &err) < 0) {
        fail_of(rebuild, child, &err);
    } else {
        if (theirs.failure[0] != '\0')
            fail(rebuild, theirs.failure);
        compare(rebuild, child, &theirs);
        if (dt_report_merge(&rebuild->report, &theirs, &err) < 0)
            fail(rebuild, err.text);
    }
    dt_report_free(&theirs);
}

/* Up, each level waits a little longer than the one below, which then names who is missing; down likewise. */
static struct dt_deadline patient(const struct rebuild *rebuild, uint32_t levels)
{
    struct dt_deadline deadline = rebuild->deadline;

    deadline.at_ns += (int64_t)levels * DT_ROLL_LEVEL_MS * 1000000;
    return deadline;
}

static void gather(struct rebuild *rebuild)
{
    struct dt_deadline deadline = patient(rebuild, rebuild->branch.height);

    for (uint32_t i = 0; i < rebuild->branch.child_count; i++)
        rebuild->child_fds[i] = reach(rebuild, rebuild->branch.children[i], &rebuild->deadline);
    for (uint32_t i = 0; i < rebuild->branch.child_count && rebuild->report.failure[0] == '\0'; i++)
        hear_child(rebuild, i, &deadline);
}

/* What the parent says replaces what this rank knows. */
static void ask_parent(struct rebuild *rebuild)
{
    struct dt_deadline deadline =
        patient(rebuild, DT_CONTROL_PATIENCE_MS / DT_ROLL_LEVEL_MS + rebuild->branch.depth);
    struct dt_report_wire wire;
    struct dt_report verdict = {.members = NULL};
    struct dtrain_error err;

    rebuild->parent_fd = reach(rebuild, rebuild->branch.parent, &deadline);
    if (rebuild->parent_fd < 0)
        return;
    wire = wire_to(rebuild, rebuild->parent_fd, &deadline);
    if (dt_report_send(&wire, &rebuild->report, &err) < 0 ||
        dt_report_receive(&wire, &verdict, rebuild->control->world, &err) < 0) {
        fail_of(rebuild, rebuild->branch.parent, &err);
        dt_report_free(&verdict);
        return;
    }
    dt_report_free(&rebuild->report);
    rebuild->report = verdict;
}

static void tell_children(struct rebuild *rebuild)
{
    struct dt_deadline deadline = patient(rebuild, 1);
    struct dtrain_error err;

    for (uint32_t i = 0; i < rebuild->branch.child_count; i++) {
        struct dt_report_wire wire = wire_to(rebuild, rebuild->child_fds[i], &deadline);

        if (wire.fd >= 0 && dt_report_send(&wire, &rebuild->report, &err) < 0)
            dt_log(rebuild->control->log, DT_LOG_DEBUG, "rank %u %s", rebuild->branch.children[i], err.text);
    }
}

/* ---- The new tree takes over ------------------------------------------------------- */

/* The deaths of those that are left out are no loss any more. */
static void forget_dead(struct dt_control *control, const struct dt_report *report)
{
    control->lost_count = 0;
    for (uint32_t rank = 0; rank < control->world; rank++) {
        unsigned char bit = (unsigned char)(1u << rank % 8);

        if (!dt_report_counts(report, rank)) {
            control->left_out[rank / 8] |= bit;
            control->dead[rank / 8] |= bit;
        } else if ((control->dead[rank / 8] & bit) != 0) {
            control->lost_count++;
        }
    }
}

static void retire_links(struct dt_control *control)
{
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        i->role = DT_LINK_RETIRED;
}

static bool adopt(struct dt_control *control, int *fd, uint32_t rank, enum dt_link_role role)
{
    struct dt_link *link;

    if (rank == DT_RANK_NONE)
        return true;
    link = dt_tree_add(control, *fd, rank, role);
    *fd = -1;
    return link != NULL;
}

/* A death that came over the old tree may not have reached all of the new one. */
static void repeat_deaths(struct dt_control *control)
{
    for (uint32_t n = 0; n < control->death_count && n < DT_DEATHS_KEPT; n++) {
        if (dt_control_is_left_out(control, control->deaths[n].rank))
            continue;
        for (struct dt_link *i = control->links; i != NULL; i = i->next)
            if ((i->role & DT_LINK_TREE) != 0)
                dt_control_send_dead(control, i, control->deaths[n].rank, control->deaths[n].text);
    }
}

static int take_over(struct rebuild *rebuild, struct dtrain_error *err)
{
    struct dt_control *control = rebuild->control;
    bool ok;

    if (control->left_out == NULL)
        control->left_out = calloc(1, control->world / 8 + 1);
    if (control->left_out == NULL)
        return dt_error_memory(err, control->world / 8 + 1, "the ranks that are left out");
    retire_links(control);
    forget_dead(control, &rebuild->report);
    free(control->branch.children);
    control->branch = rebuild->branch;
    control->is_root = rebuild->branch.parent == DT_RANK_NONE;
    control->height = rebuild->branch.height;
    control->told_count = control->bye_count = 0;
    control->is_parent_told = control->is_root;
    ok = adopt(control, &rebuild->parent_fd, rebuild->branch.parent, DT_LINK_PARENT);
    for (uint32_t i = 0; i < rebuild->branch.child_count; i++)
        ok = adopt(control, &rebuild->child_fds[i], rebuild->branch.children[i], DT_LINK_CHILD) && ok;
    rebuild->branch.children = NULL;
    repeat_deaths(control);
    return ok ? 0 : dt_error_memory(err, sizeof(struct dt_link), "a connection of the new tree");
}

/* ---- All of it --------------------------------------------------------------------- */

static int allocate(struct rebuild *rebuild, struct dt_channels *dirty, struct dtrain_error *err)
{
    if (dt_branch_create(&rebuild->branch, rebuild->control->plan, rebuild->survivors, rebuild->n,
                         rebuild->control->rank, err) < 0 ||
        dt_report_create(&rebuild->report, rebuild->survivors, rebuild->n, rebuild->control->world, dirty,
                         err) < 0)
        return -1;
    rebuild->child_fds = malloc((rebuild->branch.child_count + 1) * sizeof(int));
    if (rebuild->child_fds == NULL)
        return dt_error_memory(err, rebuild->branch.child_count * sizeof(int), "the new tree");
    memset(rebuild->child_fds, -1, (rebuild->branch.child_count + 1) * sizeof(int));
    return 0;
}

static void clean(struct rebuild *rebuild)
{
    for (uint32_t i = 0; rebuild->child_fds != NULL && i < rebuild->branch.child_count; i++)
        if (rebuild->child_fds[i] >= 0)
            close(rebuild->child_fds[i]);
    if (rebuild->parent_fd >= 0)
        close(rebuild->parent_fd);
    free(rebuild->child_fds);
    free(rebuild->branch.children);
    dt_report_free(&rebuild->report);
}

/* Those who wait for a rank that has failed hear of it by the old tree, too. */
static int agree(struct rebuild *rebuild, struct dtrain_error *err)
{
    const struct dt_peers *peers = &rebuild->control->peers;

    gather(rebuild);
    if (rebuild->branch.parent != DT_RANK_NONE)
        ask_parent(rebuild);
    tell_children(rebuild);
    if (rebuild->report.failure[0] != '\0')
        peers->revoke(peers->context, rebuild->channel, rebuild->report.failure);
    return rebuild->report.failure[0] == '\0' ? 0 : dt_error_set(err, "%s", rebuild->report.failure);
}

static struct rebuild begin(struct dt_control *control, const uint32_t *survivors, uint32_t n,
                            const struct dt_deadline *deadline)
{
    struct rebuild rebuild = {
        .control = control, .survivors = survivors, .n = n, .deadline = *deadline, .parent_fd = -1};

    pthread_mutex_lock(&control->lock);
    rebuild.channel = CHANNEL_OF_REBUILD | ++control->rebuild_count;
    pthread_mutex_unlock(&control->lock);
    return rebuild;
}

static int go_on(struct rebuild *rebuild, struct dt_channels *dirty, struct dtrain_error *err)
{
    struct dt_control *control = rebuild->control;
    int rc;

    if (agree(rebuild, err) < 0)
        return -1;
    pthread_mutex_lock(&control->lock);
    rc = take_over(rebuild, err);
    pthread_mutex_unlock(&control->lock);
    *dirty = rebuild->report.dirty;
    rebuild->report.dirty = (struct dt_channels){NULL, 0};
    return rc;
}

int dt_control_rebuild(struct dt_control *control, const uint32_t *survivors, uint32_t n,
                       struct dt_channels *dirty, const struct dt_deadline *deadline,
                       struct dtrain_error *err)
{
    struct rebuild rebuild = begin(control, survivors, n, deadline);
    struct dtrain_error why;
    char who[DT_RANK_TEXT_MAX];
    int rc = -1;

    if (check_survivors(&rebuild, &why) < 0 || allocate(&rebuild, dirty, &why) < 0) {
        dt_error_prefix(&why, "%s", dt_rank_text(control->plan, control->rank, who, sizeof(who)));
        control->peers.revoke(control, rebuild.channel, why.text);
    } else {
        rc = go_on(&rebuild, dirty, &why);
    }
    clean(&rebuild);
    return rc == 0 ? 0 : dt_error_set(err, "%s", why.text);
}
