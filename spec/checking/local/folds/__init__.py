"""Folds over a state's sets and mappings, recorded without reading what does not matter.

A fold is `any`, `all`, a comprehension or a `for` loop. Over a set of the state it reads the membership of every
possible element, so nearly every state takes a path of its own. But most elements do not matter: the condition on
them is false, whether the set has them or not.

So lazy recording runs *twins* of a specification's functions. A twin tries the body of a fold for an element before
it reads whether the set has that element. If the body contributes nothing, and reads nothing that is not known yet,
the membership is not read. Otherwise it is read first, and everything is as without folds: exceptions, short circuits
and the order of reads.

In a sum, most elements do matter, but many states have the same sum. So of `sum`, `max`, `min`, `len`, sets of a few
values, and loops that only assign to variables, a path reads the result, an *aggregate*, and goes on for all states
with this result. The loop may be over a set, over a mapping, or over known keys that are looked up in a mapping.

- `rewriting` makes the syntax tree of a twin, and `twins` the function;
- `purity` says which bodies may be tried: those whose evaluation has no effect. It tries bodies of loops, and
  `aggregation` those of `sum` and the like: twins call them;
- `aggregates` are graphs from memberships and values to results.

Only lazy recording runs twins, and only of a rule that has many paths and a twin that reads clearly less. The
reference engine, traces, and the comparison of each path with plain values run functions as their author wrote them.
What cannot be rewritten exactly stays as it is.
"""
