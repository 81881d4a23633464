/**
 * A row of state stored outside entries: append guards, or data that must not be in the chain. The ledger answers from the
 * entries instead. `sessionId` is undefined if the row names a session that does not exist.
 */
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
      /** Digest of the stored bytes: `sha256:<hex>`. */
      readonly digest: string;
    };
