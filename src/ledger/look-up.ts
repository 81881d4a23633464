/**
 * How certain the answer of a look-up must be. `before_append`: the caller appends next and relies only on the answer
 * to that. If look-ups cost a round trip, a store may then answer that it found nothing. Its append checks instead: it
 * answers `conflict` if the call exists, and `moved` if the effect is unsettled. `certain` is the default.
 */
export type LookUp = 'certain' | 'before_append';
