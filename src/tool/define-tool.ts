import { digestJson } from '../base/canonical.ts';
import { QuittanceError } from '../base/error.ts';
import type { Awaitable } from '../base/json.ts';
import { parseRedactionPath } from '../base/redaction-path.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import type { ToolMode, ToolModeOrigin } from './mode.ts';
import { classifyTool, surelyReads } from './mode.ts';
import type { CompiledSchema, InferInput, InferOutput, InputSchema } from './schema.ts';
import { compileSchema } from './schema.ts';
import { ownValue } from './own-value.ts';
import type { MakePreview } from './make-preview.ts';
import type { CancelledOperation } from './preview.ts';
import type { SuccessCheck } from './success-check.ts';
import type { ToolContext } from './tool-context.ts';
import { checkToolFields, knownFields, refuseField, toolFields } from './tool-fields.ts';
import type { ToolResources } from './tool-resources.ts';
import type {
  HandoffSpec,
  IdempotencyScope,
  Reconciliation,
  RerunPolicy,
  ToolRedaction,
  ToolSpec,
  UndoTool,
  UnseenAttempt,
  UntypedSpec,
} from './tool-spec.ts';

export type {
  HandoffSpec,
  IdempotencyScope,
  Reconciliation,
  RerunPolicy,
  ToolRedaction,
  ToolSpec,
  UndoTool,
  UnseenAttempt,
} from './tool-spec.ts';

declare const carried: unique symbol;

/**
 * Something that may be called. `Input` is what a caller passes and `Output` what comes back; the functions here
 * take what the input schema made of the arguments, which is why they say `unknown`.
 */
export type Tool<Name extends string = string, Input = unknown, Output = unknown> = {
  readonly name: Name;
  readonly description: string | undefined;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  readonly idempotent: boolean;
  /** Whether it reads for certain: declared, or by the table of names. Only then it runs without an intent. */
  readonly surelyReads: boolean;
  /** Whether it may be run again after a crash or a retryable failure: it reads, or it is idempotent. */
  readonly mayRerun: boolean;
  readonly timeoutMs: number | undefined;
  readonly idleTimeoutMs: number | undefined;
  /** Whether another process runs it and reports. */
  readonly handoff: boolean;
  readonly retryOnTimeout: boolean;
  readonly costMicros: number | ((args: unknown) => number) | undefined;
  readonly inlineLimit: number | undefined;
  readonly loopLimit: number | undefined;
  /** Whether arguments that do not fit are coerced; undefined: as the runtime says. */
  readonly coerce: boolean | undefined;
  readonly rerun: RerunPolicy;
  readonly successCheck: SuccessCheck | undefined;
  readonly idempotencyKey: ((args: unknown) => string) | undefined;
  readonly idempotencyScope: IdempotencyScope;
  readonly resourceKeys: ((args: unknown) => readonly string[]) | undefined;
  readonly reconcile: ((attempt: UnseenAttempt<unknown>) => Awaitable<Reconciliation>) | undefined;
  readonly preview: MakePreview<unknown> | undefined;
  readonly cancel: ((operation: CancelledOperation) => Awaitable<void>) | undefined;
  readonly undo: UndoTool<unknown, unknown> | undefined;
  readonly undoWithinMs: number | undefined;
  readonly undoMode: ToolMode;
  readonly undoIdempotent: boolean;
  readonly redact: ToolRedaction | undefined;
  readonly resources: ToolResources | undefined;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  /** Changes when what the tool takes or gives does. Default values do not count. */
  readonly schemaDigest: string;
  /** The same with default values, as records of earlier versions have it. */
  readonly schemaDigestWithDefaults?: string | undefined;
  readonly run: (args: unknown, context: ToolContext) => Awaitable<unknown>;
  /** In the types only. */
  readonly [carried]?: { readonly input: Input; readonly output: Output };
};

/** A tool, whatever it takes and gives. */
export type AnyTool = Tool;

/** What a caller passes to a tool. */
export type ToolInput<Given extends AnyTool> =
  Given extends Tool<string, infer Input, unknown> ? Input : never;

/** What a tool gives back, before it becomes JSON. */
export type ToolOutput<Given extends AnyTool> =
  Given extends Tool<string, unknown, infer Output> ? Output : never;

/** What a body must return under an output schema, and what comes back of it. */
type Returned<Output> = Output extends InputSchema ? InferInput<Output, unknown> : unknown;
type Reported<Output, Result> = Output extends InputSchema ? InferOutput<Output, Result> : Result;

/**
 * Declares a tool. Everything about it is checked here: a field that is unknown, or not what it must be, throws
 * `config.invalid` with what was found and what is expected.
 */
export function defineTool<
  const Name extends string,
  Input extends InputSchema | undefined = undefined,
  Output extends InputSchema | undefined = undefined,
>(spec: HandoffSpec<Name, Input, Output>): Tool<Name, InferInput<Input>, Reported<Output, unknown>>;
export function defineTool<
  const Name extends string,
  Input extends InputSchema | undefined = undefined,
  Output extends InputSchema | undefined = undefined,
  Result extends Returned<Output> = Returned<Output>,
>(spec: ToolSpec<Name, Input, Output, Result>): Tool<Name, InferInput<Input>, Reported<Output, Result>>;
// Only the types know that names, arguments and results belong together: callers pass what the schema gave.
export function defineTool(spec: unknown): AnyTool {
  return buildTool(spec as UntypedSpec);
}

