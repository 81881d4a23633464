/**
 * Checks events for display, which come from a server, a worker or a file. Anything that is not a complete call event
 * of a known type is skipped. Later code can rely on the fields, and a newer server cannot break an older page.
 */
import { isJsonObject } from '../base/json.ts';
import type { CallEvent } from '../call/event.ts';
import { isDenialReason } from '../call/outcome.ts';
import { isReasonCode } from '../call/reason.ts';
import { isToolMode } from '../tool/mode.ts';

/** Returns the value if it is a call event that can be shown. */
export function readCallEvent(value: unknown): CallEvent | undefined {
  if (!envelope(value)) return undefined;
  // The type is known and the fields match its shape.
  return isShaped(value as { readonly type: string }) ? (value as CallEvent) : undefined;
}

/** Is this an outcome in the TypeScript spelling that events use? */
export const isOutcomeShaped = (value: unknown): boolean =>
  isJsonObject(value) &&
  typeof value['type'] === 'string' &&
  Object.hasOwn(outcomes, value['type']) &&
  (outcomes[value['type'] as keyof typeof outcomes] satisfies Check)(value);

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const flag: Check = (value) => typeof value === 'boolean';
const json: Check = (value) => value !== undefined;
const object: Check = isJsonObject;
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const list =
  (item: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(item);
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.some((word) => word === value);
/** Own properties only: a prototype cannot supply a missing field. */
const record =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isJsonObject(value) &&
    Object.entries(fields).every(([key, check]) => check(Object.hasOwn(value, key) ? value[key] : undefined));

const envelope = record({ id: text, type: text, sessionId: text, turnId: text, callId: text, at: number });
const decidedBy = record({ type: text, name: text });
const logLine = record({ at: number, message: text, fields: maybe(object) });
const ask = record({ by: decidedBy, description: text });
const artifact = record({
  artifactId: text,
  digest: text,
  sizeBytes: number,
  mimeType: text,
  preview: text,
  path: list((step) => text(step) || number(step)),
});
const previewField = record({ name: text });

const comparison = record({ callId: text, at: number, fields: list(previewField), more: number });

const previews: Readonly<Record<string, Check>> = {
  text: record({ text }),
  diff: record({ path: text, diff: text }),
  fields: record({ fields: list(previewField) }),
  command: record({ command: text, directory: maybe(text) }),
};
const preview: Check = (value) =>
  isJsonObject(value) &&
  typeof value['kind'] === 'string' &&
  Object.hasOwn(previews, value['kind']) &&
  previews[value['kind']]?.(value) === true;

const ran = {
  callId: text,
  toolName: text,
  elapsedMs: number,
  modelNote: maybe(text),
  undo: maybe(record({ until: maybe(number) })),
  files: maybe(list(record({ artifactId: text, mimeType: text, sizeBytes: number, name: maybe(text) }))),
};
const outcomes = {
  ToolExecutionResult: record({ ...ran, output: json }),
  ToolArtifactReference: record({ ...ran, artifactId: text, summary: text, sizeBytes: number }),
  ToolTimeout: record({
    callId: text,
    toolName: text,
    deadlineMs: number,
    elapsedMs: number,
    retryable: flag,
  }),
  ToolFailure: record({ callId: text, toolName: text, code: isReasonCode, error: text, retryable: flag }),
  ToolDenied: record({
    callId: text,
    toolName: text,
    code: isReasonCode,
    reason: isDenialReason,
    details: text,
  }),
} satisfies Readonly<Record<string, Check>>;

const shapes: { readonly [Type in CallEvent['type']]: Check } = {
  'tool.requested': record({
    toolName: text,
    displayName: text,
    mode: isToolMode,
    modeOrigin: oneOf('declared', 'inferred', 'default'),
    risk: maybe(text),
    requestedInput: json,
    hidden: list(text),
    principal: maybe(object),
    provenance: maybe(object),
    attrs: maybe(object),
  }),
  'tool.recalled': record({ how: text, fromCallId: text }),
  'tool.decided': record({
    decision: oneOf('allow', 'deny', 'ask'),
    decidedBy: maybe(decidedBy),
    effectiveInput: maybe(object),
    inputDigest: maybe(text),
    inputForm: maybe(oneOf('json', 'typed')),
    artifacts: maybe(list(artifact)),
    changes: list(record({ path: text, rule: text })),
    grantId: maybe(text),
    comparison: maybe(comparison),
  }),
  'tool.previewed': record({
    operationId: text,
    revision: number,
    ready: flag,
    preview,
    inputDigest: text,
    expiresAt: maybe(number),
  }),
  'tool.held': record({
    confirmationId: text,
    description: text,
    asks: list(ask),
    inputDigest: text,
    revision: maybe(number),
    expiresAt: maybe(number),
    timeoutEffect: oneOf('block', 'allow'),
    risk: list(text),
    comparison: maybe(comparison),
  }),
  'tool.started': record({ attempt: number, deadlineMs: number, mayRerun: flag, handoff: flag }),
  'tool.responded': record({
    attempt: number,
    final: flag,
    outcome: isOutcomeShaped,
    reached: list(text),
    log: list(logLine),
    unsettledEffect: flag,
  }),
  'tool.late': record({
    attempt: number,
    elapsedMs: number,
    result: (value) =>
      record({ type: oneOf('returned'), output: json })(value) ||
      record({ type: oneOf('threw'), error: text })(value),
  }),
  'tool.taken_over': record({ previousOwner: text, takeover: number }),
  'tool.reported': record({ attempt: number, worker: text, what: record({ type: text }) }),
  'tool.resolved': record({
    resolution: oneOf('succeeded', 'failed', 'safe_to_retry'),
    by: decidedBy,
    reason: maybe(text),
  }),
  'tool.undone': record({ undoCallId: text, by: decidedBy, reason: maybe(text) }),
  'persistence.failed': record({ error: text }),
  'confirmation.decided': record({
    confirmationId: text,
    decision: oneOf('approve', 'deny', 'edit', 'respond'),
    by: decidedBy,
    reason: maybe(text),
    editedInput: maybe(object),
    editedDigest: maybe(text),
    editedHidden: list(text),
    response: maybe(text),
  }),
  'confirmation.voted': record({
    confirmationId: text,
    decision: oneOf('approve', 'deny', 'edit'),
    by: decidedBy,
    reason: maybe(text),
    editedInput: maybe(object),
    editedDigest: maybe(text),
    editedHidden: list(text),
  }),
  'confirmation.reminded': record({
    confirmationId: text,
    kind: oneOf('reminder', 'escalation'),
    dueAt: number,
    missing: list(text),
  }),
  'confirmation.expired': record({
    confirmationId: text,
    effect: oneOf('block', 'allow'),
    by: maybe(decidedBy),
  }),
  'confirmation.withdrawn': record({ confirmationId: text, reason: text }),
  'retry.requested': record({ attempt: number, by: text, notBefore: maybe(number) }),
  'runtime.budget_exhausted': record({ scope: text }),
};

const isShaped = (event: { readonly type: string }): boolean =>
  Object.hasOwn(shapes, event.type) && shapes[event.type as CallEvent['type']](event);
