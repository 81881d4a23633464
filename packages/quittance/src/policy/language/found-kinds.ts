/** Kinds for the selectors `found.…`: each gives the texts of one kind that a call names. */
export const foundKinds = ['paths', 'names', 'hosts', 'commands', 'urls'] as const;
export type FoundKind = (typeof foundKinds)[number];

export type FoundTexts = Readonly<Record<FoundKind, readonly string[]>> & {
  /** Kinds of which the call may name more than was found: a command or a host of it cannot be read. */
  readonly incomplete: ReadonlySet<FoundKind>;
};
