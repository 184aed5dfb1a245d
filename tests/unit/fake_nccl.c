#include "fake_nccl.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALARM_S 60
#define TEXT_MAX 65536
#define WAIT_MS 10000

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

int row_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not so: %s (%s)\n", file, line, what, ncclGetLastError(NULL));
    return 1;
}

ncclUniqueId row_id(struct row_rank *rank, int at, int maker)
{
    if (rank->rank == maker) {
        ncclGetUniqueId(&rank->shared->ids[at]);
        rank->shared->ids_there[at] = 1;
    }
    while (!rank->shared->ids_there[at])
        pause_ms(1);
    return rank->shared->ids[at];
}

bool row_meet(struct row_rank *rank, int at)
{
    rank->shared->reached[at]++;
    for (int ms = 0; ms < WAIT_MS && rank->shared->reached[at] < rank->count; ms++)
        pause_ms(1);
    return rank->shared->reached[at] >= rank->count;
}

ncclResult_t row_settle(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;

    while (ncclCommGetAsyncError(comm, &state) == ncclSuccess && state == ncclInProgress)
        pause_ms(1);
    return state;
}

ncclResult_t row_comm(struct row_rank *rank, int at, int blocking, ncclComm_t *comm)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id = row_id(rank, at, 0);
    ncclResult_t result;

    config.blocking = blocking;
    config.commName = "row";
    result = ncclCommInitRankConfig(comm, rank->count, id, rank->rank, &config);
    return result == ncclInProgress ? row_settle(*comm) : result;
}

ncclResult_t row_await_error(ncclComm_t comm)
{
    ncclResult_t state = ncclSuccess;

    for (int ms = 0; ms < WAIT_MS && (state == ncclSuccess || state == ncclInProgress); ms++) {
        if (ncclCommGetAsyncError(comm, &state) != ncclSuccess)
            break;
        pause_ms(1);
    }
    return state;
}

/* ---- Processes ------------------------------------------------------------ */

static void set_environment(const struct row *row, int rank)
{
    char text[512], number[16], *rest = text, *one;

    snprintf(text, sizeof(text), "%s", row->environment != NULL ? row->environment : "");
    while ((one = strsep(&rest, " ")) != NULL) {
        char *value = strchr(one, '=');

        if (value == NULL)
            continue;
        *value = '\0';
        setenv(one, value + 1, 1);
    }
    snprintf(number, sizeof(number), "%d", rank);
    setenv("FAKE_NCCL_RANK", number, 1);
}

static void run_rank(const struct row *row, struct row_shared *shared, int rank, int out)
{
    struct row_rank one = {shared, rank, row->ranks, row->argument};

    dup2(out, STDERR_FILENO);
    alarm(ALARM_S);
    set_environment(row, rank);
    if (cudaSetDevice(rank) != cudaSuccess)
        exit(2);
    exit(row->body(&one));
}

static size_t read_all(int fd, char text[TEXT_MAX])
{
    size_t length = 0;
    ssize_t n;

    while (length < TEXT_MAX - 1 && (n = read(fd, text + length, TEXT_MAX - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
    return length;
}

/* A row of violations: some rank's status says so, and none says anything else. */
static bool statuses_are_right(const struct row *row, const int *statuses)
{
    bool is_reported = row->environment != NULL && strstr(row->environment, "VIOLATIONS=report") != NULL;
    int broken = 0;

    for (int i = 0; i < row->ranks; i++) {
        if (!WIFEXITED(statuses[i]) ||
            (WEXITSTATUS(statuses[i]) != 0 && WEXITSTATUS(statuses[i]) != ROW_BROKEN))
            return false;
        broken += WEXITSTATUS(statuses[i]) == ROW_BROKEN;
    }
    return row->words == NULL || is_reported ? broken == 0 : broken > 0;
}

static void show(const struct row *row, const int *statuses, char *text)
{
    printf("# expected: %s; statuses:", row->words != NULL ? row->words : "no violation");
    for (int i = 0; i < row->ranks; i++)
        printf(" 0x%x", (unsigned)statuses[i]);
    printf("\n");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        printf("# %s\n", line);
}

bool row_run(const struct row *row)
{
    struct row_shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static char text[TEXT_MAX];
    int pipes[2], statuses[ROW_RANKS_MAX];
    pid_t pids[ROW_RANKS_MAX];
    bool ok;

    if (shared == MAP_FAILED || pipe(pipes) != 0)
        exit(2);
    fflush(NULL);
    for (int i = 0; i < row->ranks; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            exit(2);
        if (pids[i] == 0)
            run_rank(row, shared, i, pipes[1]);
    }
    close(pipes[1]);
    read_all(pipes[0], text);
    close(pipes[0]);
    for (int i = 0; i < row->ranks; i++)
        waitpid(pids[i], &statuses[i], 0);
    munmap(shared, sizeof(*shared));
    ok = statuses_are_right(row, statuses) &&
         (row->words == NULL ? strstr(text, "VIOLATION") == NULL : strstr(text, row->words) != NULL);
    if (!ok)
        show(row, statuses, text);
    return ok;
}
