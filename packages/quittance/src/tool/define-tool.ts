import { digestJson } from '../base/canonical.ts';
import type { Awaitable } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from './mode.ts';
import type { ToolRisk } from './name-words.ts';
import { classifyTool, riskOfTool, surelyReads } from './mode.ts';
import type { CompiledSchema, InferInput, InferOutput, InputSchema } from './schema.ts';
import { compileSchema } from './schema.ts';
import { ownValue } from '../base/json.ts';
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
import { QuittanceError } from '../base/error.ts';
import { parseRedactionPath } from '../base/redaction-path.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';

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
 * A callable tool. `Input` is the type that a caller passes and `Output` the type that comes back. The functions here
 * take the output of the input schema, so they say `unknown`.
 */
export type Tool<Name extends string = string, Input = unknown, Output = unknown> = {
  readonly name: Name;
  readonly description: string | undefined;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** What a mistake could cost: declared, or inferred from the name. */
  readonly risk?: ToolRisk | undefined;
  readonly idempotent: boolean;
  /** Is it certain to read only: declared, or by the table of names? Only then it runs without an intent. */
  readonly surelyReads: boolean;
  /** May it be rerun after a crash or a retryable failure? True if it reads or is idempotent. */
  readonly mayRerun: boolean;
  readonly timeoutMs: number | undefined;
  readonly idleTimeoutMs: number | undefined;
  /** Does another process run it and report? */
  readonly handoff: boolean;
  readonly retryOnTimeout: boolean;
  readonly costMicros: number | ((args: unknown) => number) | undefined;
  readonly inlineLimit: number | undefined;
  readonly loopLimit: number | undefined;
  /** Are mismatching arguments coerced? Undefined: the runtime decides. */
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
  /** Changes with the input and output schemas. Default values do not count. */
  readonly schemaDigest: string;
  /** The same with default values, as in records of earlier versions. */
  readonly schemaDigestWithDefaults?: string | undefined;
  readonly run: (args: unknown, context: ToolContext) => Awaitable<unknown>;
  /** Exists in the types only. */
  readonly [carried]?: { readonly input: Input; readonly output: Output };
};

/** A tool with any input and output. */
export type AnyTool = Tool;

/** The input that a caller passes to a tool. */
export type ToolInput<Given extends AnyTool> =
  Given extends Tool<string, infer Input, unknown> ? Input : never;

/** The output of a tool, before it becomes JSON. */
export type ToolOutput<Given extends AnyTool> =
  Given extends Tool<string, unknown, infer Output> ? Output : never;

/** The return type of a body under an output schema, and the resulting output. */
type Returned<Output> = Output extends InputSchema ? InferInput<Output, unknown> : unknown;

type Reported<Output, Result> = Output extends InputSchema ? InferOutput<Output, Result> : Result;

/**
 * Declares a tool. All fields are checked here: an unknown or invalid field throws `config.invalid` with what was
 * found and what is expected.
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

// Only the types know that names, arguments and results belong together: callers pass the schema's output.
export function defineTool(spec: unknown): AnyTool {
  return buildTool(spec as UntypedSpec);
}

/** Checks a definition and fills in its defaults. */
export function buildTool(spec: UntypedSpec): AnyTool {
  const name = readName(spec);
  checkToolFields(spec, name, knownFields);
  const handoff = spec.handoff ?? false;
  if (handoff) checkHandoffDefinition(spec, name);
  else if (typeof spec.run !== 'function')
    throw refuseField(name, 'run', 'is missing. Expected a function, or handoff: true.');
  if (spec.idempotencyScope !== undefined && spec.idempotencyKey === undefined) {
    throw refuseField(
      name,
      'idempotencyScope',
      'has no effect without "idempotencyKey". Set both or neither.',
    );
  }

  for (const [field, needs] of dependent)
    if (spec[field] !== undefined && spec[needs] === undefined)
      throw refuseField(name, field, `has no effect without "${needs}". Set both or neither.`);

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
    risk: spec.risk === 'none' ? undefined : (spec.risk ?? riskOfTool(name, mode)),
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

/**
 * Are the schemas of the tool the same as when this digest was recorded? Records without a digest count as the same.
 */
export const isSameSchema = (
  { schemaDigest, schemaDigestWithDefaults }: AnyTool,
  recorded: string | undefined,
): boolean => recorded === undefined || recorded === schemaDigest || recorded === schemaDigestWithDefaults;

/** True for the result of `defineTool`, even if two copies of the package are installed. */
export const isTool = (value: unknown): value is AnyTool =>
  typeof value === 'object' &&
  value !== null &&
  typeof ownValue(value, 'schemaDigest') === 'string' &&
  typeof ownValue(value, 'modeOrigin') === 'string';

/** Checks of a tool's definition that concern several fields. */

export function checkHandoffDefinition(spec: UntypedSpec, name: string): void {
  if (spec.run !== undefined)
    throw refuseField(name, 'run', 'has no effect if another process runs the tool. Set run or handoff.');
  if (spec.idleTimeoutMs !== undefined)
    throw refuseField(
      name,
      'idleTimeoutMs',
      'has no effect if another process runs the tool: its worker gets a lease.',
    );
}

/** Fields that need another field. */
export const dependent = [
  ['cancel', 'preview'],
  ['undoWithinMs', 'undo'],
  ['undoMode', 'undo'],
  ['undoIdempotent', 'undo'],
] as const;

export function readName(spec: unknown): string {
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

/** An invalid path would hide nothing, so it is rejected here instead of ignored later. */
export function readRedaction(tool: string, redact: ToolRedaction | undefined): ToolRedaction | undefined {
  if (redact === undefined) return undefined;
  const read = (paths: readonly string[] | undefined): readonly string[] | undefined => {
    try {
      for (const path of paths ?? []) parseRedactionPath(path);
    } catch (cause) {
      throw refuseField(tool, 'redact', `is invalid. ${describeThrown(cause)}`);
    }
    return paths && Object.freeze([...paths]);
  };
  return Object.freeze({
    input: read(redact.input),
    output: read(redact.output),
    snapshot: read(redact.snapshot),
  });
}
