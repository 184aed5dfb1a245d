/*
 * seeds.c - with libFuzzer: writes the harness's seeds into the folder named by
 * DT_FUZZ_SEEDS, before the corpus is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

static void write_seed(const char *folder, int i)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/seed-%d", folder, i);
    file = fopen(path, "w");
    dt_fuzz_require(file != NULL && fwrite(dt_fuzz_seeds[i], strlen(dt_fuzz_seeds[i]), 1, file) <= 1 &&
                        fclose(file) == 0,
                    "a seed can be written");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *folder = getenv("DT_FUZZ_SEEDS");

    (void)argc;
    (void)argv;
    for (int i = 0; folder != NULL && dt_fuzz_seeds[i] != NULL; i++)
        write_seed(folder, i);
    return 0;
}
