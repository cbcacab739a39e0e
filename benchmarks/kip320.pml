/* The replication model in its kip-320 version, for SPIN: the same states, the same steps, the same properties.
 *
 * Bounds are macros; RECORD_BITS has room for 0 .. MAX_RECORDS * (MAX_LEADER_EPOCH + 1). `spin.py` does this:
 *
 *     spin -DBROKERS=3 -DLOG_SIZE=2 -DMAX_RECORDS=2 -DMAX_LEADER_EPOCH=2 -DRECORD_BITS=3 -o3 -a kip320.pml
 *     cc -O2 -DSAFETY -DNOREDUCE -DNOFAIR -DBFS -o pan pan.c && ./pan -w22                      breadth-first
 *     cc -O2 -DSAFETY -DNOREDUCE -DNOFAIR -o pan pan.c && ./pan -w22 -m100000                   depth-first
 *     cc -O2 -DSAFETY -DNOREDUCE -DNOFAIR -DBFS_PAR -DNO_HC -o pan pan.c && ./pan -w22 -u2      breadth-first, 2 cores
 *     cc -O2 -DSAFETY -DNOREDUCE -DNOFAIR -DNCORE=2 -DMEMLIM=8000 -o pan pan.c && ./pan -w22 -m100000     depth-first, 2
 *
 * All are exact: states are stored whole. -DBFS_PAR alone would keep hashes of 64 bits, hence its -DNO_HC.
 *
 * SPIN stores the model's states and no others because
 * - there is one process, and each action is one d_step, so the process is at the head of its loop in every state;
 * - variables are initialized in their declarations, so no state precedes the first;
 * - temporary variables of an action are 0 again when it ends (`hidden` would do, but SPIN's BFS refuses it);
 * - truncated records leave zeros.
 * -o3 (statements are not merged) and -DNOREDUCE (no interleaving is left out) change nothing with one process. They
 * are given to rule out any doubt.
 */

#define EPOCHS (MAX_LEADER_EPOCH + 1)
#define EVERYBODY ((1 << BROKERS) - 1)
#define BIT(b) (1 << (b))

#if LOG_SIZE * RECORD_BITS > 30
#error "a log must fit in an int"
#endif

/* Epochs and leaders are stored plus one, 0 is none. An ISR is a bit for each broker. A log is a digit for each
 * offset, the lowest first: 0 where it has ended, else 1 + the record's epoch * MAX_RECORDS + its id. */
int log[BROKERS];
byte end[BROKERS];
byte high_watermark[BROKERS];
byte epoch[BROKERS];
byte leader[BROKERS];
byte isr[BROKERS];

byte zk_epoch;
byte zk_leader;
byte zk_isr = EVERYBODY;

byte request_leader[EPOCHS];
byte request_isr[EPOCHS];

byte next_record_id;

/* Of an action while it runs. */
byte offset;
byte led_under;
byte high_watermark_was;

#define BELOW(offset) ((1 << ((offset) * RECORD_BITS)) - 1)
#define AT(b, offset) ((log[b] >> ((offset) * RECORD_BITS)) & BELOW(1))

#if BROKERS == 1
#define EACH(X) X(0)
#define EACH_OTHER(X, b)
#define FOR_ALL(X, b) (X(b, 0))
#elif BROKERS == 2
#define EACH(X) X(0) X(1)
#define EACH_OTHER(X, b) X(b, (b + 1) % 2)
#define FOR_ALL(X, b) (X(b, 0) && X(b, 1))
#elif BROKERS == 3
#define EACH(X) X(0) X(1) X(2)
#define EACH_OTHER(X, b) X(b, (b + 1) % 3) X(b, (b + 2) % 3)
#define FOR_ALL(X, b) (X(b, 0) && X(b, 1) && X(b, 2))
#elif BROKERS == 4
#define EACH(X) X(0) X(1) X(2) X(3)
#define EACH_OTHER(X, b) X(b, (b + 1) % 4) X(b, (b + 2) % 4) X(b, (b + 3) % 4)
#define FOR_ALL(X, b) (X(b, 0) && X(b, 1) && X(b, 2) && X(b, 3))
#else
#error "1 to 4 brokers"
#endif

