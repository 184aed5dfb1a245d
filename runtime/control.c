#include "control_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_FIRST_MS 1
#define RETRY_MOST_MS 50
#define ATTEMPT_MS 1000       /* of one attempt to connect */
#define REFUSED_MS 1000       /* a port that refuses this long has lost its owner */
#define EXPIRE_TICK_MS 1000   /* how often greetings are checked for their age */

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

static void wake(struct dt_control *control)
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
        int left_ms = dt_tree_due_ms(control), n;

        if (dt_rendezvous_expire(&control->rendezvous) && (left_ms < 0 || left_ms > EXPIRE_TICK_MS))
            left_ms = EXPIRE_TICK_MS;
        pthread_mutex_unlock(&control->lock);
        n = epoll_wait(control->epoll_fd, &event, 1, left_ms);
        pthread_mutex_lock(&control->lock);
        if (n > 0) {
            struct dt_source *source = event.data.ptr;

            source->ready(source);
        }
        dt_tree_tick(control);
        pthread_cond_broadcast(&control->changed);
    }
    pthread_mutex_unlock(&control->lock);
    return NULL;
}

/* ---- Creation and its end ------------------------------------------------------ */

static void place_in_tree(struct dt_control *control)
{
    uint32_t node = dt_plan_rank_node(control->plan, control->rank), nodes = dt_plan_node_count(control->plan);
    uint64_t first = (uint64_t)node * DT_CONTROL_FANOUT + 1, last = first + DT_CONTROL_FANOUT;

    if (!dt_tree_is_leader(control, control->rank))
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
    control->dead = calloc(1, control->world / 8 + 1);
    if (control->table == NULL || control->dead == NULL)
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

int dt_control_create(struct dt_control **made, const struct dt_plan *plan, uint32_t rank,
                      const char *ifname, const struct dt_log *log, struct dtrain_error *err)
{
    struct dt_control *control = calloc(1, sizeof(*control));

    *made = NULL;
    if (control == NULL)
        return dt_error_memory(err, sizeof(*control), "control");
    control->plan = plan;
    control->log = log;
    control->rank = rank;
    control->world = dt_plan_world(plan);
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
    wake(control);
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
    free(control->dead);
    free(control);
}

void dt_control_seat(const struct dt_control *control, struct dt_control_seat *seat)
{
    seat->address = control->rendezvous.listener.address;
    memcpy(seat->token, control->rendezvous.token, DT_TOKEN_SIZE);
}

/* ---- Calling another rank ------------------------------------------------------- */

static int send_greeting(int fd, const struct dt_greeting *greeting)
{
    unsigned char bytes[DT_GREETING_SIZE];
    ssize_t n;

    dt_greeting_encode(bytes, greeting);
    do
        n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(bytes))
        return 0;
    errno = n < 0 ? errno : EPIPE;
    return -1;
}

