#include "control_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "thread.h"

#define EXPIRE_TICK_MS 1000 /* how often greetings are checked for their age */

/* ---- Waiting ---------------------------------------------------------------- */

bool dt_control_wait(struct dt_control *control, const struct dt_deadline *deadline)
{
    struct timespec at = {.tv_sec = deadline->at_ns / 1000000000, .tv_nsec = deadline->at_ns % 1000000000};

    return pthread_cond_timedwait(&control->changed, &control->lock, &at) != ETIMEDOUT;
}

static void quit_ready(struct dt_source *source)
{
    struct dt_control *control = source->context;
    uint64_t n;

    if (read(source->fd, &n, sizeof(n)) < 0)
        dt_log(control->log, DT_LOG_DEBUG, "eventfd: %s", strerror(errno));
}

void dt_control_wake(struct dt_control *control)
{
    if (write(control->quit.fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        dt_log(control->log, DT_LOG_DEBUG, "eventfd: %s", strerror(errno));
}

/* One event a turn: what it frees cannot be named by another that was fetched with it. */
static void *run(void *argument)
{
    struct dt_control *control = argument;

    pthread_mutex_lock(&control->lock);
    while (!control->must_quit) {
        struct epoll_event event;
        int left_ms = dt_control_roll_due_ms(control), n;

        if (dt_rendezvous_expire(&control->rendezvous) && (left_ms < 0 || left_ms > EXPIRE_TICK_MS))
            left_ms = EXPIRE_TICK_MS;
        pthread_mutex_unlock(&control->lock);
        n = epoll_wait(control->epoll_fd, &event, 1, left_ms);
        pthread_mutex_lock(&control->lock);
        if (n > 0) {
            struct dt_source *source = event.data.ptr;

            source->ready(source);
        }
        dt_control_roll_tick(control);
        pthread_cond_broadcast(&control->changed);
    }
    pthread_mutex_unlock(&control->lock);
    return NULL;
}

int dt_control_start(struct dt_control *control, struct dtrain_error *err)
{
    if (dt_thread_start(&control->thread, run, control, "the control thread", err) < 0)
        return -1;
    control->has_thread = true;
    return 0;
}

/* ---- Creation and its end ------------------------------------------------------ */

static void place_in_tree(struct dt_control *control)
{
    uint32_t node = dt_plan_rank_node(control->plan, control->rank),
             nodes = dt_plan_node_count(control->plan);
    uint64_t first = (uint64_t)node * DT_CONTROL_FANOUT + 1, last = first + DT_CONTROL_FANOUT;

    if (control->rank != dt_plan_node_first(control->plan, node))
        return;
    control->local_children = dt_plan_node_tasks(control->plan, node) - 1;
    control->first_node = first < nodes ? (uint32_t)first : nodes;
    control->last_node = last < nodes ? (uint32_t)last : nodes;
    control->height = 1;
    for (uint64_t below = first; below < nodes; below = below * DT_CONTROL_FANOUT + 1)
        control->height++;
}

static int allocate(struct dt_control *control, struct dtrain_error *err)
{
    size_t table = (size_t)control->world * sizeof(struct dt_address);

    control->table = calloc(1, table);
    control->devices = calloc((size_t)control->local_children + 1, sizeof(*control->devices));
    control->dead = calloc(1, control->world / 8 + 1);
    if (control->table == NULL || control->devices == NULL || control->dead == NULL)
        return dt_error_memory(err, table, "the world's addresses");
    return 0;
}

static int open_descriptors(struct dt_control *control, struct dtrain_error *err)
{
    control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    control->death_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    control->quit.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->epoll_fd < 0 || control->death_fd < 0 || control->quit.fd < 0 ||
        dt_source_watch(&control->quit, control->epoll_fd, EPOLLIN) < 0)
        return dt_error_set(err, "cannot open the control thread's descriptors: %s", strerror(errno));
    return 0;
}

static int start_listening(struct dt_control *control, const char *ifname, struct dtrain_error *err)
{
    const char *toward = dt_plan_node_count(control->plan) > 1 ? dt_plan_master_addr(control->plan) : "";

    if (control->world == 1)
        return 0;
    if (dt_rendezvous_open(&control->rendezvous, toward, ifname, err) < 0)
        return -1;
    return dt_rendezvous_watch(&control->rendezvous, control->epoll_fd, err);
}

static void init_lock(struct dt_control *control)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&control->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&control->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

int dt_control_create(struct dt_control **made, const struct dt_plan *plan, uint32_t rank, const char *ifname,
                      const struct dt_log *log, struct dtrain_error *err)
{
    struct dt_control *control = calloc(1, sizeof(*control));

    *made = NULL;
    if (control == NULL)
        return dt_error_memory(err, sizeof(*control), "control");
    control->plan = plan;
    control->log = log;
    control->rank = rank;
    control->world = dt_plan_world(plan);
    control->is_root = dt_control_parent(plan, rank) == DT_RANK_NONE;
    control->is_parent_told = control->is_root;
    control->epoll_fd = control->death_fd = -1;
    control->quit = (struct dt_source){-1, quit_ready, control};
    control->rendezvous.listener = (struct dt_listener){.tcp_fd = -1, .unix_fd = -1};
    control->rendezvous.log = log;
    control->rendezvous.adopt = dt_tree_adopt;
    control->rendezvous.adopt_context = control;
    init_lock(control);
    place_in_tree(control);
    if (allocate(control, err) < 0 || open_descriptors(control, err) < 0 ||
        start_listening(control, ifname, err) < 0) {
        dt_control_destroy(control);
        return -1;
    }
    dt_control_peers_init(control);
    *made = control;
    return 0;
}

/* What was queued last, for instance DONE for the children, still has to go. */
static void flush_links(struct dt_control *control)
{
    struct dt_deadline deadline = dt_deadline_after_ms(DT_CONTROL_LINGER_MS);
    bool is_flushed;

    do {
        is_flushed = true;
        for (const struct dt_link *i = control->links; i != NULL; i = i->next)
            is_flushed = is_flushed && dt_link_is_flushed(i);
    } while (!is_flushed && dt_control_wait(control, &deadline));
}

static void stop_thread(struct dt_control *control)
{
    if (!control->has_thread)
        return;
    pthread_mutex_lock(&control->lock);
    flush_links(control);
    control->must_quit = true;
    dt_control_wake(control);
    pthread_mutex_unlock(&control->lock);
    pthread_join(control->thread, NULL);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void dt_control_destroy(struct dt_control *control)
{
    if (control == NULL)
        return;
    stop_thread(control);
    while (control->links != NULL) {
        struct dt_link *link = control->links;

        control->links = link->next;
        dt_link_destroy(link);
    }
    dt_rendezvous_close(&control->rendezvous);
    close_if_open(control->epoll_fd);
    close_if_open(control->death_fd);
    close_if_open(control->quit.fd);
    pthread_cond_destroy(&control->changed);
    pthread_mutex_destroy(&control->lock);
    free(control->table);
    free(control->devices);
    free(control->dead);
    free(control->cancelled);
    free(control->branch.children);
    free(control->left_out);
    dt_control_revoke_free(control);
    free(control);
}

void dt_control_seat(const struct dt_control *control, struct dt_control_seat *seat)
{
    seat->address = control->rendezvous.listener.address;
    memcpy(seat->token, control->rendezvous.token, DT_TOKEN_SIZE);
}
