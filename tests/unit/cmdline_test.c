/* srun's command line as srun itself reads it: which steps ask for dtrain. */
#include "plugin/cmdline.h"

#include <stdlib.h>

#include "tap.h"

#define WORDS_MAX 32

static const struct row {
    const char *line; /* words joined by one space */
    bool active;
    uint32_t tp, pp;
    bool has_mpi, has_components;
    const char *unsure;
    unsigned bound;
} rows[] = {
    {.line = "srun"},
    {.line = "srun hostname"},
    {"srun --dtrain-tp=8 --dtrain-pp=2 ./train", .active = true, .tp = 8, .pp = 2},
    {"srun --dtrain-tp 8 --dtrain-pp 2 ./train", .active = true, .tp = 8, .pp = 2},
    {.line = "srun ./train --dtrain-tp=8"},
    {.line = "srun -n 4 ./train --dtrain-tp=8"},
    {.line = "srun -- ./train --dtrain-tp=8"},
    {.line = "srun -- --dtrain-tp=8"},
    {.line = "srun - --dtrain-tp=8"},
    /* unique prefixes, and those that are none */
    {"srun --dtrain-p=2 ./train", .active = true, .pp = 2},
    {"srun --dtrain-p 2 ./train", .active = true, .pp = 2},
    {.line = "srun --dtrain-t=2 ./train"},
    {"srun --dtrain-tp-s=any ./train", .active = true},
    {"srun --dtrain=on ./train", .active = true},
    {"srun --dtrain on ./train", .active = true},
    {"srun --dtrain-report ./train", .active = true},
    {"srun --dtrain-report=json ./train", .active = true},
    /* an optional value never stands in the next word */
    {"srun --dtrain-report --dtrain-tp=2 ./train", .active = true, .tp = 2},
    /* off */
    {"srun --dtrain-tp=8 --dtrain=off ./train", .tp = 8},
    {"srun --dtrain=off --dtrain-tp=8 ./train", .tp = 8},
    {"srun --dtrain=off --dtrain=on ./train", .active = true},
    /* the last value holds, a refused one does not count */
    {"srun --dtrain-tp=2 --dtrain-tp=4 ./train", .active = true, .tp = 4},
    {.line = "srun --dtrain-tp=zero ./train"},
    {.line = "srun --dtrain-tp"},
    /* srun's options with a value in the next word */
    {"srun -n 4 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun -n4 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun -ln 4 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun -N 2 -w n1 -x n2 -c 3 -p main -J x -o out -t 5 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun -N4 -l -u -v -vv --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun -I --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun -I5 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun -K -k -Z --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {.line = "srun -K 5 --dtrain-tp=2"},
    {"srun --ntasks 4 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun --ntasks-per-node 4 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun --nodel n1 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {.line = "srun --job-name --dtrain-tp=2 ./train"},
    {.line = "srun -J --dtrain-tp=2 ./train"},
    {"srun --exclusive --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {.line = "srun --exclusive user --dtrain-tp=2"},
    {"srun --label --pty --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun --chdir /tmp --export NONE --gres gpu:8 -G 8 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun --container-id x --tres-per-task gres/gpu:1 --dtrain-tp=2 ./train", .active = true, .tp = 2},
    /* the user's own kind of MPI */
    {"srun --mpi=none --dtrain-tp=2 ./train", .active = true, .tp = 2, .has_mpi = true},
    {"srun --mpi none --dtrain-tp=2 ./train", .active = true, .tp = 2, .has_mpi = true},
    {"srun --mp=pmi2 --dtrain-tp=2 ./train", .active = true, .tp = 2, .has_mpi = true},
    {"srun --dtrain-tp=2 ./train --mpi=none", .active = true, .tp = 2},
    /* the user's own bindings */
    {"srun --cpu-bind=cores --dtrain-tp=2 ./train", .active = true, .tp = 2, .bound = 1u << DT_BIND_ITEM_CPU},
    {"srun --cpu-bind none --dtrain-tp=2 ./train", .active = true, .tp = 2, .bound = 1u << DT_BIND_ITEM_CPU},
    {"srun --cpu-bind=verbose --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun --gpu-bind=closest --mem-bind=local --dtrain-tp=2 ./train", .active = true, .tp = 2,
     .bound = 1u << DT_BIND_ITEM_GPU | 1u << DT_BIND_ITEM_MEM},
    {"srun --dtrain-tp=2 ./train --cpu-bind=cores", .active = true, .tp = 2},
    /* heterogeneous steps */
    {"srun -n1 a : --dtrain-tp=2 -n2 b", .active = true, .tp = 2, .has_components = true},
    {"srun -n1 a : -n2 b --dtrain-tp=2", .has_components = true},
    {"srun --het-group=0,1 --dtrain-tp=2 a", .active = true, .tp = 2, .has_components = true},
    {"srun --het-group 0-2 --dtrain-tp=2 a", .active = true, .tp = 2, .has_components = true},
    {"srun --het-group=1 --dtrain-tp=2 a", .active = true, .tp = 2},
    /* options of other plugins: the next word may be their value */
    {"srun --container-image=a.sqsh --dtrain-tp=2 ./train", .active = true, .tp = 2},
    {"srun --container-image a.sqsh --dtrain-tp=2 ./train", .unsure = "--container-image"},
    {"srun --no-container-thing --dtrain-tp=2 ./train", .active = true, .tp = 2,
     .unsure = "--no-container-thing"},
};

static uint32_t split_line(const char **words, char *line)
{
    size_t bytes = strlen(line) + 1;

    for (char *c = line; *c; c++)
        if (*c == ' ')
            *c = '\0';
    return dt_cmdline_split(words, WORDS_MAX, line, bytes);
}

static bool matches(const struct row *row, const struct dt_cmdline *cmdline, const struct dt_request *request)
{
    return dt_request_is_active(request) == row->active && request->layout.tp == row->tp &&
           request->layout.pp == row->pp && cmdline->has_mpi == row->has_mpi &&
           cmdline->has_components == row->has_components && cmdline->bound == row->bound &&
           !cmdline->unsure == !row->unsure &&
           (row->unsure == NULL || strcmp(row->unsure, cmdline->unsure) == 0);
}

static void test_row(const struct row *row)
{
    char *line = strdup(row->line);
    const char *words[WORDS_MAX];
    struct dt_cmdline cmdline;
    struct dt_request request;

    dt_request_init(&request);
    dt_cmdline_scan(&cmdline, &request, words, split_line(words, line));
    tap_ok(matches(row, &cmdline, &request), "%s", row->line);
    free(line);
}

static void test_split(void)
{
    const char *words[2];

    tap_ok(dt_cmdline_split(words, 2, "a\0b\0c\0", 6) == 2 && strcmp(words[1], "b") == 0,
           "no more words than there is room for");
    tap_ok(dt_cmdline_split(words, 2, "a\0bc", 4) == 1, "a word that was cut is dropped");
    tap_ok(dt_cmdline_split(words, 2, "", 0) == 0, "nothing");
    tap_ok(dt_cmdline_split(words, 2, "\0\0", 2) == 2 && words[1][0] == '\0', "empty words are words");
}

static void test_inherited(void)
{
    const char *words[] = {"srun", "--dtrain-pp=2", "a"};
    struct dt_cmdline cmdline;
    struct dt_request request;

    dt_request_init(&request);
    dt_request_apply(&request, "dtrain-tp", "8", NULL);
    dt_cmdline_scan(&cmdline, &request, words, 3);
    tap_ok(request.layout.tp == 8 && request.layout.pp == 2, "what the request held already stays");
    dt_cmdline_scan(&cmdline, &request, NULL, 0);
    tap_ok(request.layout.tp == 8, "no words at all");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        test_row(&rows[i]);
    test_split();
    test_inherited();
    return tap_done();
}
