/** True if two types are the same, not only assignable to each other. */
export type Equal<Left, Right> =
  (<Value>() => Value extends Left ? 1 : 2) extends <Value>() => Value extends Right ? 1 : 2 ? true : false;

/** Does not compile unless given true. */
export type Expect<Truth extends true> = Truth;
