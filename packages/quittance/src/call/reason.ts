/**
 * Reason codes: one stable word for each cause of a call that did not succeed, with its consequences. The types, the retry
 * defaults, the blocking of tools, the derived tool results and `docs/reason-codes.md` use this table.
 */
import { freezeJson } from '../base/json.ts';
import { callReasons, type CallReasonCode } from './reasons/call-reasons.ts';
import { personReasons, type PersonReasonCode } from './reasons/person-reasons.ts';
import { policyReasons, type PolicyReasonCode } from './reasons/policy-reasons.ts';
import type { NextAction, Reason, WhoseMove } from './reasons/reason.ts';
import { toolReasons, type ToolReasonCode } from './reasons/tool-reasons.ts';

export type { NextAction, Reason, WhoseMove };

/** The stable machine word for why a call did not succeed. */
export type ReasonCode = ToolReasonCode | PolicyReasonCode | CallReasonCode | PersonReasonCode;

/** Every reason code with its meaning, who can act on it and its consequences. */
export const reasonTable: { readonly [Code in ReasonCode]: Reason } = freezeJson({
  ...toolReasons,
  ...policyReasons,
  ...callReasons,
  ...personReasons,
});

/** Every reason code, in the order of the table. */
export const reasonCodes: readonly ReasonCode[] = Object.keys(reasonTable).filter(isReasonCode);

/** Narrows a word to a reason code. */
export function isReasonCode(value: unknown): value is ReasonCode {
  return typeof value === 'string' && Object.hasOwn(reasonTable, value);
}

/** The meaning of a reason code. */
export const reasonOf = (code: ReasonCode): Reason => reasonTable[code];
