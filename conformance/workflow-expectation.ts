/** Compares the result of a step with the expected one. */
import { isDeepStrictEqual } from 'node:util';
import type { ToolOutcome } from 'quittance';
import { matchPart } from './audit-events.ts';
import type { Data, Problems } from './case.ts';
import { dataAt, holds, own, show, textAt, unknownKeys } from './case.ts';

export type StepAnswer = {
  /** Undefined while the call awaits approval. */
  readonly outcome: ToolOutcome | undefined;
  readonly asked: readonly { readonly message: string; readonly stageId: string | undefined }[];
  /** Scripted approvals that were never requested. */
  readonly unused: readonly string[];
};

const known = [
  'decision',
  'message_contains',
  'approval_requested_for',
  'active_stage',
  'completed_stages',
  'approvals',
  'evidence',
  'blocked_reason',
  'pending_approval',
  'last_blocked_action',
  'last_recorded_evidence',
  'audit_events',
];

export function checkStep(expected: Data, answer: StepAnswer | undefined, state: Data): Problems {
  return [
    ...unknownKeys(expected, known, 'expect'),
    ...(answer === undefined ? [] : checkAnswer(expected, answer)),
    ...checkState(expected, state),
  ];
}

const synonyms: ReadonlyMap<unknown, string> = new Map([
  ['block', 'deny'],
  ['ask', 'pause'],
]);

function checkAnswer(expected: Data, { outcome, asked, unused }: StepAnswer): Problems {
  const problems: string[] = [];
  const decision =
    outcome === undefined ? 'pause' : outcome.type === 'ToolDenied' ? 'deny' : ranOrNot(outcome);
  const message = outcome?.type === 'ToolDenied' ? outcome.details : (asked.at(-1)?.message ?? undefined);
  const wanted = own(expected, 'decision');
  if (wanted !== undefined && (synonyms.get(wanted) ?? wanted) !== decision)
    problems.push(`expected decision ${show(wanted)}, got ${decision} (${show(message)})`);
  const part = textAt(expected, 'message_contains');
  if (part !== undefined && ![message, ...asked.map((ask) => ask.message)].some((text) => holds(text, part)))
    problems.push(`expected a message that contains ${show(part)}, got ${show(message)}`);
  const stage = own(expected, 'approval_requested_for');
  if (stage !== undefined && (asked.at(-1)?.stageId ?? null) !== stage)
    problems.push(`expected ${show(stage)} to await approval, got ${show(asked.at(-1)?.stageId)}`);
  if (unused.length > 0)
    problems.push(`expected every approval to be requested, but ${show(unused)} was not`);
  return problems;
}

/** A failure without a run is not a decision of the workflow, so it is shown as it is. */
const ranOrNot = (outcome: ToolOutcome): string =>
  'code' in outcome && outcome.code === 'tool.unknown' ? outcome.code : 'allow';

function checkState(expected: Data, state: Data): Problems {
  const problems: string[] = [];
  for (const key of ['active_stage', 'completed_stages', 'approvals'] as const)
    if (Object.hasOwn(expected, key) && !isDeepStrictEqual(own(expected, key) ?? '', own(state, key)))
      problems.push(`expected ${key} ${show(own(expected, key))}, got ${show(own(state, key))}`);
  if (Object.hasOwn(expected, 'evidence')) {
    const wanted = { ...noEvidence, ...dataAt(expected, 'evidence') };
    if (!isDeepStrictEqual(wanted, own(state, 'evidence')))
      problems.push(`expected evidence ${show(wanted)}, got ${show(own(state, 'evidence'))}`);
  }
  for (const key of ['blocked_reason', 'pending_approval', 'last_blocked_action', 'last_recorded_evidence'])
    if (Object.hasOwn(expected, key) && !matchPart(own(expected, key), own(state, key)))
      problems.push(`expected ${key} ${show(own(expected, key))}, got ${show(own(state, key))}`);
  return problems;
}

/** Evidence that a case leaves out is empty. */
const noEvidence = { reads: [], stage_calls: {}, mcp_results: {} };
