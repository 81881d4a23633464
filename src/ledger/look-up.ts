/**
 * How certain the answer of a look-up must be. `before_append`: the caller appends next and relies only on the answer
 * to that. A store whose look-ups cost a round trip may then answer that it found nothing, and check in the append: it
 * answers `conflict` if the call exists, and `moved` if the effect is unsettled. `certain` is the default.
 */
export type LookUp = 'certain' | 'before_append';
