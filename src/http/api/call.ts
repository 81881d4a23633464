/** Calls: listed, counted, shown whole, and asked for. */
import type { JsonObject } from '../../base/json.ts';
import type { ToolAuditRecord } from '../../call/audit.ts';
import type { Call } from '../../call/call.ts';
import type { Provenance } from '../../call/event.ts';
import type { ContentPart } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallSummary } from '../../ledger/call-query.ts';
import type { TraceNode } from '../../ledger/trace.ts';
import type { ReadEvent } from '../../ledger/unknown-event.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** `GET /v1/calls`: newest first. */
export type CallPage = {
  readonly rows: readonly CallSummary[];
  /** The cursor of the next page. A page may be short and still have one: see `searchedTo`. */
  readonly next: string | undefined;
  /** A search stopped here after so many rows, in milliseconds since 1970. Ask for `next` to go on. */
  readonly searchedTo: number | undefined;
};

/** `GET /v1/calls/facets`: how many calls there are of each kind, under the filters given. */
export type CallFacets = {
  readonly total: number;
  /** False where counting stopped at `cap`: then every count says "at least", and is of the newest calls. */
  readonly exact: boolean;
  /** How many calls were enough; `capOf` says which calls. */
  readonly cap: number | undefined;
  /** Those that fit and were counted, or, about, those that were looked at because no index finds the ones that fit. */
  readonly capOf: 'counted' | 'looked_at' | undefined;
  readonly outcome: readonly FacetCount[];
  readonly status: readonly FacetCount[];
  readonly mode: readonly FacetCount[];
  /** The commonest 50. */
  readonly toolName: readonly FacetCount[];
  readonly code: readonly FacetCount[];
};
export type FacetCount = { readonly value: string; readonly count: number };

/** `GET /v1/sessions/{sessionId}/calls/{callId}`: everything the ledger knows of one call, in its kept form. */
export type CallDetail = {
  readonly call: Call;
  /** How often it has changed: the version of the ledger. */
  readonly version: number;
  readonly summary: CallSummary;
  readonly events: readonly ReadEvent[];
  readonly audit: readonly ToolAuditRecord[];
  /** What brought about what, in this call. */
  readonly trace: readonly TraceNode[];
  /** What the model was told, part by part. Undefined while it has no outcome. */
  readonly content: readonly ContentPart[] | undefined;
  /** Calls it names or that name it. */
  readonly related: readonly RelatedCall[];
  /** The same by the command line and by curl. */
  readonly equivalents: { readonly cli: string; readonly curl: string };
};
export type RelatedCall = {
  readonly how: 'caused_by' | 'copied_from' | 'undone_by' | 'undoes' | 'duplicate_of';
  readonly sessionId: string;
  readonly callId: string;
};

/** `POST /v1/calls`. */
export type NewCall = {
  readonly sessionId: string;
  readonly turnId?: string;
  /** As the model gave it: exactly id, name, arguments. Arguments may be JSON text. */
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject | string };
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  readonly attrs?: JsonObject;
  /** How long to wait for a decision or an outcome before answering with where it stands. 0 by default, 60 s at most. */
  readonly waitMs?: number;
  /** Who runs it, where the tool is run by whoever asks. The token's name by default. */
  readonly worker?: string;
  readonly leaseMs?: number;
  /** What the program calls this request, another text for each. Needed to claim the call again if the answer is lost. */
  readonly requestId?: string;
  /** The `requestId`s of earlier requests for this call whose answers were lost. The program has not run the call. */
  readonly reclaim?: readonly string[];
};

/** Where a call stands, as its asker needs to know it. */
export type CallAnswer =
  /** Run it now, with exactly these arguments, and report with the token. */
  | {
      readonly decision: 'allow';
      readonly sessionId: string;
      readonly callId: string;
      readonly toolName: string;
      readonly arguments: JsonObject;
      readonly token: string;
      readonly attempt: number;
      readonly idempotencyKey: string;
      readonly deadlineMs: number;
      readonly expiresAt: number;
    }
  /** A gate said no, and this is what to tell the model. */
  | (Told & { readonly decision: 'deny' })
  /** It has its outcome: it was asked before, or the server's own tool ran it. */
  | (Told & { readonly decision: 'settled' })
  /** A person is asked. Ask again with the same call, with `waitMs`, to learn what they said. */
  | {
      readonly decision: 'held';
      readonly sessionId: string;
      readonly callId: string;
      readonly toolName: string;
      readonly confirmationId: string;
      readonly description: string;
      readonly inputDigest: string;
      readonly expiresAt: number | undefined;
    }
  /** It is being made: by the server, or by another worker who has it in hand. */
  | {
      readonly decision: 'running';
      readonly sessionId: string;
      readonly callId: string;
      readonly toolName: string;
      readonly worker: string | undefined;
    };
type Told = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly outcome: ToolOutcome;
  /** What the model is told, byte for byte. */
  readonly content: string;
  /** Whether it is told to the model as an error. */
  readonly isError: boolean;
};
