/**
 * Audit records: the facts of a call's life, for people who must explain it. Seven kinds; what a newer version
 * adds is kept as it came, since an audit that drops what it does not know is no audit.
 */
import type { JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { DecidedBy, Identity, Provenance } from './event.ts';
import type { ToolResult } from './tool-result.ts';
import { freezeJson } from '../base/json.ts';
import { Fields, given } from './fields.ts';
import type { PersistenceBoundary } from './persistence-boundary.ts';
import { isPersistenceBoundary, persistenceBoundaries } from './persistence-boundary.ts';
import { parseToolResult } from './tool-result.ts';

/** What became of a call at one point of its life. */
export type ToolAuditOutcome =
  /** Policy, a gate or a person refused the call. The body never ran. */
  | { readonly kind: 'blocked'; readonly reason: string }
  /** The call waits for a person. A later record says what came of it. */
  | {
      readonly kind: 'requires_confirmation';
      readonly description: string;
      readonly listenContext?: ListenExecutionContext;
    }
  /** A recorded result answered instead of the tool. */
  | { readonly kind: 'cached'; readonly result: ToolResult }
  /** A hand-off reported again was answered with what had been recorded. */
  | { readonly kind: 'replayed'; readonly result: ToolResult }
  /** The window for a decision closed. There is no result and will be none. */
  | { readonly kind: 'invalidated'; readonly reason: string }
  /** The call ran its course; `result.success` says whether the tool succeeded. */
  | { readonly kind: 'completed'; readonly result: ToolResult }
  /** Something could not be kept. `result` is what would have been, if there was anything yet. */
  | {
      readonly kind: 'persistence_failed';
      readonly result?: ToolResult;
      readonly error: string;
      readonly boundary: PersistenceBoundary;
    };

/** The word that tells the seven apart, in metrics, traces and on disk. */
export type AuditKind = ToolAuditOutcome['kind'];

/** An outcome of a kind this version does not know, as it came. */
export type UnknownAuditOutcome = { readonly kind: string; readonly [field: string]: JsonValue };

/** What the person who decides was shown. A decision counts for this revision only. */
export type ListenExecutionContext = {
  readonly operationId: string;
  readonly revision: number;
  readonly snapshot: JsonValue;
  /** In milliseconds since 1970; absent for a hold that does not expire. */
  readonly expiresAt?: number;
};

/** One lifecycle fact with everything needed to explain it. Payloads are in their kept form. */
export type ToolAuditRecord = {
  readonly recordId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  /** Which run of the body; 0 where it never ran. */
  readonly attempt: number;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** Null for a call that was not accepted: its arguments were not stored. */
  readonly requestedInput: JsonValue;
  readonly effectiveInput: JsonValue | undefined;
  readonly inputDigest: string | undefined;
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  /** How the program that asked was identified; undefined where that was not recorded. */
  readonly askedBy: Identity | undefined;
  readonly policyVersion: string | undefined;
  /** Who or what decided; of a person also how they were identified. */
  readonly decidedBy: DecidedBy | undefined;
  /** The grant that approved the call in place of a person. */
  readonly grantId: string | undefined;
  /** What the success check said; undefined where nothing was judged. */
  readonly toolSuccess: boolean | undefined;
  readonly outcome: ToolAuditOutcome;
  /** The event that brought this about. */
  readonly cause: string | undefined;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly at: number;
};

/** What each kind says, in the order of a call's life. */
export const auditKinds: {
  readonly [Kind in AuditKind]: { readonly fields: string; readonly meaning: string };
} = freezeJson({
  blocked: { fields: 'reason', meaning: 'A gate, a rule or a person refused the call. The body never ran.' },
  requires_confirmation: {
    fields: 'description, listenContext?',
    meaning: 'The call is held for a person. A later record says what came of it.',
  },
  cached: {
    fields: 'result',
    meaning: 'A recorded result answered the call, or the call was asked again; the body did not run for it.',
  },
  replayed: {
    fields: 'result',
    meaning: 'A hand-off was reported again and answered with what had been recorded.',
  },
  invalidated: {
    fields: 'reason',
    meaning: 'The hold expired or was withdrawn before anybody decided. There is no result.',
  },
  completed: {
    fields: 'result',
    meaning: 'The call ran its course. `result.success` says whether the tool succeeded.',
  },
  persistence_failed: {
    fields: 'result?, error, boundary',
    meaning: 'Something could not be kept; `boundary` says at which write. It is written again later.',
  },
});

/** Reads audit outcomes, also of kinds a newer version wrote. */
export const ToolAuditOutcome: {
  /** The static word for metrics, traces and audit rows. */
  readonly kind: (outcome: ToolAuditOutcome | UnknownAuditOutcome) => string;
  /** The result that goes with it: of cached, replayed, completed and most persistence_failed. */
  readonly result: (outcome: ToolAuditOutcome | UnknownAuditOutcome) => ToolResult | undefined;
  /** Refuses a known kind with wrong fields; keeps unknown kinds and unknown fields as they are. */
  readonly parse: (value: unknown) => ToolAuditOutcome | UnknownAuditOutcome;
} = {
  kind: (outcome) => outcome.kind,
  result: (outcome) => (isKnownAuditOutcome(outcome) ? resultOf(outcome) : undefined),
  parse: parseAuditOutcome,
};

/** Narrows a word to one of the seven kinds. */
export const isAuditKind = (value: unknown): value is AuditKind =>
  typeof value === 'string' && Object.hasOwn(auditKinds, value);

/** Narrows a read outcome to the seven kinds this version knows. */
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

/** Fields this version does not know are kept on known kinds too: each case adds to all that came. */
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
