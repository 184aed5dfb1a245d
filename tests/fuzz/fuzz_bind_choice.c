/* SLURM_DTRAIN_BIND, which a user can set to anything: what is taken comes back the same. */
#include <stdlib.h>
#include <string.h>

#include "core/bind_choice.h"
#include "fuzz.h"

const char dt_fuzz_name[] = "bind_choice";
unsigned long dt_fuzz_accepted;
const char *const dt_fuzz_seeds[] = {
    "gpu,cpu,nic,mem;none;all;nothing", "gpu;cpu,mem;own;tasks", "none;none;all;node", "verbose;none;all;node",
    "gpu,gpu;none;all;node", ";;;", "gpu;none;all", "", NULL,
};

static void check(const struct dt_bind_choice *choice)
{
    char text[DT_BIND_CHOICE_MAX];
    struct dt_bind_choice back;

    dt_bind_choice_encode(text, choice);
    dt_fuzz_require(dt_bind_choice_decode(&back, text, NULL) == 0, "what was taken is taken again");
    dt_fuzz_require(back.items == choice->items && back.kept == choice->kept &&
                        back.visible == choice->visible && back.say == choice->say,
                    "and means the same");
    dt_fuzz_require((back.items | back.kept) <= DT_BIND_ITEMS_ALL && back.visible <= DT_VISIBLE_OWN &&
                        back.say <= DT_BIND_SAY_TASKS,
                    "values are known");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = dt_fuzz_text(data, n);
    struct dt_bind_choice choice;
    struct dtrain_error err = {""};

    if (dt_bind_choice_decode(&choice, text, &err) == 0) {
        dt_fuzz_accepted++;
        check(&choice);
    } else {
        dt_fuzz_require(strstr(err.text, DT_BIND_CHOICE_NAME) != NULL, "a refusal names the variable");
    }
    free(text);
    return 0;
}
