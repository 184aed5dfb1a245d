#include "binder.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allowed.h"
#include "bound.h"
#include "devices.h"
#include "lists.h"
#include "outer.h"
#include "site.h"
#include "topo/apply.h"
#include "topo/topo_hwloc.h"

_Static_assert(1u << DT_BIND_ITEM_GPU == DT_BIND_GPU && 1u << DT_BIND_ITEM_CPU == DT_BIND_CPU &&
                   1u << DT_BIND_ITEM_NIC == DT_BIND_NIC && 1u << DT_BIND_ITEM_MEM == DT_BIND_MEM,
               "the items of a choice are the binder's bits");

#define VALUE_MAX (DT_TOPO_NAME_MAX + 4)

/* ---- Before the tasks ---- */

static int load_choice(struct dt_bind_choice *choice, spank_t spank, struct dtrain_error *err)
{
    char text[DT_BIND_CHOICE_MAX];
    spank_err_t rc = spank_getenv(spank, DT_BIND_CHOICE_NAME, text, sizeof(text));

    if (rc == ESPANK_ENV_NOEXIST)
        return dt_error_set(err, DT_BIND_CHOICE_NAME
                            " did not arrive with the step: is srun's plugin as new as this node's?");
    if (rc != ESPANK_SUCCESS)
        return dt_error_set(err, DT_BIND_CHOICE_NAME " cannot be read: %s", spank_strerror(rc));
    return dt_bind_choice_decode(choice, text, err);
}

static int load_topology(struct dt_topo **topo, int argc, char *const *argv, struct dtrain_error *err)
{
    const char *path;
    bool is_absent = false;

    if (dt_site_topology(&path, argc, argv, err))
        return -1;
    if (dt_topo_from_trusted_file(topo, path, &is_absent, err) == 0)
        return 0;
    /* A file that the administrator named must be there. */
    if (!is_absent || strcmp(path, DT_SITE_TOPOLOGY) != 0)
        return -1;
    return dt_topo_from_machine(topo, DT_BINDER_DISCOVERY_MS, err);
}

void dt_binder_load(struct dt_binder *binder, spank_t spank, int argc, char *const *argv)
{
    memset(binder, 0, sizeof(*binder));
    binder->is_failed = load_choice(&binder->choice, spank, &binder->problem) != 0;
    if (binder->is_failed || (binder->choice.items == 0 && binder->choice.say == DT_BIND_SAY_NOTHING))
        return;
    dt_driver_load(&binder->driver, DT_DRIVER_GPUS);
    binder->is_failed = load_topology(&binder->topo, argc, argv, &binder->problem) != 0;
    if (binder->is_failed)
        binder->topo = NULL;
}

void dt_binder_free(struct dt_binder *binder)
{
    dt_topo_destroy(binder->topo);
    memset(binder, 0, sizeof(*binder));
}

/* ---- One task ---- */

/* The list of the vendor whose GPUs the node has; NULL: Slurm gave none. */
static int find_list(struct dt_list **found, struct dt_lists *lists, const struct dt_topo *topo,
                     struct dtrain_error *err)
{
    const struct dt_list *other = NULL;

    *found = NULL;
    for (size_t i = 0; i < DT_LISTS_COUNT; i++) {
        struct dt_list *list = &lists->lists[i];

        if (list->visible.count == 0)
            continue;
        if (dt_devices_count(topo, list->vendor) > 0) {
            *found = list;
            return 0;
        }
        if (other == NULL)
            other = list;
    }
    if (other == NULL)
        return 0;
    return dt_error_set(err, "%s has %u devices, the topology of %s shows no such GPU: is it another's?",
                        other->variable, other->visible.count, topo->source);
}

static int load_devices(struct dt_bound *bound, struct dt_lists *lists, const struct dt_binder *binder,
                        struct dtrain_error *err)
{
    struct dt_devices_source source = {binder->topo, &binder->driver, DT_VENDOR_OTHER, NULL, &lists->step};

    if (!(bound->items & DT_BIND_GPU))
        return 0;
    if (find_list(&bound->list, lists, binder->topo, err))
        return -1;
    if (bound->list == NULL)
        return 0;
    source.vendor = bound->list->vendor;
    source.variable = bound->list->variable;
    return dt_devices_resolve(bound->gpus, &bound->list->visible, &source, err);
}

static void load_groups(struct dt_bound *bound, const struct dt_task *task)
{
    uint32_t first = dt_plan_node_first(task->plan, task->node);

    for (uint32_t i = 0; i < bound->task_count; i++)
        bound->groups[i] = dt_group_index(dt_plan_layout(task->plan), DT_DENSE, 1u << DT_TP, first + i);
}

