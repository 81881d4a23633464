import { QuittanceError } from '../base/error.ts';
import { describeValue } from './describe-value.ts';
import { isToolMode, toolModeTreatments } from './mode.ts';
import { toolRisks } from './name-words.ts';
import { describeUnknownName, quote } from '../base/nearest.ts';
import { ownValue } from '../base/json.ts';
import type { UntypedSpec } from './tool-spec.ts';

/** A field of a tool's definition. */
export type ToolField = keyof UntypedSpec;

/** The constraint on such a field. */
type FieldRule = { readonly expected: string; readonly fits: (value: unknown) => boolean };

const nameLength = 128;

const text: FieldRule = { expected: 'a text', fits: (value) => typeof value === 'string' };
const flag: FieldRule = { expected: 'true or false', fits: (value) => typeof value === 'boolean' };
const code: FieldRule = { expected: 'a function', fits: (value) => typeof value === 'function' };
const duration: FieldRule = {
  expected: 'a number of milliseconds above 0',
  fits: (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
};
const wholeFrom = (least: number): FieldRule => ({
  expected: `a whole number of at least ${least}`,
  fits: (value) => isWhole(value) && value >= least,
});
const oneOf = (...words: readonly string[]): FieldRule => ({
  expected: `one of ${words.join(', ')}`,
  fits: (value) => typeof value === 'string' && words.includes(value),
});
/** Schemas are checked when they are compiled. */
const schema: FieldRule = { expected: 'a schema', fits: () => true };

/** Every field of a tool's definition, and its constraint. A field that is undefined counts as absent. */
export const toolFields: Readonly<Record<ToolField, FieldRule>> = {
  name: {
    expected: `a text of 1 to ${nameLength} characters without control characters`,
    fits: (value) =>
      typeof value === 'string' &&
      value.trim() !== '' &&
      value.length <= nameLength &&
      value.isWellFormed() &&
      !/\p{Cc}/u.test(value),
  },
  description: text,
  displayName: text,
  input: schema,
  output: schema,
  mode: { expected: `one of ${Object.keys(toolModeTreatments).join(', ')}`, fits: isToolMode },
  risk: oneOf(...toolRisks, 'none'),
  idempotent: flag,
  handoff: flag,
  timeoutMs: duration,
  idleTimeoutMs: duration,
  retryOnTimeout: flag,
  costMicros: {
    expected: 'a whole number of millionths of at least 0, or a function of the arguments that gives one',
    fits: (value) => typeof value === 'function' || (isWhole(value) && value >= 0),
  },
  inlineLimit: wholeFrom(0),
  loopLimit: wholeFrom(1),
  rerun: oneOf('ask', 'deny', 'allow'),
  coerce: flag,
  successCheck: code,
  idempotencyKey: code,
  idempotencyScope: oneOf('session', 'ledger'),
  resourceKeys: code,
  redact: {
    expected: 'an object whose only fields, input, output and snapshot, are lists of paths',
    fits: (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.entries(value).every(
        ([key, paths]) => ['input', 'output', 'snapshot'].includes(key) && isPathList(paths),
      ),
  },
  resources: {
    expected: 'an object whose only fields, paths, commands and urls, are lists of paths into the arguments',
    fits: (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.entries(value).every(
        ([key, paths]) => ['paths', 'commands', 'urls'].includes(key) && isPathList(paths),
      ),
  },
  reconcile: code,
  preview: code,
  cancel: code,
  undo: code,
  undoWithinMs: duration,
  undoMode: { expected: `one of ${Object.keys(toolModeTreatments).join(', ')}`, fits: isToolMode },
  undoIdempotent: flag,
  run: code,
};

/** Their names, in the order of messages. */
export const knownFields: readonly ToolField[] = Object.keys(toolFields) as ToolField[]; // the keys of that table

/** Field names of other libraries, and their names here. */
const otherWords: Readonly<Record<string, ToolField>> = {
  execute: 'run',
  handler: 'run',
  func: 'run',
  parameters: 'input',
  schema: 'input',
  inputSchema: 'input',
  input_schema: 'input',
  outputSchema: 'output',
  timeout: 'timeoutMs',
};

/** Throws `config.invalid` unless every given field is known and valid. */
export function checkToolFields(given: object, tool: string, allowed: readonly ToolField[]): void {
  for (const key of Reflect.ownKeys(given)) {
    const field = allowed.find((each) => each === key);
    if (field === undefined) throw refuseUnknown(String(key), tool, allowed);
    const value = ownValue(given, field);
    if (value === undefined || toolFields[field].fits(value)) continue;
    throw refuseField(tool, field, `is ${describeValue(value)}. Expected ${toolFields[field].expected}.`);
  }
}

/** `The field "timeoutMs" of the tool "refund" is -1. Expected …` */
export const refuseField = (tool: string, field: ToolField, problem: string): QuittanceError =>
  new QuittanceError('config.invalid', `The field "${field}" of the tool ${quote(tool)} ${problem}`, {
    tool,
    field,
  });

function refuseUnknown(key: string, tool: string, allowed: readonly ToolField[]): QuittanceError {
  const meant = Object.hasOwn(otherWords, key) ? otherWords[key] : undefined;
  const known =
    meant !== undefined && allowed.includes(meant)
      ? `No field named ${quote(key)}. Here it is called ${meant}.`
      : describeUnknownName('field', key, allowed);
  return new QuittanceError(
    'config.invalid',
    `The definition of the tool ${quote(tool)} is invalid. ${known}`,
    {
      tool,
      field: key,
    },
  );
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

const isPathList = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) && value.every((path) => typeof path === 'string' && path !== ''));
