/* Two-phase commit in plain C: a breadth-first search for this model alone, on one thread.
 *
 *     cc -O2 -o search two_phase_commit.c && ./search 8
 *
 * It is the program that an engineer would write for speed alone. The states, the steps and the invariant are those of
 * examples/two_phase_commit.py. A state is one number; from the lowest bit:
 *
 *     2 bits      the decision, UNDECIDED, COMMITTED or ABORTED; it is also the message that announces the decision
 *     2 bits each the stage of each manager
 *     1 bit each  whether the manager has reported that it is prepared
 *     1 bit each  whether the transaction manager knows that
 *
 * It prints the distinct states, the generated states, the depth, and the bytes that it has allocated.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKING, PREPARED, COMMITTED, ABORTED };
enum { UNDECIDED = 1 }; /* Not 0, so that no state is 0, which marks an empty slot. */

static uint64_t *queue; /* All states, in the order in which they were found. */
static uint64_t *table; /* The same states, by their hashes: open addressing, at most half full. */
static uint64_t found, generated;
static int bits = 16; /* The table has 2^bits slots. */

static int insert(uint64_t state)
{
    uint64_t slot = state * 0x9E3779B97F4A7C15 >> (64 - bits);
    for (; table[slot]; slot = (slot + 1) & ((1ull << bits) - 1))
        if (table[slot] == state)
            return 0;
    table[slot] = state;
    return 1;
}

static void allocate(void)
{
    free(table);
    table = calloc(1ull << bits, sizeof *table);
    queue = realloc(queue, (sizeof *queue << bits) / 2);
    if (!table || !queue)
        exit(3);
    for (uint64_t at = 0; at < found; at++)
        insert(queue[at]);
}

static void visit(uint64_t state)
{
    generated++;
    if (!insert(state))
        return;
    queue[found++] = state;
    if (found == 1ull << (bits - 1)) {
        bits++;
        allocate();
    }
}

int main(int count, char **arguments)
{
    int managers = count == 2 ? atoi(arguments[1]) : 0;
    if (managers < 1 || managers > 15)
        return 2;
    int stages = 2, reports = stages + 2 * managers, knowledge = reports + managers;
    uint64_t everybody = (1ull << managers) - 1, depth = 0, level_end = 0;

    allocate();
    visit(UNDECIDED);
    for (uint64_t at = 0; at < found; at++) {
        if (at == level_end) {
            depth++;
            level_end = found;
        }
        uint64_t state = queue[at], decision = state & 3;
        unsigned seen = 0;
        for (int m = 0; m < managers; m++) {
            int place = stages + 2 * m;
            uint64_t stage = state >> place & 3, without = state & ~(3ull << place);
            seen |= 1u << stage;
            if (stage == WORKING) {
                visit(without | (uint64_t)PREPARED << place | 1ull << (reports + m));
                visit(without | (uint64_t)ABORTED << place);
            }
            if (decision != UNDECIDED)
                visit(without | decision << place);
            else if (state >> (reports + m) & 1)
                visit(state | 1ull << (knowledge + m));
        }
        if (decision == UNDECIDED) {
            visit(state ^ UNDECIDED ^ ABORTED);
            if (state >> knowledge == everybody)
                visit(state ^ UNDECIDED ^ COMMITTED);
        }
        if (seen >> COMMITTED & 1 && seen >> ABORTED & 1) {
            puts("One has committed what another has aborted.");
            return 1;
        }
    }
    printf("%llu %llu %llu %llu\n", (unsigned long long)found, (unsigned long long)generated,
           (unsigned long long)depth, (unsigned long long)((sizeof *table << bits) + (sizeof *queue << bits) / 2));
    return 0;
}
