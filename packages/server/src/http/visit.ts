/** The connection of a request. */
export type Connection = {
  /** The key for limits of callers without a token. */
  readonly address: string;
  readonly cut: (() => void) | undefined;
};

/** The connection, and the route of its request. */
export type Visit = Connection & {
  route: string;
  /** The call that the request is about. */
  call: { readonly sessionId: string; readonly callId: string } | undefined;
  /** When the head of the request arrived, by the ledger's clock. The body may come much later. */
  readonly arrivedAt: number;
};
