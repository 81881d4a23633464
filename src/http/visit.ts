/** What is known of a connection beside its request. */
export type Connection = { readonly address: string; readonly cut: (() => void) | undefined };

/** And which route it turned out to be for. */
export type Visit = Connection & { route: string };
