/** Tries edited arguments without deciding: would the schema and the rules take them? */
import { isQuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonPath } from '../../base/json.ts';
import { readEdit } from '../hold/read-edit.ts';
import type { Engine } from '../state/engine.ts';
import { findOpenQuestion } from './decide-confirmation.ts';

export type EditTrial =
  /** Hooks of the host, limits and sandboxes are asked only when the call runs. */
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly message: string;
      /** Problems of single arguments, by their path. Empty if a rule refuses. */
      readonly problems: readonly { readonly path: JsonPath; readonly message: string }[];
      /** The rule that blocks the arguments. */
      readonly ruleId: string | undefined;
    };

export async function tryEdit(
  engine: Engine,
  confirmationId: string,
  edited: JsonObject,
): Promise<EditTrial> {
  const { call } = await findOpenQuestion(engine, confirmationId);
  try {
    await readEdit(engine, call, edited);
    return { ok: true };
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      return { ok: false, message: error.message, problems: [], ruleId: undefined };
    if (!isQuittanceError(error, 'confirmation.mismatch')) throw error;
    const { issues, ruleId } = error.facts;
    return {
      ok: false,
      message: error.message,
      problems: issues === undefined ? [] : (JSON.parse(issues) as (EditTrial & { ok: false })['problems']), // written by readEdit
      ruleId,
    };
  }
}
