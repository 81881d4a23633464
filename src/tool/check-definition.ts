/** Checks of a tool's definition that concern several fields. */
import { QuittanceError } from '../base/error.ts';
import { parseRedactionPath } from '../base/redaction-path.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import { refuseField, toolFields } from './tool-fields.ts';
import type { ToolRedaction, UntypedSpec } from './tool-spec.ts';

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
