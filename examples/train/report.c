#include "report.h"

#include <stdio.h>
#include <time.h>

#include "error.h"

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say_start(const struct grid *grid, const struct options *options, const struct model *model,
                      const struct data *data)
{
    const struct layout *layout = &grid->layout;
    char more[64] = "", ep[64] = "";

    if (layout->cp.size > 1)
        snprintf(more, sizeof(more), " x cp %d", layout->cp.size);
    if (options->ps > 0)
        snprintf(more, sizeof(more), " and %d parameter server%s", options->ps, options->ps == 1 ? "" : "s");
    if (options->experts > 0)
        snprintf(ep, sizeof(ep), ", %d experts of ep %d, top %d", options->experts, layout->ep.size,
                 options->top_k);
    printf(
        "train: tp %d x pp %d x dp %d%s on %d node%s, %s backend; %zu %s parameters: layers %d, hidden %d, "
        "heads %d, seq %d%s; batch %d in %d microbatch%s; %zu bytes of %s\n",
        layout->tp.size, layout->pp.size, layout->dp.size, more, dtrain_node_count(grid->world),
        dtrain_node_count(grid->world) == 1 ? "" : "s", dtrain_backend(grid->world),
        parameter_total(model->parameters, model->count), options_type_name(options->type), options->layers,
        options->hidden, options->heads, options->seq, ep, options->batch, options->microbatches,
        options->microbatches == 1 ? "" : "es", data->size, options->data);
}

void report_start(struct report *report, const struct grid *grid, const struct options *options,
                  const struct model *model, const struct data *data)
{
    *report = (struct report){
        .speaks = dtrain_rank(grid->world) == grid->speaker,
        .step_tokens = (size_t)options->batch * (size_t)options->seq,
        .started_s = now_s(),
    };
    report->step_started_s = report->started_s;
    if (!report->speaks)
        return;
    setvbuf(stdout, NULL, _IOLBF, 0);
    say_start(grid, options, model, data);
}

void report_step(struct report *report, uint64_t step, double loss)
{
    double now = now_s();

    if (report->speaks)
        printf("step %llu loss %.8f tokens/s %.0f\n", (unsigned long long)step, loss,
               (double)report->step_tokens / (now - report->step_started_s));
    if (report->steps++ == 0)
        report->first_loss = loss;
    report->last_loss = loss;
    report->step_started_s = now;
}

static void say_end(const struct report *report)
{
    double seconds = now_s() - report->started_s;

    printf("train: %llu steps in %.1f s, loss %.4f to %.4f, %.0f tokens/s\n",
           (unsigned long long)report->steps, seconds, report->first_loss, report->last_loss,
           (double)report->steps * (double)report->step_tokens / seconds);
}

int report_end(const struct report *report, struct dtrain_error *err)
{
    if (!report->speaks)
        return 0;
    if (report->steps == 0)
        printf("train: no steps left to run: --steps is the number of the last one\n");
    else
        say_end(report);
    if (fflush(stdout) != 0 || ferror(stdout))
        return error_set(err, "cannot write to standard output");
    return 0;
}
