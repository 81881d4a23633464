import type { ErrorSummary, ErrorGroup } from 'quittance/internal/ledger/summarize-errors';
import { summarizeErrors } from 'quittance/internal/ledger/summarize-errors';
import { filterOptions, timesOf } from '../call-query.ts';
import { callToJson } from '../call-columns.ts';
import type { CliCommand, Context } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import type { Terminal } from '../terminal.ts';
import { trim, wrap } from '../text-width.ts';
import { age, utcTimeText } from '../time-text.ts';
import { withoutUndefined } from '../to-json.ts';

const { session, tool, code, since, until } = filterOptions;

export const errorsCommand: CliCommand = {
  name: 'errors',
  summary: 'List calls that did not succeed, grouped by who can act',
  about: [
    'Lists every call that failed, timed out or was denied. The groups say who can act: retry the call, fix the input, fix the tool, or ask a person. Each code is shown with its count, its tools and its newest call.',
  ],
  options: {
    ...(since && { since }),
    ...(until && { until }),
    ...(session && { session }),
    ...(tool && { tool }),
    ...(code && { code }),
    limit: { value: 'N', help: 'Read at most N calls, the newest' },
    json: { ...jsonOption, help: 'JSON instead of text, one code per line, times in UTC' },
  },
  examples: [
    ['quittance errors --since 7d', 'errors of the last week'],
    ['quittance errors --session ticket-42', 'errors of one session'],
    ["quittance errors --json | jq -r '[.whoseMove, .code, .count] | @tsv'", 'for a program'],
  ],
  effect: reads,
  run: (given, context) =>
    context.withLedger(given, async (ledger, meant) => {
      const now = context.now();
      const groups = await summarizeErrors(ledger, {
        sessionId: meant.text('session'),
        toolName: meant.text('tool'),
        code: given.text('code'),
        ...timesOf(given, now),
        limit: given.count('limit'),
        signal: context.signal,
      });
      if (given.has('json')) await printJson(groups, context);
      else await printText(groups, now, context);
      return exitCodes.good;
    }),
};

/** Headings of the groups, as on the page about reason codes. */
const headings: { readonly [Move in ErrorGroup['whoseMove']]: string } = {
  retry: 'Retry',
  'your inputs': 'Caller or model',
  "the tool's author": 'Author of the tool',
  're-record': 'Re-record',
  budget: 'Budget',
  'a person': 'A person',
  'no action': 'No action needed',
  unknown: 'Codes unknown to this version',
};

async function printText(groups: readonly ErrorGroup[], now: number, { out, err }: Context): Promise<void> {
  if (groups.length === 0) return err.print('No call failed or was denied.');
  for (const [index, { whoseMove, count, codes }] of groups.entries()) {
    if (index > 0) await out.print('');
    await out.print(`${out.paint('bold', headings[whoseMove])}  ${count}`);
    for (const each of codes) for (const line of codeLines(each, now, out)) await out.print(line);
  }
}

function codeLines(each: ErrorSummary, now: number, out: Terminal): string[] {
  const { code: word, title, whatToDo, count, unresolved, tools, lastAt, sample } = each;
  const doubt = unresolved === 0 ? '' : `, ${unresolved} unresolved`;
  const width = Math.min(out.width, 110);
  const indented = (text: string): string[] => wrap(text, width - 4).map((line) => `    ${line}`);
  const some = tools.slice(0, 6).map((found) => `${terminalId(found.toolName)} ${found.count}`);
  const more = tools.length > some.length ? `, and ${tools.length - some.length} more` : '';
  return [
    `  ${out.paint('red', terminalText(word))}  ${count}${doubt}${out.paint('dim', `, last ${sayAge(lastAt, now)}`)}`,
    ...(title === undefined ? [] : indented(`${title}. ${whatToDo ?? ''}`.trim())),
    ...indented(some.join(', ') + more).map((line) => out.paint('dim', line)),
    ...(sample.message === undefined
      ? []
      : [out.paint('dim', `    ${trim(`"${terminalText(sample.message)}"`, width - 4)}`)]),
    out.paint(
      'dim',
      `    quittance show ${shellWord(terminalId(sample.callId))} --session ${shellWord(terminalId(sample.sessionId))}`,
    ),
  ];
}

const sayAge = (at: number, now: number): string => {
  const word = age(at, now);
  return word === 'now' || word.startsWith('in ') ? word : `${word} ago`;
};

async function printJson(groups: readonly ErrorGroup[], { out }: Context): Promise<void> {
  for (const { whoseMove, codes } of groups)
    for (const { code: word, title, whatToDo, count, unresolved, tools, firstAt, lastAt, sample } of codes)
      await out.print(
        safeJson(
          withoutUndefined({
            whoseMove,
            code: word,
            title,
            whatToDo,
            count,
            unresolved,
            tools: tools.map(({ toolName, count: calls }) => ({ toolName, count: calls })),
            firstAt: utcTimeText(firstAt),
            lastAt: utcTimeText(lastAt),
            sample: callToJson(sample),
          }),
        ),
      );
}
