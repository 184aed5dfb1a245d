/*
 * A plugin for the tests on the lab, listed before dtrain's: spoils a step in
 * slurmstepd, on the nodes named, as its arguments in plugstack.conf say.
 *
 *   nodes=n2      only there (default: everywhere)
 *   plan=TEXT     SLURM_DTRAIN_PLAN becomes TEXT; "missing" takes it away, "huge"
 *                 makes it as long as Slurm lets a variable be
 *   option=NAME   registers an option of that name, before dtrain can
 */
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HUGE_BYTES 131000
#define PLAN "SLURM_DTRAIN_PLAN"

SPANK_PLUGIN(fault, 1)

static bool is_here(const char *nodes)
{
    char name[256] = "";

    gethostname(name, sizeof(name) - 1);
    return strcmp(name, nodes) == 0;
}

static void set_huge(spank_t spank)
{
    char *text = malloc(HUGE_BYTES + 1);

    if (text == NULL)
        return;
    memset(text, 'x', HUGE_BYTES);
    text[HUGE_BYTES] = '\0';
    spank_setenv(spank, PLAN, text, 1);
    free(text);
}

static void spoil(spank_t spank, const char *argument)
{
    if (strcmp(argument, "plan=missing") == 0) {
        spank_unsetenv(spank, PLAN);
    } else if (strcmp(argument, "plan=huge") == 0) {
        set_huge(spank);
    } else if (strncmp(argument, "plan=", 5) == 0) {
        spank_setenv(spank, PLAN, argument + 5, 1);
    }
}

static int take_option(int value, const char *argument, int remote)
{
    (void)value;
    (void)argument;
    (void)remote;
    return 0;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    static struct spank_option option = {
        .arginfo = (char *)"N", .usage = (char *)"taken", .has_arg = 1, .cb = take_option};

    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "option=", 7) != 0)
            continue;
        option.name = argv[i] + 7;
        spank_option_register(spank, &option);
    }
    return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    uint32_t step_id = 0;

    if (spank_remote(spank) != 1 || spank_get_item(spank, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
        step_id >= SLURM_MAX_NORMAL_STEP_ID)
        return 0;
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "nodes=", 6) == 0 && !is_here(argv[i] + 6))
            return 0;
    for (int i = 0; i < argc; i++)
        spoil(spank, argv[i]);
    return 0;
}
