/** The summary: how often each outcome, reason and record occurred, and where to read more. */
import type { DenialReason, Runtime, ToolOutcome } from 'quittance';
import { denialReasons, reasonTable } from 'quittance';
import { outcomeWords, toCode, toWord } from './ends.ts';
import type { Report } from './stage.ts';
import { sessionId } from './stage.ts';
import { paintOutcome, print } from './table.ts';
import { trim, wrap } from '../packages/cli/src/text-width.ts';
import { pageWidth, paint } from './terminal.ts';

const outcomeMeanings: readonly (readonly [ToolOutcome['type'], string])[] = [
  ['ToolExecutionResult', 'it ran, and its output fits inline'],
  ['ToolArtifactReference', 'it ran, and its output is an artifact'],
  ['ToolTimeout', 'it was still running at its deadline'],
  ['ToolFailure', 'it failed, or its effect is unknown'],
  ['ToolDenied', 'a check or a person denied it; never ran'],
];

const recordMeanings: Readonly<Record<string, string>> = {
  blocked: 'denied, never ran',
  requires_confirmation: 'held for approval',
  cached: 'answered from the record',
  invalidated: 'the confirmation was withdrawn',
  completed: 'ran to its end, successful or not',
};

/** Kinds that the demo does not show, and where they are. */
const otherRecords: Readonly<Record<string, string>> = {
  replayed: 'not here: see examples/20-external-worker.ts',
  persistence_failed: 'not here: needs a full disk',
};
const otherReasons: Readonly<Partial<Record<DenialReason, string>>> = {
  contract: 'examples/14-contracts-from-yaml.ts',
  expired: 'docs/people.md',
};

/** Prints the totals and returns what a complete demo should have shown but did not. */
export async function summarize(
  { answers, checks }: Report,
  runtime: Runtime,
  elapsedMs: number,
): Promise<readonly string[]> {
  const outcomes = tally(answers.map(toWord));
  const reasons = tally(answers.flatMap((answer) => (answer.type === 'ToolDenied' ? [answer.reason] : [])));
  const records = tally((await runtime.calls.audit({ sessionId })).map(({ outcome }) => outcome.kind));
  const codes = new Set(answers.map(toCode).filter(Boolean));

  title('The five outcomes: every call ends in exactly one');
  for (const [type, meaning] of outcomeMeanings) {
    const word = outcomeWords[type];
    outcomeLine(word, outcomes.get(word), type, meaning);
  }
  outcomeLine('pending', outcomes.get('pending'), 'no outcome', 'it awaits approval; repeat the request');

  title('Why a call is denied: eleven reasons');
  const seen = Object.keys(denialReasons).filter((reason) => reasons.has(reason));
  paragraph(seen.map((reason) => `${reason} ${reasons.get(reason)}`).join(' · '));
  const others = Object.entries(otherReasons).map(([reason, place]) => `${reason}, see ${place}`);
  paragraph(`Not played here: ${others.join('; ')}.`);

  title('The audit trail: seven kinds of records');
  for (const [kind, meaning] of Object.entries({ ...recordMeanings, ...otherRecords }))
    countLine(kind, records.get(kind), meaning);

  title('Reason codes');
  const unseen = Object.keys(reasonTable).filter((code) => !codes.has(code));
  paragraph(
    `${codes.size} of ${codes.size + unseen.length} occurred. Not played here: ${unseen.join(', ')}.`,
  );

  print('');
  paragraph(`${answers.length} answers, ${checks} checks, ${(elapsedMs / 1000).toFixed(1)} s.`);
  return [
    ...Object.values(outcomeWords).filter((word) => !outcomes.has(word)),
    ...Object.keys(recordMeanings).filter((kind) => !records.has(kind)),
    ...Object.keys(denialReasons).filter((reason) => !reasons.has(reason) && !(reason in otherReasons)),
  ].map((word) => `No scene showed "${word}".`);
}

export function printNextSteps(): void {
  title('Where to go next');
  pathLine('demo/scenes', 'the script of what you just saw');
  pathLine('examples/01-first-call.ts', 'the first of the small programs, one idea each');
  pathLine('docs/getting-started.md', 'your own tools, step by step');
  pathLine('docs/reason-codes.md', 'every code: its meaning and what to do');
  pathLine('ARCHITECTURE.md', 'the life of a call, and which file is responsible');
}

function title(text: string): void {
  print('');
  print(paint('bold', text));
}

function outcomeLine(word: string, count: number | undefined, type: string, meaning: string): void {
  const start = `  ${paintOutcome(word, word.padEnd(9))}${toCount(count)}  `;
  print(`${start}${paint('dim', trim(`${type.padEnd(23)}${meaning}`, pageWidth() - 16))}`);
}

const countLine = (word: string, count: number | undefined, meaning: string): void =>
  explained(`  ${word.padEnd(22)}${toCount(count)}  `, meaning);

const pathLine = (path: string, meaning: string): void => explained(`  ${path.padEnd(27)}`, meaning);

const explained = (start: string, meaning: string): void =>
  print(`${start}${paint('dim', trim(meaning, pageWidth() - start.length))}`);

const toCount = (count: number | undefined): string => String(count ?? '–').padStart(3);

function paragraph(text: string): void {
  for (const line of wrap(text, pageWidth() - 4)) print(`  ${line}`);
}

function tally(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
