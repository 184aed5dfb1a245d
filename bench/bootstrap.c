/* bootstrap: what it takes until all ranks can make their communicators, from 8 to 131,072 ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/simulation.h"

static const struct sim_sizes rows[] = {
    {1, 8, 8, 1, 1, 1},      {8, 8, 8, 2, 1, 1},       {64, 8, 8, 8, 1, 1},      {128, 8, 8, 8, 1, 1},
    {512, 8, 8, 8, 1, 1},    {2048, 8, 8, 16, 1, 1},   {8192, 8, 8, 16, 1, 1},   {16384, 8, 8, 16, 1, 1},
};

static void print_row(const struct sim_sizes *sizes, const struct sim_result *r)
{
    double world = r->world;

    printf("%7" PRIu32 " %3" PRIu32 " %3" PRIu32 " %5" PRIu32 " %4" PRIu64 " %5.1f %4" PRIu64 " %7" PRIu64
           " %6.0f %9.2f %8" PRIu64 " %7" PRIu64 " %6" PRIu64 " %8.1f %9" PRIu64 " %7.1f\n",
           r->world, sizes->tp, sizes->pp, r->dp, r->puts.most, (double)r->gets.sum / world, r->gets.most,
           r->inits.most, (double)r->card.sum / world, (double)r->card.sum / 1e6, r->get_bytes.most,
           r->readers.most, r->members.most, (double)r->table_bytes / 1e3,
           sim_megatron_calls(r->world, sizes->tp, sizes->pp), r->seconds / world * 1e6);
}

int main(int argc, char **argv)
{
    uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : UINT32_MAX;

    printf("%7s %3s %3s %5s %4s %5s %4s %7s %6s %9s %8s %7s %6s %8s %9s %7s\n", "ranks", "tp", "pp", "dp",
           "puts", "gets", "most", "inits", "card B", "all MB", "read B", "readers", "a root", "table KB",
           "new_group", "us/rank");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sim_result result;
        struct dtrain_error err;

        if (rows[i].nodes * rows[i].tasks > most)
            break;
        if (sim_run(&result, &rows[i], &err) < 0) {
            fprintf(stderr, "bootstrap: %s\n", err.text);
            return 1;
        }
        print_row(&rows[i], &result);
    }
    return 0;
}
