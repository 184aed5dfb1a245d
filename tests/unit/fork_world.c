#include "fork_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/plan_wire.h"

#define ALARM_S 60 /* a rank that hangs is killed, and the test sees it */

struct seat {
    struct fork_step *step;
    uint32_t task;
    const char *host;
};

/* ---- The bootstrap -------------------------------------------------------- */

static bool seat_is_available(uint32_t task_count, char *why, size_t size)
{
    (void)task_count;
    (void)why;
    (void)size;
    return true;
}

static int seat_open(void **state, struct dt_boot_facts *facts, struct dtrain_error *err)
{
    const struct seat *seat = *state;
    const struct fork_layout *layout = &seat->step->row->layout;

    (void)err;
    *facts = (struct dt_boot_facts){
        .task = seat->task,
        .task_count = seat->step->count,
        .local_rank = seat->task % layout->tasks,
        .local_size = layout->tasks,
        .node_count = layout->nodes,
    };
    if (seat->host != NULL)
        snprintf(facts->host, sizeof(facts->host), "%s", seat->host);
    else
        snprintf(facts->host, sizeof(facts->host), "n%u", seat->task / layout->tasks + 1);
    return 0;
}

static void seat_close(void *state)
{
    free(state);
}

static int seat_publish(void *state, const void *card, size_t size, struct dtrain_error *err)
{
    struct seat *seat = state;
    struct fork_rank *own = &seat->step->ranks[seat->task];

    (void)err;
    pthread_mutex_lock(&seat->step->lock);
    memcpy(own->card, card, size);
    own->card_size = size;
    own->has_come = true;
    pthread_cond_broadcast(&seat->step->changed);
    pthread_mutex_unlock(&seat->step->lock);
    return 0;
}

static bool has_ended(const struct seat *seat)
{
    const struct fork_step *step = seat->step;
    bool all = (step->row->no_fence >> seat->task & 1) == 0;

    for (uint32_t i = 0; i < step->count; i++)
        all = all && step->ranks[i].has_come;
    return all;
}

static bool can_see(const struct seat *seat, uint32_t task)
{
    const struct fork_row *row = seat->step->row;

    return seat->step->ranks[task].has_come &&
           ((row->blind >> seat->task & 1) == 0 || (row->unseen >> task & 1) == 0);
}

static int seat_fence(void *state, const struct dt_deadline *deadline, bool *is_late,
                      struct dtrain_error *err)
{
    const struct seat *seat = state;
    struct fork_step *step = seat->step;
    struct timespec at = {.tv_sec = deadline->at_ns / 1000000000, .tv_nsec = deadline->at_ns % 1000000000};
    int rc = 0;

    (void)err;
    pthread_mutex_lock(&step->lock);
    while (rc == 0 && !has_ended(seat))
        rc = pthread_cond_timedwait(&step->changed, &step->lock, &at);
    *is_late = !has_ended(seat);
    pthread_mutex_unlock(&step->lock);
    if (step->row->after_fence != NULL)
        step->row->after_fence(step, seat->task);
    return 0;
}

static int seat_get(void *state, uint32_t task, void *card, size_t *size, const struct dt_deadline *deadline,
                    bool *is_late, struct dtrain_error *err)
{
    const struct seat *seat = state;
    struct fork_step *step = seat->step;
    const struct fork_rank *rank = &step->ranks[task];
    struct timespec at = {.tv_sec = deadline->at_ns / 1000000000, .tv_nsec = deadline->at_ns % 1000000000};
    int rc = 0;

    (void)err;
    pthread_mutex_lock(&step->lock);
    while (rc == 0 && !can_see(seat, task))
        rc = pthread_cond_timedwait(&step->changed, &step->lock, &at);
    *is_late = !can_see(seat, task);
    pthread_mutex_unlock(&step->lock);
    if (*is_late)
        return 0;
    memcpy(card, rank->card, rank->card_size);
    *size = rank->card_size;
    return 0;
}

static void seat_count(const void *state, struct dt_boot_counts *counts)
{
    (void)state;
    *counts = (struct dt_boot_counts){.puts = 1, .commits = 1, .fences = 1};
}

static const struct dt_boot seat_boot = {
    .name = "fork",
    .is_available = seat_is_available,
    .open = seat_open,
    .close = seat_close,
    .publish = seat_publish,
    .fence = seat_fence,
    .get = seat_get,
    .count = seat_count,
};

/* ---- Worlds ------------------------------------------------------------------ */

struct dt_plan *fork_plan(const struct fork_layout *layout)
{
    static const char *const names[FORK_RANKS_MAX] = {"n1",  "n2",  "n3",  "n4",  "n5",  "n6",  "n7",
                                                      "n8",  "n9",  "n10", "n11", "n12", "n13", "n14",
                                                      "n15", "n16", "n17", "n18", "n19", "n20"};
    uint32_t tasks[FORK_RANKS_MAX];
    struct dt_plan_inputs inputs = {
        .request = {.tp = layout->tp, .pp = layout->pp, .ep = layout->ep, .etp = 1},
        .backend = DT_BACKEND_HOST,
        .node_count = layout->nodes,
        .nodes = names,
        .tasks = tasks,
        .master_addr = "127.0.0.1",
    };
    struct dt_plan *plan = NULL;
    struct dtrain_error err;