static const char *why_kept(const struct dt_bound *bound, const struct dt_topo *topo, spank_t spank)
{
    if (!dt_allowed_are_whole(spank))
        return "; Slurm binds each task by a rule of its own";
    if (!dt_allowed_are_own(bound->cpus, topo, spank))
        return "; other jobs may use its CPUs, since Slurm confines no tasks";
    return NULL;
}

static int load_cpus(struct dt_bound *bound, const struct dt_binder *binder, spank_t spank,
                     struct dtrain_error *err)
{
    if (!(bound->items & (DT_BIND_CPU | DT_BIND_MEM)))
        return 0;
    if (dt_allowed_load(bound->cpus, binder->topo, spank, err))
        return -1;
    bound->cpus_kept = why_kept(bound, binder->topo, spank);
    if (bound->cpus_kept != NULL)
        bound->items &= ~(unsigned)DT_BIND_CPU;
    return 0;
}

static int work_out(struct dt_bound *bound, struct dt_lists *lists, const struct dt_binder *binder,
                    const struct dt_task *task, spank_t spank, struct dtrain_error *err)
{
    struct dt_bind_request request = {.task_count = bound->task_count, .group = bound->groups,
                                      .gpus = bound->gpus};

    if (load_devices(bound, lists, binder, err) || load_cpus(bound, binder, spank, err))
        return -1;
    load_groups(bound, task);
    request.gpu_count = bound->list ? bound->list->visible.count : 0;
    request.cpus = hwloc_bitmap_iszero(bound->cpus) ? NULL : bound->cpus;
    request.what = bound->items;
    return dt_bind(&bound->binding, binder->topo, &request, err);
}

/* ---- Applied ---- */

static int set_variable(const char *name, const char *value, bool replaces, char added[DT_BOUND_ADDED_MAX],
                        spank_t spank, struct dtrain_error *err)
{
    spank_err_t rc = spank_setenv(spank, name, value, 0);

    if (rc == ESPANK_ENV_EXISTS)
        rc = replaces ? spank_setenv(spank, name, value, 1) : ESPANK_SUCCESS;
    else if (rc == ESPANK_SUCCESS)
        strcat(strcat(added, added[0] ? "," : ""), name);
    if (rc != ESPANK_SUCCESS)
        return dt_error_set(err, "%s cannot be set to %s: %s", name, value, spank_strerror(rc));
    return 0;
}

static bool are_all_found(const uint32_t *own, const struct dt_bound *bound)
{
    for (uint32_t i = 0; i < bound->task_count; i++)
        if (own[i] == UINT32_MAX)
            return false;
    return bound->task_count > 0;
}

/* The list in the binding's order; as Slurm made it when there are fewer GPUs than tasks. */
static int set_list(struct dt_bound *bound, struct dt_lists *lists, const struct dt_bind_choice *choice,
                    uint32_t local, spank_t spank, struct dtrain_error *err)
{
    uint32_t *own = calloc(bound->task_count, sizeof(*own));
    int rc = 0;

    if (own == NULL)
        return dt_error_memory(err, bound->task_count * sizeof(*own), "the order of the devices");
    for (uint32_t i = 0; i < bound->task_count; i++)
        own[i] = (uint32_t)dt_bound_entry(bound, i);
    if (are_all_found(own, bound))
        rc = dt_lists_set(lists, bound->list, own, bound->task_count,
                          choice->visible == DT_VISIBLE_OWN ? (int)own[local] : -1, spank, err);
    free(own);
    return rc;
}

static int set_gpus(struct dt_bound *bound, struct dt_lists *lists, const struct dt_bind_choice *choice,
                    uint32_t local, char added[DT_BOUND_ADDED_MAX], spank_t spank, struct dtrain_error *err)
{
    if (!(bound->items & DT_BIND_GPU) || bound->list == NULL)
        return 0;
    /* The binding's numbers are right in this order only. */
    if (bound->list->vendor == DT_VENDOR_NVIDIA &&
        set_variable("CUDA_DEVICE_ORDER", "PCI_BUS_ID", true, added, spank, err))
        return -1;
    return set_list(bound, lists, choice, local, spank, err);
}

/* UCX knows devices by verbs names only. */
static int set_nic(const struct dt_bound *bound, const struct dt_topo *topo, uint32_t local,
                   char added[DT_BOUND_ADDED_MAX], spank_t spank, struct dtrain_error *err)
{
    int nic = bound->items & DT_BIND_NIC ? bound->binding->tasks[local].nic : -1;
    char value[VALUE_MAX];

    if (nic < 0 || topo->nics[nic].name[0] == '\0' ||
        (topo->nics[nic].kind != DT_NIC_INFINIBAND && topo->nics[nic].kind != DT_NIC_ROCE))
        return 0;
    strcat(strcpy(value, topo->nics[nic].name), ":1");
    return set_variable("UCX_NET_DEVICES", value, false, added, spank, err);
}

