import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { isQuittanceError } from '../../base/error.ts';
import type { Cassette } from '../../replay/cassette.ts';
import { writeCassette } from '../../replay/write-cassette.ts';
import { recordCassette } from '../../replay/record-cassette.ts';
import type { CliCommand, Given } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { meantCall, meantSession } from '../meant-options.ts';
import { terminalId } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const cassetteExportCommand: CliCommand = {
  name: 'cassette export',
  summary: 'Write the calls of a session as a cassette, to be played instead of tools',
  takes: '<session>',
  most: 1,
  about: [
    'A cassette holds each call with its input, how it ended and what it left on the record, in the kept form: what is hidden in the ledger is hidden in it, and nothing sealed is opened. Calls without an outcome are left out.',
    'With each call comes the digest of what its tool took and gave then, so that a replay can tell when that has changed. Calls of tools that no JSON Schema describes, and of ledgers that were written before it was kept, have none.',
  ],
  options: {
    calls: {
      value: 'IDS',
      help: 'Only these calls: ids with commas between them; may be given more than once',
      multiple: true,
    },
    until: { value: 'ID', help: 'Only what was requested before this call' },
    out: { value: 'FILE', help: 'Where to write; - for standard output', file: true },
    'max-artifact-bytes': { value: 'N', help: 'Leave larger artifacts behind; 1000000 unless told' },
    force: { help: 'Write over a file that is there already' },
  },
  examples: [
    ['quittance cassette export ticket-42 --out ticket-42.json', 'a whole session'],
    ['quittance cassette export ticket-42 --calls call_1,call_2 --out two.json', 'two calls of it'],
    ['quittance cassette export ticket-42 --until call_7 --out before.json', 'what came before a call'],
  ],
  run: async (given, context) => {
    const [sessionId] = given.args;
    if (sessionId === undefined)
      throw new UsageError('Which session?', [
        'quittance cassette export <session> --out FILE',
        'quittance sessions',
      ]);
    const target = targetOf(given, sessionId, context.out.isTerminal);
    const cassette = await context.withLedger(given, async (ledger) => {
      const most = given.count('max-artifact-bytes');
      const wanted = await meantSession(ledger, sessionId, context.signal);
      const typedUntil = given.text('until');
      const until = typedUntil === undefined ? undefined : await meantCall(ledger, wanted, typedUntil);
      const callIds: string[] = [];
      for (const typed of given.list('calls').flatMap((list) => list.split(',')))
        callIds.push(await meantCall(ledger, wanted, typed));
      try {
        return await recordCassette(
          ledger,
          {
            sessionId: wanted,
            ...(callIds.length > 0 && { callIds }),
            ...(until !== undefined && { until }),
          },
          { ...(most !== undefined && { maxArtifactBytes: most }) },
        );
      } catch (error) {
        if (!isQuittanceError(error, 'call.unknown')) throw error;
        throw new UsageError(
          error.message,
          'callId' in error.facts
            ? [`quittance calls --session ${shellWord(terminalId(wanted))}`]
            : ['quittance sessions'],
          exitCodes.bad,
        );
      }
    });
    const text = writeCassette(cassette);
    if (target === '-') await context.out.write(text);
    else {
      await writeFile(`${target}.part`, text, { mode: 0o600, flush: true });
      await rename(`${target}.part`, target);
      await context.err.say(
        `${contents(cassette)} in ${target}. To look at it: quittance cassette show ${shellWord(target)}`,
      );
    }
    return exitCodes.good;
  },
};

function targetOf(given: Given, sessionId: string, isTerminal: boolean): string {
  const target = given.text('out');
  const command = `quittance cassette export ${shellWord(terminalId(sessionId))} --out`;
  if (target === undefined) throw new UsageError('Where to?', [`${command} cassette.json`]);
  if (target === '-' && isTerminal)
    throw new UsageError(
      'A cassette is for programs: what tools wrote is in it as it is, and could act on this terminal.',
      [`${command} cassette.json`, `${command} - | less`],
    );
  if (target !== '-' && existsSync(target) && !given.has('force'))
    throw new UsageError(`${target} is there already.`, [`${command} ${shellWord(target)} --force`]);
  return target;
}

/** How much is in a cassette, in words. */
export function contents({ calls, artifacts }: Cassette): string {
  const left = artifacts.filter(({ content }) => content === undefined).length;
  return [
    `${calls.length} ${calls.length === 1 ? 'call' : 'calls'}`,
    ...(artifacts.length > 0
      ? [
          `${artifacts.length} ${artifacts.length === 1 ? 'artifact' : 'artifacts'}${left > 0 ? ` (${left} by digest only)` : ''}`,
        ]
      : []),
  ].join(', ');
}
