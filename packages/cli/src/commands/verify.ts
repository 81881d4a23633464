import type { KeyObject } from 'node:crypto';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Anchor } from 'quittance/internal/ledger/anchor';
import {
  anchorToText,
  createAnchor,
  parseAnchor,
  signAnchor,
  verifyAnchor,
} from 'quittance/internal/ledger/anchor';
import { verifyProblemKinds } from 'quittance/internal/ledger/verify';
import { checkOutputFile } from '../check-output-file.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { whyRefused } from '../system-error.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { localTimeText } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';
import type { VerifyFinding, Verdict } from 'quittance/internal/replay/verify-ledger';
import { verifyLedger } from 'quittance/internal/replay/verify-ledger';
import { verifyExport } from '../verify-export.ts';
import { wrap } from '../text-width.ts';

export const verifyCommand: CliCommand = {
  name: 'verify',
  summary: 'Check that no ledger entry was changed, removed, inserted or moved',
  about: [
    "Checks the hash chain of every session and the bodies stored with it. Checks that each call's events are in a legal order and that the stored text is the one the model received. Checks claims, budgets, unresolved effects, sealed inputs, artifacts and the read tables against the entries. Names the first bad place. Exit code 1: a problem was found.",
    'A person with write access to the ledger could recompute all of it. An anchor, kept where they cannot write, detects that, and also a truncated chain or a missing session.',
  ],
  options: {
    anchor: { value: 'FILE', help: 'Compare the ledger with this anchor', file: true },
    trust: {
      value: 'FILE',
      help: 'Accept the anchor only if it was signed with the private key for this public key',
      file: true,
    },
    'write-anchor': {
      value: 'FILE',
      help: 'If no problem is found, write an anchor of the current chains',
      file: true,
    },
    sign: { value: 'FILE', help: 'Sign that anchor with this private key: Ed25519, PEM', file: true },
    export: { value: 'FILE', help: 'Check an export file instead of a ledger', file: true },
    json: { help: 'JSON instead of text: one line per problem, then one with the totals' },
  },
  examples: [
    ['quittance verify', 'the whole ledger'],
    ['quittance verify --write-anchor monday.anchor --sign key.pem', 'also write an anchor'],
    [
      'quittance verify --anchor monday.anchor --trust public.pem',
      'check that nothing before monday was rewritten',
    ],
    ['quittance verify --export ledger.jsonl', 'an export you received, without the ledger'],
  ],
  effect: reads,
  run: async (given, context) => {
    const file = given.text('export');
    const target = given.text('write-anchor');
    if (given.has('sign') && target === undefined)
      throw new UsageError('--sign signs the anchor that --write-anchor writes.', [
        'quittance verify --write-anchor ledger.anchor --sign key.pem',
      ]);
    if (given.has('trust') && !given.has('anchor'))
      throw new UsageError('--trust checks the signature of --anchor.', [
        'quittance verify --anchor ledger.anchor --trust public.pem',
      ]);
    if (file !== undefined && (target !== undefined || given.has('ledger')))
      throw new UsageError('--export checks a file alone: it reads no ledger and writes no anchor.', [
        'quittance verify --export ledger.jsonl',
      ]);
    if (target !== undefined) checkOutputFile(target, undefined, given, context);
    const key = given.text('sign') === undefined ? undefined : readKey(given.text('sign') ?? '', 'sign');
    const anchor = readAnchor(given);
    const report = createReport(given, context);
    if (file !== undefined) {
      if (!existsSync(file))
        throw new UsageError(`There is no export at ${file}.`, ['quittance export --out ledger.jsonl']);
      return conclude(await verifyExport(file, anchor, context, report), 'export', anchor, given, context);
    }
    return context.withLedger(given, async (ledger) => {
      const note = async (message: string): Promise<void> =>
        given.has('json')
          ? context.out.print(safeJson({ type: 'note', message }))
          : context.err.say(`Note: ${terminalText(message)}`);
      const { signal, startProgress } = context;
      const verdict = await verifyLedger(ledger, anchor, { signal, startProgress, note }, report);
      const code = await conclude(verdict, 'ledger', anchor, given, context);
      if (target !== undefined && verdict.finished) await writeAnchor(target, verdict, key, context);
      return code;
    });
  },
};

function readAnchor(given: Given): Anchor | undefined {
  const path = given.text('anchor');
  if (path === undefined) return undefined;
  if (!existsSync(path))
    throw new UsageError(`There is no anchor at ${path}.`, [`quittance verify --write-anchor ${path}`]);
  const anchor = parseAnchor(readAnchorFile(path));
  const trusted = given.text('trust');
  if (trusted !== undefined && !verifyAnchor(anchor, readKey(trusted, 'trust')))
    throw new UsageError(
      anchor.signature === undefined
        ? `The anchor ${path} is not signed.`
        : `The anchor ${path} was not signed with the private key for ${trusted}, or it was changed since.`,
      [],
      exitCodes.bad,
    );
  return anchor;
}

function readAnchorFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = whyRefused(error);
    if (why === undefined) throw error;
    throw new UsageError(
      `Cannot read the anchor ${path}: ${why}.`,
      ['quittance verify --anchor ledger.anchor'],
      exitCodes.broken,
    );
  }
}

function readKey(path: string, option: 'sign' | 'trust'): KeyObject {
  const how = [
    'openssl genpkey -algorithm ed25519 -out key.pem',
    'openssl pkey -in key.pem -pubout -out public.pem',
  ];
  if (!existsSync(path)) throw new UsageError(`There is no key at ${path}.`, how);
  try {
    const pem = readFileSync(path);
    return option === 'sign' ? createPrivateKey(pem) : createPublicKey(pem);
  } catch {
    const kind = option === 'sign' ? 'private' : 'public';
    throw new UsageError(`${path} is not a ${kind} key in PEM format.`, how);
  }
}

/** Prints each problem as it is found. After a limit, it only counts them. */
function createReport(given: Given, { out }: Context): (finding: VerifyFinding) => Promise<void> {
  const mostShown = 20;
  let found = 0;
  return async (finding) => {
    found++;
    if (given.has('json')) return out.print(safeJson(findingToJson(finding)));
    if (found > mostShown) return;
    const place = placeOf(finding);
    if (found === 1) await out.print(out.paint(['bold', 'red'], `First bad place: ${place}`));
    else await out.print(out.paint('red', place));
    for (const line of wrap(`${finding.kind}: ${terminalText(finding.message)}`, out.textWidth - 2))
      await out.print(`  ${line}`);
    if (found === 1 && finding.kind in verifyProblemKinds)
      for (const line of wrap(
        verifyProblemKinds[finding.kind as keyof typeof verifyProblemKinds],
        out.textWidth - 2,
      ))
        await out.print(out.paint('dim', `  ${line}`));
  };
}

const placeOf = ({ sessionId, callId, sequence, position, line }: VerifyFinding): string =>
  [
    line === undefined ? undefined : `line ${line}`,
    sessionId === undefined ? undefined : `session ${JSON.stringify(terminalId(sessionId))}`,
    callId === undefined ? undefined : `call ${JSON.stringify(terminalId(callId))}`,
    sequence === undefined ? undefined : `entry ${sequence}`,
    position === undefined ? undefined : `position ${position}`,
  ]
    .filter(Boolean)
    .join(', ') || 'the file';

const findingToJson = (finding: VerifyFinding): object => ({
  type: 'problem',
  kind: finding.kind,
  message: finding.message,
  sessionId: finding.sessionId,
  callId: finding.callId,
  sequence: finding.sequence,
  position: finding.position,
  line: finding.line,
});

async function conclude(
  { totals, due, problems, finished }: Verdict,
  what: 'ledger' | 'export',
  anchor: Anchor | undefined,
  given: Given,
  { out, err }: Context,
): Promise<ExitCode> {
  const code = problems > 0 ? exitCodes.bad : exitCodes.good;
  if (given.has('json')) {
    const { unknownEvents, openCalls, ...counts } = totals;
    await out.print(
      safeJson({
        type: 'totals',
        ...counts,
        problems,
        openCalls,
        unknownEvents,
        entriesDue: due,
        finished,
        ok: finished && problems === 0,
      }),
    );
    return code;
  }
  const read = `${count(totals.sessions, 'session')}, ${count(totals.entries, 'entry', 'entries')}`;
  const counts = `${read}, ${count(totals.calls, 'call')} (${totals.openCalls} without an outcome)`;
  if (!finished)
    await err.say(
      'Stopped ' +
        `${totals.entries < due ? `after ${totals.entries} of ${due} entries` : 'while comparing the read tables'}: ` +
        `${problems === 0 ? 'no problem so far; the rest is unchecked' : count(problems, 'problem')}.`,
    );
  else if (problems > 0)
    await out.print(out.paint(['bold', 'red'], `${count(problems, 'problem')} in ${read}.`));
  else {
    const held = anchor === undefined ? '' : `, and matches the anchor of ${localTimeText(anchor.at)}`;
    await out.print(`${out.paint(['bold', 'green'], `The ${what} is intact${held}.`)} ${counts}.`);
    if (totals.erased > 0)
      await out.print(`${count(totals.erased, 'entry', 'entries')} had their bodies erased, as recorded.`);
    if (totals.unknownEvents > 0)
      await out.print(`${count(totals.unknownEvents, 'event')} of a newer version could not be checked.`);
  }
  return code;
}

const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;

async function writeAnchor(
  path: string,
  { problems, heads, at }: Verdict,
  key: KeyObject | undefined,
  { err }: Context,
): Promise<void> {
  if (problems > 0) return err.say('No anchor was written, because the ledger is not intact.');
  const anchor = createAnchor(heads, at);
  writeFileSync(path, anchorToText(key === undefined ? anchor : signAnchor(anchor, key)));
  await err.say(
    `Wrote the anchor to ${path}. Keep it where people with write access to the ledger cannot change it. ${anchor.digest}`,
  );
}
