/** `GET /healthz` and `GET /readyz`. Both need no token and reveal nothing about the contents of the ledger. */
export type Health = { readonly status: 'ok'; readonly version: string };
export type Readiness = {
  readonly status: 'ready' | 'not_ready';
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string | undefined;
  }[];
};
