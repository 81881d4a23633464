/** What is known of a connection beside its request. */
export type Connection = {
  /** Whom limits count where there is no token. */
  readonly address: string;
  readonly cut: (() => void) | undefined;
};

/** And which route it turned out to be for. */
export type Visit = Connection & {
  route: string;
  /** When the head of the request was there, by the ledger's clock. The body may come much later. */
  readonly arrivedAt: number;
};
