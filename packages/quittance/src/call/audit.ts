/**
 * Audit records: the facts of a call's life, for people who must explain it. There are seven kinds. Records
 * of a newer version are kept unchanged, since an audit must not drop what it does not know.
 */
import type { JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { ToolRisk } from '../tool/name-words.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { DecidedBy, Identity, Provenance } from './event.ts';
import type { ToolResult } from './outcome.ts';
import { freezeJson } from '../base/json.ts';
import { Fields, given } from './fields.ts';
import type { PersistenceBoundary } from './persistence-boundary.ts';
import { isPersistenceBoundary, persistenceBoundaries } from './persistence-boundary.ts';
import { parseToolResult } from './outcome.ts';

/** What happened to a call at one point of its life. */
export type ToolAuditOutcome =
  /** Policy, a gate or a person denied the call. The body never ran. */
  | { readonly kind: 'blocked'; readonly reason: string }
  /** The call waits for a person. A later record says how that ended. */
  | {
      readonly kind: 'requires_confirmation';
      readonly description: string;
      readonly listenContext?: ListenExecutionContext;
    }
  /** A recorded result was returned instead of running the tool. */
  | { readonly kind: 'cached'; readonly result: ToolResult }
  /** A repeated report of a hand-off got the recorded result. */
  | { readonly kind: 'replayed'; readonly result: ToolResult }
  /** The question expired or was withdrawn. There is no result and will be none. */
  | { readonly kind: 'invalidated'; readonly reason: string }
  /** The tool ran; `result.success` says whether it succeeded. */
  | { readonly kind: 'completed'; readonly result: ToolResult }
  /** A write failed. `result` is the value that could not be stored, if there was one. */
  | {
      readonly kind: 'persistence_failed';
      readonly result?: ToolResult;
      readonly error: string;
      readonly boundary: PersistenceBoundary;
    };

/** The word for the kind, in metrics, traces and on disk. */
export type AuditKind = ToolAuditOutcome['kind'];

/** An outcome of a kind that this version does not know, unchanged. */
export type UnknownAuditOutcome = { readonly kind: string; readonly [field: string]: JsonValue };

/** The preview shown to the person who decides. A decision counts for this revision only. */
export type ListenExecutionContext = {
  readonly operationId: string;
  readonly revision: number;
  readonly snapshot: JsonValue;
  /** In milliseconds since 1970. Absent for a hold without an expiry. */
  readonly expiresAt?: number;
};

/** One fact of a call's life with everything needed to explain it. Payloads are in their stored form. */
export type ToolAuditRecord = {
  readonly recordId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  /** The number of the attempt. 0 if the body never ran. */
  readonly attempt: number;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** The risk of the tool. Absent: none known. */
  readonly risk?: ToolRisk | undefined;
  /** Null for a call that was not accepted: its arguments were not stored. */
  readonly requestedInput: JsonValue;
  readonly effectiveInput: JsonValue | undefined;
  readonly inputDigest: string | undefined;
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  /** How the calling program was identified, if recorded. */
  readonly askedBy: Identity | undefined;
  readonly policyVersion: string | undefined;
  /** Who or what decided. For a person, also how they were identified. */
  readonly decidedBy: DecidedBy | undefined;
  /** Everyone who has approved so far, if a rule says who must approve. The last one is also `decidedBy`. */
  readonly approvers?: readonly DecidedBy[];
  /** The grant that approved the call instead of a person. */
  readonly grantId: string | undefined;
  /** The result of the success check. Undefined if nothing was judged. */
  readonly toolSuccess: boolean | undefined;
  readonly outcome: ToolAuditOutcome;
  /** The event that caused this one. */
  readonly cause: string | undefined;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly at: number;
};

/** The meaning of each kind, in the order of a call's life. */
export const auditKinds: {
  readonly [Kind in AuditKind]: { readonly fields: string; readonly meaning: string };
} = freezeJson({
  blocked: { fields: 'reason', meaning: 'A gate, a rule or a person refused the call. The body never ran.' },
  requires_confirmation: {
    fields: 'description, listenContext?',
    meaning: 'The call is held for a person. A later record has the result.',
  },
  cached: {
    fields: 'result',
    meaning: 'A recorded result answered the call, or the call was repeated. The body did not run for it.',
  },
  replayed: {
    fields: 'result',
    meaning: 'A repeated report of a hand-off got the recorded result.',
  },
  invalidated: {
    fields: 'reason',
    meaning: 'The hold expired or was withdrawn before a decision. There is no result.',
  },
  completed: {
    fields: 'result',
    meaning: 'The tool ran. `result.success` says whether it succeeded.',
  },
  persistence_failed: {
    fields: 'result?, error, boundary',
    meaning: 'A write failed; `boundary` says which. It is written again later.',
  },
});

/** Reads audit outcomes, including kinds of a newer version. */
export const ToolAuditOutcome: {
  /** The fixed word for metrics, traces and audit rows. */
  readonly kind: (outcome: ToolAuditOutcome | UnknownAuditOutcome) => string;
  /** Its result: for cached, replayed, completed and most persistence_failed. */
  readonly result: (outcome: ToolAuditOutcome | UnknownAuditOutcome) => ToolResult | undefined;
  /** Refuses a known kind with wrong fields. Keeps unknown kinds and unknown fields. */
  readonly parse: (value: unknown) => ToolAuditOutcome | UnknownAuditOutcome;
} = {
  kind: (outcome) => outcome.kind,
  result: (outcome) => (isKnownAuditOutcome(outcome) ? resultOf(outcome) : undefined),
  parse: parseAuditOutcome,
};

/** Narrows a word to one of the seven kinds. */
export const isAuditKind = (value: unknown): value is AuditKind =>
  typeof value === 'string' && Object.hasOwn(auditKinds, value);

/** Narrows an outcome to the seven kinds that this version knows. */
export const isKnownAuditOutcome = (
  outcome: ToolAuditOutcome | UnknownAuditOutcome,
): outcome is ToolAuditOutcome => isAuditKind(outcome.kind);

function resultOf(outcome: ToolAuditOutcome): ToolResult | undefined {
  switch (outcome.kind) {
    case 'cached':
    case 'replayed':
    case 'completed':
    case 'persistence_failed':
      return outcome.result;
    case 'blocked':
    case 'requires_confirmation':
    case 'invalidated':
      return undefined;
  }
}

function parseAuditOutcome(value: unknown): ToolAuditOutcome | UnknownAuditOutcome {
  const fields = new Fields(value, 'An audit outcome');
  const kind = fields.text('kind');
  return isAuditKind(kind) ? parseKnownOutcome(kind, fields) : { ...fields.all, kind };
}

/** Unknown fields are kept on known kinds too: each case adds to all given fields. */
function parseKnownOutcome(kind: AuditKind, fields: Fields): ToolAuditOutcome {
  switch (kind) {
    case 'blocked':
    case 'invalidated':
      return { ...fields.all, kind, reason: fields.text('reason') };
    case 'requires_confirmation':
      return {
        ...fields.without('listenContext'),
        kind,
        description: fields.text('description'),
        ...given({
          listenContext: fields.maybe('listenContext', (key) => parseListenContext(fields.json(key))),
        }),
      };
    case 'cached':
    case 'replayed':
    case 'completed':
      return { ...fields.all, kind, result: parseToolResult(fields.json('result')) };
    case 'persistence_failed':
      return {
        ...fields.without('result'),
        kind,
        ...given({ result: fields.maybe('result', (key) => parseToolResult(fields.json(key))) }),
        error: fields.text('error'),
        boundary: fields.word(
          'boundary',
          isPersistenceBoundary,
          Object.keys(persistenceBoundaries).filter(isPersistenceBoundary),
        ),
      };
  }
}

function parseListenContext(value: JsonValue): ListenExecutionContext {
  const fields = new Fields(value, 'A listen context');
  return {
    ...fields.without('expiresAt'),
    operationId: fields.text('operationId'),
    revision: fields.number('revision'),
    snapshot: fields.json('snapshot'),
    ...given({ expiresAt: fields.maybe('expiresAt', (key) => fields.number(key)) }),
  };
}