#if MAX_LEADER_EPOCH == 0
#define EACH_EPOCH(X, b) X(b, 0)
#elif MAX_LEADER_EPOCH == 1
#define EACH_EPOCH(X, b) X(b, 0) X(b, 1)
#elif MAX_LEADER_EPOCH == 2
#define EACH_EPOCH(X, b) X(b, 0) X(b, 1) X(b, 2)
#elif MAX_LEADER_EPOCH == 3
#define EACH_EPOCH(X, b) X(b, 0) X(b, 1) X(b, 2) X(b, 3)
#else
#error "0 to 3 as the highest leader epoch"
#endif

/* no_hw_regression, around what an action does to a broker; no action changes two. */

#define BEFORE(b) \
    led_under = (leader[b] == b + 1 -> epoch[b] : 0); high_watermark_was = high_watermark[b]
#define AFTER(b) \
    assert(!led_under || leader[b] != b + 1 || epoch[b] != led_under || high_watermark_was <= high_watermark[b]); \
    led_under = 0; high_watermark_was = 0

/* The controller. */

#define SEND \
    request_leader[zk_epoch] = zk_leader; request_isr[zk_epoch] = zk_isr; zk_epoch++

#define CONTROLLER_SHRINK_ISR(b) \
    :: d_step { zk_epoch < EPOCHS && (zk_isr & BIT(b)) -> \
        if \
        :: zk_leader == b + 1 -> zk_leader = 0; zk_isr = (zk_isr == BIT(b) -> zk_isr : zk_isr & ~BIT(b)) \
        :: else -> zk_isr = zk_isr & ~BIT(b) \
        fi; \
        SEND }

#define CONTROLLER_ELECT_LEADER(b) \
    :: d_step { zk_epoch < EPOCHS && (zk_isr & BIT(b)) && zk_leader != b + 1 -> zk_leader = b + 1; SEND }

/* A broker that presumes to lead. A leader is in its own ISR, so only another broker joins it. */

#define PRESUMES(l) (leader[l] == l + 1)
#define TRUE_LEADER(l) (PRESUMES(l) && zk_leader == l + 1 && zk_epoch == epoch[l])
#define SAME_EPOCH(f, l) (PRESUMES(l) && leader[f] == l + 1 && epoch[f] == epoch[l])

#define BECOME_LEADER(b, e) \
    :: d_step { request_leader[e] == b + 1 && e + 1 > epoch[b] -> \
        BEFORE(b); \
        epoch[b] = e + 1; leader[b] = b + 1; isr[b] = request_isr[e]; \
        AFTER(b) }

#define LEADER_WRITE(l) \
    :: d_step { PRESUMES(l) && next_record_id < MAX_RECORDS && end[l] < LOG_SIZE -> \
        BEFORE(l); \
        log[l] = log[l] | ((1 + (epoch[l] - 1) * MAX_RECORDS + next_record_id) << (end[l] * RECORD_BITS)); \
        end[l]++; next_record_id++; \
        AFTER(l) }

#define ACKNOWLEDGED(l, f) (!(isr[l] & BIT(f)) || (SAME_EPOCH(f, l) && end[f] > high_watermark[l]))

#define LEADER_INCREMENT_HIGH_WATERMARK(l) \
    :: d_step { PRESUMES(l) && high_watermark[l] < end[l] && FOR_ALL(ACKNOWLEDGED, l) -> \
        BEFORE(l); \
        high_watermark[l]++; \
        AFTER(l) }

#define LEADER_SHRINK_ISR(l, r) \
    :: d_step { TRUE_LEADER(l) && (isr[l] & BIT(r)) && !(SAME_EPOCH(r, l) && end[r] >= end[l]) -> \
        BEFORE(l); \
        isr[l] = isr[l] & ~BIT(r); zk_isr = isr[l]; \
        AFTER(l) }

