/* Two-phase commit, for SPIN: the states, the steps and the invariant of examples/two_phase_commit.py.
 *
 * MANAGERS is a macro. `kip320.pml` says how `spin.py` runs a model, and why SPIN stores no states but the model's.
 */

#define EVERYBODY ((1 << MANAGERS) - 1)
#define BIT(m) (1 << (m))

#define WORKING 0
#define PREPARED 1
#define COMMITTED 2
#define ABORTED 3

/* Sets of managers have a bit for each manager. The decision is also the message that announces it. */
byte stage[MANAGERS];
byte decision; /* COMMITTED, ABORTED, or 0 for none. */
short prepared; /* Those that the transaction manager knows are prepared. */
short reported; /* Those that have sent the message that they are prepared. */

#define EACH_OF_1(X) X(0)
#define EACH_OF_2(X) EACH_OF_1(X) X(1)
#define EACH_OF_3(X) EACH_OF_2(X) X(2)
#define EACH_OF_4(X) EACH_OF_3(X) X(3)
#define EACH_OF_5(X) EACH_OF_4(X) X(4)
#define EACH_OF_6(X) EACH_OF_5(X) X(5)
#define EACH_OF_7(X) EACH_OF_6(X) X(6)
#define EACH_OF_8(X) EACH_OF_7(X) X(7)
#define EACH_OF_9(X) EACH_OF_8(X) X(8)
#define EACH_OF_10(X) EACH_OF_9(X) X(9)
#define EACH_OF(n, X) EACH_OF_##n(X)
#define EACH_OF_ALL(n, X) EACH_OF(n, X) /* Replaces MANAGERS by its number first. */
#define EACH(X) EACH_OF_ALL(MANAGERS, X)

#define PREPARE(m) \
    :: d_step { stage[m] == WORKING -> stage[m] = PREPARED; reported = reported | BIT(m) }
#define CHOOSE_TO_ABORT(m) \
    :: d_step { stage[m] == WORKING -> stage[m] = ABORTED }
#define RECEIVE_PREPARED(m) \
    :: d_step { !decision && (reported & BIT(m)) -> prepared = prepared | BIT(m) }
#define OBEY(m) \
    :: d_step { decision -> stage[m] = decision }

#define OR_COMMITTED(m) || stage[m] == COMMITTED
#define OR_ABORTED(m) || stage[m] == ABORTED

active proctype transaction() {
end_is_no_error:
    do
    EACH(PREPARE)
    EACH(CHOOSE_TO_ABORT)
    EACH(RECEIVE_PREPARED)
    :: d_step { !decision -> decision = ABORTED }
    :: d_step { !decision && prepared == EVERYBODY -> decision = COMMITTED }
    EACH(OBEY)
    :: d_step { (false EACH(OR_COMMITTED)) && (false EACH(OR_ABORTED)) -> assert(false) }
    od
}
