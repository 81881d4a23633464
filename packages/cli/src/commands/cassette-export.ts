import { rename, rm, writeFile } from 'node:fs/promises';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { Cassette } from 'quittance/internal/replay/cassette';
import { writeCassette } from 'quittance/internal/replay/write-cassette';
import { recordCassette } from 'quittance/internal/replay/record-cassette';
import { checkOutputFile } from '../check-output-file.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { meantCall, meantSession } from '../meant-options.ts';
import { terminalId } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const cassetteExportCommand: CliCommand = {
  name: 'cassette export',
  summary: 'Write the calls of a session to a cassette, which replays them instead of tools',
  takes: '<session>',
  most: 1,
  about: [
    'A cassette holds the input, outcome and recorded effects of each call, in stored form. Values redacted in the ledger stay redacted, and nothing sealed is opened. Calls without an outcome are left out.',
    "Each call carries the digest of its tool's schemas, so that a replay can detect a change. The digest is missing for tools without a JSON Schema and in ledgers written before digests were stored.",
  ],
  options: {
    calls: {
      value: 'IDS',
      help: 'Only these calls: comma-separated ids; can be repeated',
      multiple: true,
    },
    until: { value: 'ID', help: 'Only calls requested before this call' },
    out: { value: 'FILE', help: 'Output file; - for standard output', file: true },
    'max-artifact-bytes': { value: 'N', help: 'Leave out artifacts larger than N bytes; default: 1000000' },
    force: { help: 'Overwrite an existing file' },
  },
  examples: [
    ['quittance cassette export ticket-42 --out ticket-42.json', 'a whole session'],
    ['quittance cassette export ticket-42 --calls call_1,call_2 --out two.json', 'two calls of a session'],
    ['quittance cassette export ticket-42 --until call_7 --out before.json', 'the calls before one call'],
  ],
  effect: makes,
  run: async (given, context) => {
    const [sessionId] = given.args;
    if (sessionId === undefined)
      throw new UsageError('Missing session id.', [
        'quittance cassette export <session> --out FILE',
        'quittance sessions',
      ]);
    const target = targetOf(given, sessionId, context);
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
      // Made anew: the draft could be a link to another file.
      await rm(`${target}.part`, { force: true });
      await writeFile(`${target}.part`, text, { mode: 0o600, flush: true, flag: 'wx' });
      await rename(`${target}.part`, target);
      await context.err.say(
        `${contents(cassette)} in ${target}. To inspect it: quittance cassette show ${shellWord(target)}`,
      );
    }
    return exitCodes.good;
  },
};

function targetOf(given: Given, sessionId: string, context: Context): string {
  const target = given.text('out');
  const command = `quittance cassette export ${shellWord(terminalId(sessionId))} --out`;
  if (target === undefined) throw new UsageError('--out is missing.', [`${command} cassette.json`]);
  if (target === '-' && context.out.isTerminal)
    throw new UsageError(
      'A cassette is for programs: it contains raw tool output, which could control this terminal.',
      [`${command} cassette.json`, `${command} - | less`],
    );
  const overwrite = `${command} ${shellWord(target)} --force`;
  if (target !== '-') checkOutputFile(target, given.has('force') ? undefined : overwrite, given, context);
  return target;
}

/** The size of a cassette, in words. */
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