#define AT_EPOCH_START(l) \
    (high_watermark[l] == end[l] || (AT(l, high_watermark[l]) - 1) / MAX_RECORDS + 1 == epoch[l])

#define LEADER_EXPAND_ISR(l, r) \
    :: d_step { TRUE_LEADER(l) && !(isr[l] & BIT(r)) && SAME_EPOCH(r, l) && end[r] >= high_watermark[l] \
            && AT_EPOCH_START(l) -> \
        BEFORE(l); \
        isr[l] = isr[l] | BIT(r); zk_isr = isr[l]; \
        AFTER(l) }

/* A broker that follows. */

#define BECOME_FOLLOWER(b, e) \
    :: d_step { request_leader[e] != 0 && request_leader[e] != b + 1 && e + 1 > epoch[b] \
            && leader[request_leader[e] - 1] == request_leader[e] && epoch[request_leader[e] - 1] == e + 1 -> \
        BEFORE(b); \
        offset = end[b]; \
        do \
        :: offset > 0 && AT(b, offset - 1) != AT(request_leader[e] - 1, offset - 1) -> offset-- \
        :: else -> break \
        od; \
        log[b] = log[b] & BELOW(offset); end[b] = offset; \
        high_watermark[b] = (high_watermark[b] > offset -> offset : high_watermark[b]); \
        epoch[b] = e + 1; leader[b] = request_leader[e]; isr[b] = request_isr[e]; \
        offset = 0; \
        AFTER(b) }

#define FOLLOWER_FETCH(f, l) \
    :: d_step { SAME_EPOCH(f, l) && end[f] < end[l] -> \
        BEFORE(f); \
        log[f] = log[f] | (AT(l, end[f]) << (end[f] * RECORD_BITS)); end[f]++; \
        high_watermark[f] = (high_watermark[l] < end[f] -> high_watermark[l] : end[f]); \
        AFTER(f) }

/* The properties of states: each is tried in each state once, as a guard that lets nothing through while it holds. */

#define SAME_COMMITTED(l, m) \
    (high_watermark[l] <= end[l] && ((log[l] ^ log[m]) & BELOW(high_watermark[l])) == 0)
#define WEAK(l, m) (!(isr[l] & BIT(m)) || SAME_COMMITTED(l, m))
#define STRONG(l, m) (!(zk_isr & BIT(m)) || SAME_COMMITTED(l, m))

#define WEAK_ISR(l) :: d_step { PRESUMES(l) && !FOR_ALL(WEAK, l) -> assert(false) }
#define STRONG_ISR(l) :: d_step { PRESUMES(l) && !FOR_ALL(STRONG, l) -> assert(false) }
#define LEADER_IN_ISR :: d_step { zk_leader != 0 && !(zk_isr & BIT(zk_leader - 1)) -> assert(false) }

#define EACH_REQUEST(b) EACH_EPOCH(BECOME_LEADER, b) EACH_EPOCH(BECOME_FOLLOWER, b)
#define EACH_ISR(l) EACH_OTHER(LEADER_SHRINK_ISR, l) EACH_OTHER(LEADER_EXPAND_ISR, l)
#define EACH_FETCH(f) EACH_OTHER(FOLLOWER_FETCH, f)

active proctype partition() {
end_is_no_error:
    do
    EACH(CONTROLLER_SHRINK_ISR)
    EACH(CONTROLLER_ELECT_LEADER)
    EACH(EACH_REQUEST)
    EACH(LEADER_WRITE)
    EACH(LEADER_INCREMENT_HIGH_WATERMARK)
    EACH(EACH_ISR)
    EACH(EACH_FETCH)
    EACH(WEAK_ISR)
    EACH(STRONG_ISR)
    LEADER_IN_ISR
    od
}