int dt_control_call(const struct dt_address *address, bool is_local, const struct dt_greeting *greeting,
                    const struct dt_deadline *deadline, int *fd, struct dtrain_error *err)
{
    char text[DT_ADDRESS_TEXT];
    int saved;

    if (dt_address_dial(fd, address, is_local, deadline) == 0) {
        if (send_greeting(*fd, greeting) == 0)
            return 0;
        saved = errno;
        close(*fd);
        *fd = -1;
        errno = saved;
    }
    saved = errno;
    dt_error_set(err, "cannot connect to %s: %s", is_local ? "its Unix socket" : dt_address_text(address, text),
                 strerror(errno));
    errno = saved;
    return -1;
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* Tries until the deadline; a refusal is believed sooner, and inside a node TCP is the second choice. */
static int call_parent(const struct dt_control_seat *seat, bool is_local, const struct dt_greeting *greeting,
                       const struct dt_deadline *deadline, int *fd, struct dtrain_error *err)
{
    struct dt_deadline refused = dt_deadline_after_ms(REFUSED_MS);

    for (int wait_ms = RETRY_FIRST_MS;; wait_ms = wait_ms < RETRY_MOST_MS ? 2 * wait_ms : RETRY_MOST_MS) {
        struct dt_deadline attempt = dt_deadline_after_ms(ATTEMPT_MS);

        if (attempt.at_ns > deadline->at_ns)
            attempt = *deadline;
        if (dt_control_call(&seat->address, is_local, greeting, &attempt, fd, err) == 0)
            return 0;
        if (dt_deadline_passed(deadline) || (errno == ECONNREFUSED && dt_deadline_passed(&refused)))
            return -1;
        if (is_local && errno == ECONNREFUSED)
            is_local = false;
        pause_ms(wait_ms);
    }
}

static int join_parent(struct dt_control *control, const struct dt_control_seat *seat,
                       const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_greeting greeting = {.purpose = DT_PURPOSE_CONTROL, .rank = control->rank};
    uint32_t parent = dt_control_parent(control->plan, control->rank);
    bool is_local = dt_plan_rank_node(control->plan, parent) == dt_plan_rank_node(control->plan, control->rank);
    char who[DT_RANK_TEXT_MAX];
    const struct dt_link *link;
    int fd;

    memcpy(greeting.token, seat->token, DT_TOKEN_SIZE);
    if (call_parent(seat, is_local, &greeting, deadline, &fd, err) < 0)
        return dt_error_prefix(err, "%s, whom this rank reports to", dt_rank_text(control->plan, parent, who, sizeof(who)));
    pthread_mutex_lock(&control->lock);
    link = dt_tree_add(control, fd, parent, DT_LINK_PARENT);
    pthread_mutex_unlock(&control->lock);
    return link != NULL ? 0 : dt_error_set(err, "cannot watch the control connection to rank %u", parent);
}

int dt_control_tell(const struct dt_control_seat *seat, const char *failure,
                    const struct dt_deadline *deadline)
{
    struct dt_greeting greeting = {.purpose = DT_PURPOSE_CONTROL, .rank = DT_RANK_NONE};
    struct dt_buffer frame = {0};
    ssize_t n = -1;
    size_t begin;
    int fd;

    memcpy(greeting.token, seat->token, DT_TOKEN_SIZE);
    begin = dt_frame_begin(&frame, DT_MESSAGE_STOP);
    dt_buffer_text(&frame, failure);
    dt_frame_end(&frame, begin);
    if (!frame.is_broken && call_parent(seat, false, &greeting, deadline, &fd, NULL) == 0) {
        n = send(fd, frame.data, frame.size, MSG_NOSIGNAL);
        close(fd);
    }
    dt_buffer_free(&frame);
    return n > 0 ? 0 : -1;
}

/* ---- Joining ------------------------------------------------------------------- */

static int start_thread(struct dt_control *control, struct dtrain_error *err)
{
    int rc = pthread_create(&control->thread, NULL, run, control);

    if (rc != 0)
        return dt_error_set(err, "cannot start the control thread: %s", strerror(rc));
    control->has_thread = true;
    return 0;
}

/* A little more than the deadline: by then the roll call has told who is missing. */
static struct dt_deadline patient_deadline(const struct dt_deadline *deadline)
{
    struct dt_deadline patient = *deadline;

    patient.at_ns += (int64_t)DT_CONTROL_PATIENCE_MS * 1000000;
    return patient;
}

/* Children that did not connect yet are told when they do. */
static void linger(struct dt_control *control)
{
    struct dt_deadline mine = dt_deadline_after_ms(DT_CONTROL_LINGER_MS);

    while (!dt_tree_is_told(control) && dt_control_wait(control, &mine))
        continue;
}

static int wait_verdict(struct dt_control *control, const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_deadline patient = patient_deadline(deadline);
    char text[DT_MESSAGE_TEXT_MAX];
    bool in_time = true;

    while (in_time && !control->is_stopped && control->phase != DT_PHASE_UP)
        in_time = dt_control_wait(control, &patient);
    if (!control->is_stopped && control->phase == DT_PHASE_UP)
        return 0;
    if (!control->is_stopped) {
        snprintf(text, sizeof(text), "rank 0 did not say within %.4g s whether the world is complete",
                 deadline->timeout_ms / 1000.0);
        dt_tree_stop(control, text, NULL);
    }
    linger(control);
    return dt_error_set(err, "%s", control->stop_text);
}

int dt_control_join(struct dt_control *control, const struct dt_control_seat *parent,
                    const struct dt_opinion *opinion, const char *failure,
                    const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dtrain_error own;
    int rc;

    if (control->world == 1) {
        control->phase = DT_PHASE_UP;
        return 0;
    }
    if (start_thread(control, err) < 0)
        return -1;
    if (parent != NULL && join_parent(control, parent, deadline, &own) < 0 && failure == NULL)
        failure = own.text;
    pthread_mutex_lock(&control->lock);
    if (failure != NULL)
        dt_tree_stop(control, failure, NULL);
    else
        dt_tree_join(control, opinion, deadline);
    wake(control);
    rc = wait_verdict(control, deadline, err);
    pthread_mutex_unlock(&control->lock);
    return rc;
}

/* ---- Leaving ------------------------------------------------------------------- */

/* A rank that goes early looks to the others like one that died, but says why. */
static void say_left(struct dt_control *control, const char *why)
{
    char who[DT_RANK_TEXT_MAX], text[DT_MESSAGE_TEXT_MAX];

    snprintf(text, sizeof(text), "%s left: %.700s",
             dt_rank_text(control->plan, control->rank, who, sizeof(who)), why);
    dt_tree_farewell(control, text);
}

static int leave_early(struct dt_control *control, struct dtrain_error *err)
{
    const char *why = control->is_stopped ? control->stop_text : control->deaths[0].text;

    if (!control->is_stopped)
        say_left(control, why);
    return dt_error_set(err, "%s", why);
}

int dt_control_leave(struct dt_control *control, const struct dt_deadline *deadline,
                     struct dtrain_error *err)
{
    struct dt_deadline patient = patient_deadline(deadline);
    bool in_time = true;
    int rc = 0;

    if (control->world == 1)
        return 0;
    pthread_mutex_lock(&control->lock);
    if (!control->is_stopped && control->death_count == 0)
        dt_tree_leave(control, deadline);
    wake(control);
    while (in_time && !control->is_stopped && control->death_count == 0 && control->phase != DT_PHASE_DONE)
        in_time = dt_control_wait(control, &patient);
    if (control->phase != DT_PHASE_DONE && (control->is_stopped || control->death_count > 0))
        rc = leave_early(control, err);
    else if (control->phase != DT_PHASE_DONE)
        rc = dt_error_set(err, "not all ranks came to dtrain_finalize within %.4g s", deadline->timeout_ms / 1000.0);
    pthread_mutex_unlock(&control->lock);
    return rc;
}

void dt_control_abandon(struct dt_control *control, const char *why)
{
    pthread_mutex_lock(&control->lock);
    if (!control->is_stopped && control->phase == DT_PHASE_UP)
        say_left(control, why);
    pthread_mutex_unlock(&control->lock);
}
