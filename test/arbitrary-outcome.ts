/** Any possible outcome, tool result and audit record, for property tests. */
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../packages/quittance/src/base/json.ts';
import type {
  ListenExecutionContext,
  ToolAuditOutcome,
  ToolAuditRecord,
} from '../packages/quittance/src/call/audit.ts';
import { persistenceBoundaries } from '../packages/quittance/src/call/persistence-boundary.ts';
import type {
  DenialReason,
  OutputFile,
  ToolOutcome,
  ToolResult,
} from '../packages/quittance/src/call/outcome.ts';
import { denialReasons } from '../packages/quittance/src/call/outcome.ts';
import { reasonCodes } from '../packages/quittance/src/call/reason.ts';

/** Text of any UTF-16 units, including NULs and lone surrogates. */
export const anyText: fc.Arbitrary<string> = fc.string({
  unit: fc.oneof(
    fc.string({ minLength: 1, maxLength: 1 }),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom('\u0000', '\ud800', '\udfff', '"', '\\', '\u2028', '😀'),
  ),
  maxLength: 20,
});

const { tree } = fc.letrec<{ tree: JsonValue; object: JsonObject }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    anyText,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0), // JSON has no -0
    fc.array(tie('tree'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'toJSON')), tie('tree')), {
      maxLength: 4,
    })
    .map((entries): JsonObject => Object.fromEntries(entries)),
}));

export const anyJson: fc.Arbitrary<JsonValue> = tree;
export const anyJsonObject: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(fc.oneof(anyText, fc.constant('__proto__')), anyJson), { maxLength: 4 })
  .map((entries): JsonObject => Object.fromEntries(entries));

const knownFields = new Set([
  'success',
  'terminal',
  'needsFollowup',
  'nextAction',
  'message',
  'error',
  'data',
]);

export const anyToolResult: fc.Arbitrary<ToolResult> = fc
  .tuple(
    fc.record(
      {
        success: fc.boolean(),
        terminal: fc.boolean(),
        needsFollowup: fc.boolean(),
        nextAction: anyText,
        message: anyText,
        error: anyText,
        data: anyJsonObject,
      },
      { requiredKeys: ['success'] },
    ),
    anyJsonObject,
  )
  .map(([known, unknown]) => ({
    ...Object.fromEntries(Object.entries(unknown).filter(([key]) => !knownFields.has(key))),
    ...known,
  }));

const word = fc.string({ minLength: 1, maxLength: 12 });
const count = fc.nat();
const instant = fc.integer({ min: 0, max: 253_402_300_799_999 }); // the end of the year 9999

const file: fc.Arbitrary<OutputFile> = fc.record(
  { artifactId: word, mimeType: word, sizeBytes: count, digest: word, name: anyText },
  { requiredKeys: ['artifactId', 'mimeType', 'sizeBytes'] },
);
const files = fc.array(file, { maxLength: 3 });
const code = fc.constantFrom(...reasonCodes);
// The keys of a table typed by its keys.
const reason = fc.constantFrom(...(Object.keys(denialReasons) as DenialReason[]));
const head = { callId: word, toolName: word, modelNote: anyText };
const repeat = { inDoubt: fc.constant(true as const), blocksTool: fc.constant(false as const) };
const undo = fc.record({ until: instant }, { requiredKeys: [] });
const ran = { elapsedMs: count, wasCoerced: fc.boolean(), files, toolResult: anyToolResult, undo };

