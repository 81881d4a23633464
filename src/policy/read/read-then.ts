/** Reads the effect of a rule: its action, message and tags, and the timeout of an ask. */
import type { JsonObject } from '../../base/json.ts';
import type { ClosedObject, DocumentReader } from './document-reader.ts';
import {
  actionsOf,
  defaultTimeout,
  keysOf,
  longestMessage,
  longestTimeout,
  olderActions,
  olderKeys,
  olderTimeoutEffects,
  thenShapes,
  timeoutEffects,
} from '../language/rule-shape.ts';
import type { AskTimeout } from '../language/ruleset.ts';
import type { ApprovalPolicy } from '../../call/approval-policy.ts';
import { readApproval } from './read-approval.ts';

type ThenType = keyof typeof thenShapes;

export type Then<Type extends ThenType> = {
  readonly action: (typeof actionsOf)[Type][number];
  readonly message: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject | undefined;
  /** The other fields of this type. */
  readonly fields: ClosedObject<string>;
};

/** Undefined if there are problems. */
export function readThen<Type extends ThenType>(
  at: DocumentReader | undefined,
  type: Type,
): Then<Type> | undefined {
  const fields = at?.closed(keysOf(thenShapes[type]), olderKeys);
  if (fields === undefined) return undefined;
  const words: readonly Then<Type>['action'][] = actionsOf[type];
  const action = fields
    .required('action')
    ?.oneOf(words, olderActions as Record<string, Then<Type>['action']>);
  const message = readRuleMessage(fields.required('message'));
  const tags = fields.optional('tags')?.texts() ?? [];
  const metadata = fields.optional('metadata')?.object();
  if (action === undefined || message === undefined) return undefined;
  return { action, message, tags, metadata, fields };
}

export const readRuleMessage = (at: DocumentReader | undefined): string | undefined =>
  at?.text({ most: longestMessage });

export function readAskTimeout(fields: ClosedObject<string>): AskTimeout {
  const seconds = fields.optional('timeout')?.integer({ least: 1, most: longestTimeout });
  const effect = fields.optional('timeout_effect')?.oneOf(timeoutEffects, olderTimeoutEffects);
  return { timeoutSeconds: seconds ?? defaultTimeout, timeoutEffect: effect ?? 'block' };
}

/** An approval belongs to an ask. On a rule that blocks it would have no effect, which is probably a mistake. */
export function readAskApproval(
  fields: ClosedObject<string>,
  action: string,
  timeout: AskTimeout,
): ApprovalPolicy | undefined {
  const at = fields.optional('approval');
  if (at !== undefined && action !== 'ask')
    at.refuse('approval needs a rule that asks: this one blocks, so no person is asked.');
  return readApproval(at, timeout);
}