/** Checks a definition and resolves what it leaves open. */
export function buildTool(spec: UntypedSpec): AnyTool {
  const name = readName(spec);
  checkToolFields(spec, name, knownFields);
  const handoff = spec.handoff ?? false;
  if (handoff) checkHandoff(spec, name);
  else if (typeof spec.run !== 'function')
    throw refuseField(name, 'run', 'is missing. Expected a function, or handoff: true.');
  if (spec.idempotencyScope !== undefined && spec.idempotencyKey === undefined) {
    throw refuseField(
      name,
      'idempotencyScope',
      'says nothing without "idempotencyKey". Give both or neither.',
    );
  }

  for (const [field, needs] of dependent)
    if (spec[field] !== undefined && spec[needs] === undefined)
      throw refuseField(name, field, `says nothing without "${needs}". Give both or neither.`);

  const { mode, origin } = classifyTool(name, spec.mode);
  const isSureRead = surelyReads({ name, mode, modeOrigin: origin });
  const idempotent = spec.idempotent ?? false;
  const input = compileSchema(spec.input === undefined ? true : spec.input, { what: 'input', tool: name });
  const output =
    spec.output === undefined ? undefined : compileSchema(spec.output, { what: 'output', tool: name });
  const { costMicros } = spec;
  return Object.freeze({
    name,
    description: spec.description,
    displayName: spec.displayName ?? name,
    mode,
    modeOrigin: origin,
    idempotent,
    surelyReads: isSureRead,
    mayRerun: isSureRead || idempotent,
    timeoutMs: spec.timeoutMs,
    idleTimeoutMs: spec.idleTimeoutMs,
    handoff,
    retryOnTimeout: spec.retryOnTimeout ?? true,
    costMicros: typeof costMicros === 'function' ? costMicros.bind(spec) : costMicros,
    inlineLimit: spec.inlineLimit,
    loopLimit: spec.loopLimit,
    rerun: spec.rerun ?? 'ask',
    coerce: spec.coerce,
    successCheck: spec.successCheck?.bind(spec),
    idempotencyKey: spec.idempotencyKey?.bind(spec),
    idempotencyScope: spec.idempotencyScope ?? 'session',
    resourceKeys: spec.resourceKeys?.bind(spec),
    reconcile: spec.reconcile?.bind(spec),
    preview: spec.preview?.bind(spec),
    cancel: spec.cancel?.bind(spec),
    undo: spec.undo?.bind(spec),
    undoWithinMs: spec.undoWithinMs,
    undoMode: spec.undoMode ?? 'safe_write',
    undoIdempotent: spec.undoIdempotent ?? false,
    redact: readRedaction(name, spec.redact),
    resources: spec.resources,
    input,
    output,
    schemaDigest: digestJson({ input: input.digest, output: output?.digest ?? null }),
    schemaDigestWithDefaults: digestJson({
      input: input.digestWithDefaults,
      output: output?.digestWithDefaults ?? null,
    }),
    run: spec.run?.bind(spec) ?? runElsewhere,
  });
}

const runElsewhere = (): never => {
  throw new TypeError('Another process runs this tool.');
};

function checkHandoff(spec: UntypedSpec, name: string): void {
  if (spec.run !== undefined)
    throw refuseField(name, 'run', 'says nothing where another process runs the tool. Give run or handoff.');
  if (spec.idleTimeoutMs !== undefined)
    throw refuseField(
      name,
      'idleTimeoutMs',
      'says nothing where another process runs the tool: it is given a lease.',
    );
}

/** Fields that say more about another one. */
const dependent = [
  ['cancel', 'preview'],
  ['undoWithinMs', 'undo'],
  ['undoMode', 'undo'],
  ['undoIdempotent', 'undo'],
] as const;

/** Does the tool take and give what it did when this digest was recorded? Records without one do not say. */
export const isSameSchema = (
  { schemaDigest, schemaDigestWithDefaults }: AnyTool,
  recorded: string | undefined,
): boolean => recorded === undefined || recorded === schemaDigest || recorded === schemaDigestWithDefaults;

/** True for what `defineTool` gives, also when two copies of the package are installed. */
export const isTool = (value: unknown): value is AnyTool =>
  typeof value === 'object' &&
  value !== null &&
  typeof ownValue(value, 'schemaDigest') === 'string' &&
  typeof ownValue(value, 'modeOrigin') === 'string';

function readName(spec: unknown): string {
  if (typeof spec !== 'object' || spec === null) {
    throw new QuittanceError(
      'config.invalid',
      `A tool is defined by an object. Found ${describeValue(spec)}.`,
    );
  }
  const { name } = spec as { name?: unknown };
  if (typeof name === 'string' && toolFields.name.fits(name)) return name;
  throw new QuittanceError(
    'config.invalid',
    `The name of a tool is ${describeValue(name)}. Expected ${toolFields.name.expected}.`,
    { field: 'name' },
  );
}

/** A path that cannot be read would hide nothing, so it is refused here and not passed over later. */
function readRedaction(tool: string, redact: ToolRedaction | undefined): ToolRedaction | undefined {
  if (redact === undefined) return undefined;
  const read = (paths: readonly string[] | undefined): readonly string[] | undefined => {
    try {
      for (const path of paths ?? []) parseRedactionPath(path);
    } catch (cause) {
      throw refuseField(tool, 'redact', `is not right. ${describeThrown(cause)}`);
    }
    return paths && Object.freeze([...paths]);
  };
  return Object.freeze({
    input: read(redact.input),
    output: read(redact.output),
    snapshot: read(redact.snapshot),
  });
}
