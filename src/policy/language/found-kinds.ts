/** Kinds for the selectors `found.…`: each gives the texts of one kind that a call names. */
export const foundKinds = ['paths', 'names', 'hosts', 'commands', 'urls'] as const;
export type FoundTexts = Readonly<Record<(typeof foundKinds)[number], readonly string[]>>;