static int set_variables(struct dt_bound *bound, struct dt_lists *lists, const struct dt_binder *binder,
                         uint32_t local, spank_t spank, struct dtrain_error *err)
{
    char added[DT_BOUND_ADDED_MAX] = "";
    int rc = set_gpus(bound, lists, &binder->choice, local, added, spank, err);

    if (rc == 0)
        rc = set_nic(bound, binder->topo, local, added, spank, err);
    if (added[0] != '\0')
        (void)spank_setenv(spank, DT_BOUND_NAME, added, 1);
    return rc;
}

static void warn(const struct dt_task *task, const struct dtrain_error *problem)
{
    if (task->is_speaker)
        slurm_error("dtrain: %s: binding is left to Slurm: %s", dt_plan_node_name(task->plan, task->node),
                    problem->text);
}

/* What fails here is bound otherwise than planned, but the devices are right. */
static void apply(const struct dt_bound *bound, const struct dt_task *task)
{
    const struct dt_bind_task *own = &bound->binding->tasks[task->local];
    struct dtrain_error problem;

    if (bound->items & DT_BIND_CPU && !own->keeps_cpus && dt_apply_cpus(own->cpus, &problem))
        warn(task, &problem);
    if (bound->items & DT_BIND_MEM && own->numa >= 0 && dt_apply_memory(own->numa, &problem))
        warn(task, &problem);
}

static void say(const struct dt_bound *bound, const struct dt_binder *binder, const struct dt_task *task)
{
    if (binder->choice.say == DT_BIND_SAY_TASKS)
        dt_bound_say_task(bound, binder->topo, &binder->choice, task);
    else if (binder->choice.say == DT_BIND_SAY_NODE && task->is_speaker)
        dt_bound_say_node(bound, binder->topo, task);
}

static int bind_task(const struct dt_binder *binder, struct dt_lists *lists, const struct dt_task *task,
                     spank_t spank, struct dtrain_error *err)
{
    struct dt_bound *bound =
        dt_bound_create(dt_plan_node_tasks(task->plan, task->node), binder->choice.items, err);
    int rc = -1;

    if (bound == NULL)
        return -1;
    if (work_out(bound, lists, binder, task, spank, err) == 0 &&
        set_variables(bound, lists, binder, task->local, spank, err) == 0) {
        apply(bound, task);
        say(bound, binder, task);
        rc = 0;
    }
    dt_bound_destroy(bound);
    return rc;
}

/* ---- Without a binding ---- */

/* Whether a list is of the kind of device that is here: the driver tells NVIDIA's from the others'. */
static bool is_of_this_node(const struct dt_lists *lists, const struct dt_list *list,
                            const struct dt_driver *driver)
{
    bool has_other = lists->lists[1].visible.count > 0 || lists->lists[2].visible.count > 0;

    if (list->vendor == DT_VENDOR_NVIDIA)
        return driver->count > 0 || !has_other;
    return driver->count == 0;
}

/* A program that was promised one device must not share the first one with all others. */
static void show_own(const struct dt_binder *binder, struct dt_lists *lists, const struct dt_task *task,
                     spank_t spank)
{
    const struct dt_bind_choice *choice = &binder->choice;

    for (size_t i = 0; i < DT_LISTS_COUNT; i++) {
        struct dt_list *list = &lists->lists[i];

        if (choice->visible == DT_VISIBLE_OWN && choice->items & DT_BIND_GPU &&
            task->local < list->visible.count && is_of_this_node(lists, list, &binder->driver))
            (void)dt_lists_set(lists, list, NULL, 0, (int)task->local, spank, NULL);
    }
}

int dt_binder_start_task(const struct dt_binder *binder, const struct dt_task *task, spank_t spank,
                         struct dtrain_error *err)
{
    struct dt_lists *lists;
    struct dtrain_error problem;

    if (dt_lists_load(&lists, task, spank, err))
        return -1;
    if (binder->is_failed) {
        warn(task, &binder->problem);
        show_own(binder, lists, task, spank);
    } else if (binder->topo != NULL && !lists->are_left &&
               bind_task(binder, lists, task, spank, &problem)) {
        warn(task, &problem);
        show_own(binder, lists, task, spank);
    }
    free(lists);
    return 0;
}
