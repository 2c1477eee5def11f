/* The way that a run takes: which blocks, from which to which, and how many in all.
 *
 * It is noted in memory that the parent sees, so that a run which dies leaves its way behind.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_FEATURES 2048
#define MOST_BLOCKS 8192
#define MOST_STEPS 1000000    /* blocks after which a run counts as endless: the same on every machine */

struct trace { int features[MOST_FEATURES], feature_count, choices_used; unsigned char seen[MOST_BLOCKS]; };
static struct trace *trace;
static int previous;
static long steps;
static unsigned char edges[1 << 17];

void fm_trace_begin(void)
{
    trace = mmap(NULL, sizeof *trace, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trace == MAP_FAILED) {
        fprintf(stderr, "no memory for a trace\n");
        exit(70);
    }
}

void fm_trace_clear(void) { memset(trace, 0, sizeof *trace); }
void fm_trace_choices(int used) { trace->choices_used = used; }

void __sanitizer_cov_trace_pc(void)
{
    if (!fm_active)
        return;
    if (++steps > MOST_STEPS)
        fm_finish("endless", "");
    uint64_t here = (uint64_t)__builtin_return_address(0);
    int low = 0, high = fm_program.block_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (fm_program.blocks[middle] < here) low = middle + 1; else high = middle;
    }
    if (low >= fm_program.block_count || fm_program.blocks[low] != here)
        return;
    if (low < MOST_BLOCKS)
        trace->seen[low] = 1;
    unsigned edge = ((unsigned)previous * 8191u + (unsigned)low) & 0xFFFFF;
    previous = low + 1;
    if (!(edges[edge / 8] >> (edge % 8) & 1) && trace->feature_count < MOST_FEATURES) {
        edges[edge / 8] = (unsigned char)(edges[edge / 8] | 1u << (edge % 8));
        trace->features[trace->feature_count++] = (int)edge;
    }
}

/* Lines, features, and how many choices were used, as members of an object; what is read here is bounded, as
 * the run might have written anything. */
void fm_trace_dump(struct fm_text *out, int with_lines)
{
    int first = 1, count = with_lines ? trace->feature_count : 0;
    fm_put(out, "\"lines\": [");
    for (int block = 0; with_lines && block < fm_table.block_count && block < MOST_BLOCKS; block++)
        if (trace->seen[block])
            for (int i = fm_table.block_starts[block]; i < fm_table.block_starts[block + 1]; i++, first = 0)
                fm_printf(out, first ? "%d" : ", %d", fm_table.block_lines[i]);
    fm_put(out, "], \"features\": [");
    for (int i = 0; i < count && i < MOST_FEATURES; i++)
        fm_printf(out, i ? ", %d" : "%d", trace->features[i] & 0xFFFFF);
    fm_printf(out, "], \"choices_used\": %d", trace->choices_used < 0 ? 0 : trace->choices_used);
}
