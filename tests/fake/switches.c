/* The double's switches, for a Slurm whose answer is an array of records. */
#include <stdlib.h>

#include "spank.h"

int slurm_load_topo(topo_info_response_msg_t **answer)
{
    if (fake.is_silent)
        return -1;
    *answer = calloc(1, sizeof(**answer));
    (*answer)->record_count = fake.switch_count;
    (*answer)->topo_array = calloc(fake.switch_count + 1, sizeof(topo_info_t));
    for (uint32_t i = 0; i < fake.switch_count; i++)
        (*answer)->topo_array[i] = fake.switches[i];
    return 0;
}

void slurm_free_topo_info_msg(topo_info_response_msg_t *answer)
{
    free(answer->topo_array);
    free(answer);
}
