/** What a ledger keeps beside its entries, to refuse an append by or because it may not stand in one. */

/** One row, as it stands there: what is asked through the ledger is decided by the entries instead. `sessionId` is undefined where it names a session that is not there. */
export type SideRow =
  | {
      readonly kind: 'claim';
      readonly key: string;
      readonly sessionId: string;
      readonly callId: string;
      readonly inputDigest: string;
    }
  | { readonly kind: 'counter'; readonly name: string; readonly used: number; readonly reserved: number }
  | {
      readonly kind: 'unsettled';
      readonly sessionId: string | undefined;
      readonly callId: string;
      readonly toolName: string;
      readonly inputDigest: string;
    }
  | {
      readonly kind: 'state';
      readonly sessionId: string | undefined;
      readonly subject: string;
      readonly version: number;
      /** JSON. */
      readonly text: string;
    }
  | { readonly kind: 'sealed'; readonly sessionId: string | undefined; readonly callId: string }
  | {
      readonly kind: 'artifact';
      readonly sessionId: string | undefined;
      readonly callId: string;
      readonly artifactId: string;
      readonly sizeBytes: number;
      /** Of the bytes as they are kept: `sha256:<hex>`. */
      readonly digest: string;
    };