    for (uint32_t i = 0; i < layout->nodes; i++)
        tasks[i] = layout->tasks;
    if (dt_plan_create(&plan, &inputs, &err) < 0) {
        fprintf(stderr, "# plan: %s\n", err.text);
        exit(2);
    }
    return plan;
}

int fork_start(struct dtrain_world **world, struct fork_step *step, uint32_t task, struct dt_plan *plan,
               const char *host, struct dtrain_error *err)
{
    struct dt_world_start start = {.boot = &seat_boot};
    struct seat *seat = malloc(sizeof(*seat));
    char *text = NULL;

    *seat = (struct seat){step, task, host};
    start.boot_state = seat;
    start.backend = step->row->backend;
    start.plan = plan != NULL ? plan : fork_plan(&step->row->layout);
    if (dt_plan_wire_encode(&text, start.plan, err) < 0)
        exit(2);
    start.plan_hash = dt_plan_wire_hash(text);
    free(text);
    start.settings.init_timeout_ms = step->row->timeout_ms;
    start.settings.timeout_ms = step->row->timeout_ms;
    start.settings.log_level = DT_LOG_ERROR;
    if (getenv(DT_COMM_CONFIG_USER_NAME) != NULL &&
        dt_comm_configs_parse(&start.settings.comm, getenv(DT_COMM_CONFIG_USER_NAME), "comm", err) < 0)
        exit(2);
    dt_phases_start(&start.phases);
    return dt_world_start(world, &start, err);
}

int fork_init(struct dtrain_world **world, struct fork_step *step, uint32_t task, struct dt_plan *plan,
              const char *host, struct dtrain_error *err)
{
    bool done = false;
    int rc = fork_start(world, step, task, plan, host, err);

    while (rc == 0 && !done) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        rc = dtrain_init_poll(*world, &done, err);
    }
    return rc;
}

bool fork_reached(struct fork_step *step, uint32_t rank, uint32_t n)
{
    struct timespec at;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += 5;
    pthread_mutex_lock(&step->lock);
    step->flags |= 1u << rank;
    pthread_cond_broadcast(&step->changed);
    while (rc == 0 && (uint32_t)__builtin_popcount(step->flags) < n)
        rc = pthread_cond_timedwait(&step->changed, &step->lock, &at);
    pthread_mutex_unlock(&step->lock);
    return rc == 0;
}

/* ---- Processes ------------------------------------------------------------------ */

static void init_shared(struct fork_step *step)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;

    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&step->lock, &mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    pthread_cond_init(&step->changed, &cond);
}

static void run_rank(struct fork_step *step, uint32_t rank, fork_body *body)
{
    alarm(ALARM_S);
    body(step, rank, step->ranks[rank].said);
    exit(0);
}

static struct fork_step *run(const struct fork_row *row)
{
    struct fork_step *step =
        mmap(NULL, sizeof(*step), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[FORK_RANKS_MAX];

    if (step == MAP_FAILED)
        exit(2);
    step->row = row;
    step->count = row->layout.nodes * row->layout.tasks;
    init_shared(step);
    fflush(NULL);
    for (uint32_t i = 0; i < step->count; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            exit(2);
        if (pids[i] == 0)
            run_rank(step, i, row->body);
    }
    for (uint32_t i = 0; i < step->count; i++)
        waitpid(pids[i], &step->ranks[i].status, 0);
    return step;
}

static bool rank_is_right(const struct fork_rank *rank, const struct fork_row *row, uint32_t i)
{
    bool is_killed = row->killed >> i & 1;

    if (is_killed ? !WIFSIGNALED(rank->status) : rank->status != 0)
        return false;
    if (is_killed || row->silent >> i & 1)
        return rank->said[0] == '\0';
    return strstr(rank->said, row->words[0]) != NULL &&
           (row->words[1] == NULL || strstr(rank->said, row->words[1]) != NULL);
}

bool fork_check(const struct fork_row *row)
{
    struct fork_step *step = run(row);
    bool ok = true;

    for (uint32_t rank = 0; rank < step->count; rank++) {
        const struct fork_rank *one = &step->ranks[rank];

        if (rank_is_right(one, row, rank))
            continue;
        ok = false;
        printf("# rank %u (status 0x%x) said: %s\n", rank, (unsigned)one->status, one->said);
    }
    munmap(step, sizeof(*step));
    return ok;
}

void fork_say(char said[FORK_TEXT_MAX], const char *text)
{
    snprintf(said, FORK_TEXT_MAX, "%s", text);
}

void fork_pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}
