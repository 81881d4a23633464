/** Calls: lists, counts, one call in full, and requests for new calls. */
import type { JsonObject } from 'quittance/internal/base/json';
import type { ToolAuditRecord } from 'quittance/internal/call/audit';
import type { Call, CallStatus } from 'quittance/internal/call/call';
import type { Provenance } from 'quittance/internal/call/event';
import type { ContentPart } from 'quittance/internal/call/model-content';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import type { TraceNode } from 'quittance/internal/ledger/trace';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';
import type { ToolMode } from 'quittance/internal/tool/mode';
import type { Principal } from 'quittance/internal/tool/tool-context';
import type { PageQuery, SpanQuery } from './page.ts';
import type {
  Integer,
  PositiveInteger,
  RequestId,
  ResourceId,
  SearchText,
  Timestamp,
  WorkerName,
} from './scalar.ts';

/** The query of `GET /v1/calls/facets`. */
export type CallFilters = SpanQuery & {
  readonly sessionId?: string;
  readonly toolName?: string;
  readonly mode?: ToolMode;
  readonly status?: CallStatus;
  readonly outcome?: ToolOutcome['type'];
  /** Calls that failed or timed out, instead of one `outcome`. */
  readonly errors?: boolean;
  readonly code?: string;
  /** The id of the user the call was made for. */
  readonly principal?: string;
  /** Calls that this rule denied. */
  readonly ruleId?: string;
  readonly unresolved?: boolean;
  /**
   * Words in ids, tool, user, code, message, arguments and output, and conditions on arguments such as
   * `args.cents>1000`. All must match. The last word may be the
   * beginning of a word, if no call has it as a whole word.
   */
  readonly search?: SearchText;
};

/** The query of `GET /v1/calls`. */
export type CallListQuery = CallFilters & PageQuery;

/** `GET /v1/calls`: newest first. */
export type CallPage = {
  readonly rows: readonly CallSummary[];
  /** The cursor of the next page. A short page may have one too: see `searchedTo`. */
  readonly next: string | undefined;
  /** A long search stops here. Request `next` to continue. */
  readonly searchedTo: Timestamp | undefined;
};

/** `GET /v1/calls/facets`: the number of calls per value, under the given filters. */
export type CallFacets = {
  readonly total: Integer;
  /** False if counting stopped at `cap`. Every count then means "at least" and covers the newest calls. */
  readonly exact: boolean;
  /** The number of calls after which counting stopped. */
  readonly cap: Integer | undefined;
  /** What `cap` counts: matching calls, or about how many calls were read in the time there is for it. */
  readonly capOf: 'counted' | 'looked_at' | undefined;
  readonly outcome: readonly FacetCount[];
  readonly status: readonly FacetCount[];
  readonly mode: readonly FacetCount[];
  /** The 50 most frequent tools. */
  readonly toolName: readonly FacetCount[];
  readonly code: readonly FacetCount[];
};
export type FacetCount = { readonly value: string; readonly count: Integer };

/** `GET /v1/sessions/{sessionId}/calls/{callId}`: everything the ledger has about one call, redacted. */
export type CallDetail = {
  readonly call: Call;
  /** The number of changes to the call so far. */
  readonly version: Integer;
  readonly summary: CallSummary;
  readonly events: readonly ReadEvent[];
  readonly audit: readonly ToolAuditRecord[];
  /** Which event of this call caused which. */
  readonly trace: readonly TraceNode[];
  /** The address of the distributed trace of the call, if the server has a template for it. */
  readonly traceUrl: string | undefined;
  /** The content the model received, part by part. Missing until the call has an outcome. */
  readonly content: readonly ContentPart[] | undefined;
  /** Calls that this call names, and calls that name it. */
  readonly related: readonly RelatedCall[];
  /** The commands that show the same call. */
  readonly equivalents: { readonly cli: string; readonly curl: string };
};
export type RelatedCall = {
  readonly how: 'caused_by' | 'copied_from' | 'undone_by' | 'undoes' | 'duplicate_of' | 'repeats';
  readonly sessionId: string;
  readonly callId: string;
};

/** `POST /v1/calls`. */
export type NewCall = {
  readonly sessionId: ResourceId;
  /** @minLength 1 @maxLength 1000 */
  readonly turnId?: string;
  /** As the model sent it: exactly id, name and arguments. Arguments may be JSON text. */
  readonly call: {
    readonly id: ResourceId;
    /** @minLength 1 @maxLength 1000 */
    readonly name: string;
    readonly arguments: JsonObject | string;
  };
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  readonly attrs?: JsonObject;
  /**
   * How long to wait for a decision or an outcome. The default is 0.
   * @minimum 0
   * @maximum 60000
   */
  readonly waitMs?: Integer;
  /** The worker that runs the call, if the tool is handed off. The default is the name of the token. */
  readonly worker?: WorkerName;
  readonly leaseMs?: PositiveInteger;
  /** False: a tool that is handed off waits for another worker. The default is true. */
  readonly claim?: boolean;
  /** Send a new one with each request. It lets the client claim the call again if the answer is lost. */
  readonly requestId?: RequestId;
  /**
   * The `requestId`s of earlier requests for this call whose answers were lost. The client has not run the call.
   * @maxItems limits.reclaimed
   */
  readonly reclaim?: readonly RequestId[];
};

/** The state of a call, for the client that requested it. */
export type CallAnswer = CallAllowed | CallDenied | CallSettled | CallHeld | CallRunning;

/** Run the call now, with exactly these arguments, and report with the token. */
export type CallAllowed = {
  readonly decision: 'allow';
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly token: string;
  readonly attempt: Integer;
  readonly idempotencyKey: string;
  /** The trace context of the call, for the spans and requests of the program that runs it. */
  readonly traceparent: string | undefined;
  readonly deadlineMs: Timestamp;
  readonly expiresAt: Timestamp;
};
/** A gate denied the call. Send `content` to the model. */
export type CallDenied = AnsweredCall & { readonly decision: 'deny' };
/** The call has its outcome: it was requested before, or a tool of the server ran it. */
export type CallSettled = AnsweredCall & { readonly decision: 'settled' };
/** The call awaits a person. Send the same request again, with `waitMs`, to learn the decision. */
export type CallHeld = {
  readonly decision: 'held';
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly confirmationId: string;
  readonly description: string;
  readonly inputDigest: string;
  readonly expiresAt: Timestamp | undefined;
};
/** The server or another worker runs the call. */
export type CallRunning = {
  readonly decision: 'running';
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly worker: string | undefined;
};
type AnsweredCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly outcome: ToolOutcome;
  /** The content for the model, byte for byte. */
  readonly content: string;
  /** Does the model receive it as an error? */
  readonly isError: boolean;
};
