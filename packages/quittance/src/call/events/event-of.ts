/** The envelope of every event. */
export type EventOf<Type extends string, Data> = {
  readonly id: string;
  readonly type: Type;
  readonly sessionId: string;
  readonly turnId: string;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly at: number;
  /** The event that caused this one. */
  readonly cause: string | undefined;
} & Readonly<Data>;

export type CallEventOf<Type extends string, Data> = EventOf<Type, { readonly callId: string } & Data>;