export const anyOutcome: fc.Arbitrary<ToolOutcome> = fc.oneof(
  fc.record(
    { type: fc.constant('ToolExecutionResult' as const), ...head, ...ran, output: anyJson },
    { requiredKeys: ['type', 'callId', 'toolName', 'output', 'elapsedMs', 'wasCoerced'] },
  ),
  fc.record(
    {
      type: fc.constant('ToolTimeout' as const),
      ...head,
      code: fc.constant('tool.timeout' as const),
      deadlineMs: instant,
      elapsedMs: count,
      retryable: fc.boolean(),
      ...repeat,
      finished: fc.constant(true as const),
      payloadExtras: anyJsonObject,
    },
    { requiredKeys: ['type', 'callId', 'toolName', 'code', 'deadlineMs', 'elapsedMs', 'retryable'] },
  ),
  fc.record(
    {
      type: fc.constant('ToolFailure' as const),
      ...head,
      code,
      error: anyText,
      retryable: fc.boolean(),
      ...repeat,
      elapsedMs: count,
      payloadExtras: anyJsonObject,
      toolResult: anyToolResult,
    },
    { requiredKeys: ['type', 'callId', 'toolName', 'code', 'error', 'retryable', 'elapsedMs'] },
  ),
  fc.record(
    { type: fc.constant('ToolDenied' as const), ...head, code, reason, details: anyText },
    { requiredKeys: ['type', 'callId', 'toolName', 'code', 'reason', 'details'] },
  ),
  fc.record(
    {
      type: fc.constant('ToolArtifactReference' as const),
      ...head,
      ...ran,
      artifactId: word,
      summary: anyText,
      sizeBytes: count,
      digest: word,
    },
    {
      requiredKeys: [
        'type',
        'callId',
        'toolName',
        'artifactId',
        'summary',
        'sizeBytes',
        'elapsedMs',
        'wasCoerced',
      ],
    },
  ),
);

const listenContext: fc.Arbitrary<ListenExecutionContext> = fc.record(
  { operationId: word, revision: count, snapshot: anyJson, expiresAt: instant },
  { requiredKeys: ['operationId', 'revision', 'snapshot'] },
);

export const anyAuditOutcome: fc.Arbitrary<ToolAuditOutcome> = fc.oneof(
  fc.record({ kind: fc.constantFrom('blocked' as const, 'invalidated' as const), reason: anyText }),
  fc.record(
    { kind: fc.constant('requires_confirmation' as const), description: anyText, listenContext },
    { requiredKeys: ['kind', 'description'] },
  ),
  fc.record({
    kind: fc.constantFrom('cached' as const, 'replayed' as const, 'completed' as const),
    result: anyToolResult,
  }),
  fc.record(
    {
      kind: fc.constant('persistence_failed' as const),
      result: anyToolResult,
      error: anyText,
      boundary: fc.constantFrom(
        // The keys of a table typed by its keys.
        ...(Object.keys(persistenceBoundaries) as (keyof typeof persistenceBoundaries)[]),
      ),
    },
    { requiredKeys: ['kind', 'error', 'boundary'] },
  ),
);

const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });

export const anyAuditRecord: fc.Arbitrary<ToolAuditRecord> = fc.record({
  recordId: word,
  sessionId: word,
  turnId: word,
  callId: word,
  attempt: count,
  toolName: word,
  displayName: anyText,
  mode: fc.constantFrom('read', 'safe_write', 'destructive', 'local', 'external'),
  modeOrigin: fc.constantFrom('declared', 'inferred', 'default'),
  requestedInput: anyJson,
  effectiveInput: maybe(anyJson),
  inputDigest: maybe(word),
  principal: maybe(
    fc.record(
      { userId: word, serviceId: word, orgId: word, role: word, ticketRef: word, claims: anyJsonObject },
      { requiredKeys: [] },
    ),
  ),
  provenance: maybe(fc.record({ provider: word, model: word }, { requiredKeys: [] })),
  askedBy: maybe(
    fc.record({ kind: fc.constant('provider' as const), issuer: word, subject: word, method: word }),
  ),
  policyVersion: maybe(word),
  decidedBy: maybe(fc.record({ type: fc.constantFrom('gate', 'hook', 'rule', 'person'), name: word })),
  grantId: maybe(word),
  toolSuccess: maybe(fc.boolean()),
  outcome: anyAuditOutcome,
  cause: maybe(word),
  at: instant,
});
