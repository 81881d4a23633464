import { existsSync } from 'node:fs';
import { isQuittanceError } from 'quittance/internal/base/error';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import { openWithKey } from 'quittance/internal/store/open-ledger';
import { findGivenSealKey, findSealKey } from 'quittance/internal/store/seal-key';
import { isDamaged } from 'quittance/internal/store/sqlite/database';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { defaultLedger } from '../find-ledger.ts';
import { checkExecutor, checkSettings } from '../doctor/check-settings.ts';
import { checkFiles } from '../doctor/check-files.ts';
import { checkAnchor, checkLedger } from '../doctor/check-ledger.ts';
import { checkVersions } from '../doctor/check-versions.ts';
import type { Finding } from '../doctor/finding.ts';
import { countOf, problem } from '../doctor/finding.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { wrap } from '../text-width.ts';

export const doctorCommand: CliCommand = {
  name: 'doctor',
  summary: 'Check the set-up, and say what to do about each problem',
  about: [
    'Checks versions, the sandboxed executor, settings, permissions, disk, log, seal key, clock and owners. Checks held and unresolved calls, the identity provider, and the settings of PostgreSQL. Changes nothing. Run it as the user of the service, with the same environment.',
    'Exit code 1: a problem was found; with --strict, also for a warning.',
  ],
  options: {
    config: {
      value: 'FILE',
      help: 'Configuration of quittance serve; default: QUITTANCE_CONFIG',
      file: true,
    },
    anchor: { value: 'FILE', help: 'An anchor whose age is checked', file: true },
    strict: { help: 'Fail for warnings too' },
    all: { help: 'Also list what is fine' },
    json: { help: 'JSON instead of text: one line per finding, then one with the totals' },
  },
  examples: [
    ['quittance doctor', 'the default ledger'],
    ['quittance doctor --config /etc/quittance/quittance.yaml', 'the set-up of a service'],
  ],
  effect: reads,
  async run(given, context) {
    const counts = { ok: 0, note: 0, warning: 0, problem: 0 };
    for await (const finding of findAll(given, context)) {
      counts[finding.level]++;
      if (given.has('json')) await context.out.print(safeJson({ type: 'finding', ...finding }));
      else if (finding.level !== 'ok' || given.has('all')) await print(finding, context);
    }
    const { out, err } = context;
    if (given.has('json'))
      await out.print(safeJson({ type: 'totals', ...counts, healthy: counts.problem === 0 }));
    else if (counts.problem + counts.warning === 0)
      await out.say(`${out.paint(['bold', 'green'], 'Everything is fine.')} ${counts.ok} checks.`);
    else
      await err.say(
        `${countOf(counts.problem, 'problem')}, ${countOf(counts.warning, 'warning')}, ${countOf(counts.ok, 'check')} passed.`,
      );
    return counts.problem > 0 || (given.has('strict') && counts.warning > 0) ? exitCodes.bad : exitCodes.good;
  },
};

async function* findAll(typed: Given, context: Context): AsyncGenerator<Finding> {
  const { env, now, version } = context;
  const { findings, given } = await checkSettings(typed, context);
  // The settings name the ledger, so it is unknown while they cannot be read.
  if (given === undefined && !typed.has('ledger')) {
    yield* findings;
    return;
  }
  const url = (given ?? typed).text('ledger') ?? (env['QUITTANCE_LEDGER'] || defaultLedger);
  let address: ReturnType<typeof parseLedgerUrl>;
  try {
    address = parseLedgerUrl(url);
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    yield* findings;
    yield problem('ledger', error.message, 'quittance doctor --ledger path/to/ledger.db');
    return;
  }
  if (address.kind === 'memory') {
    yield problem('ledger', 'A ledger in memory ends with its process.', 'Use a file: --ledger ledger.db');
    return;
  }
  yield* checkVersions(version, address.kind);
  yield* checkExecutor();
  yield* findings;
  const sealKeyFile = (given ?? typed).text('seal-key-file');
  if (address.kind === 'sqlite') {
    yield* checkFiles(address.path, keyFileOf(address.path, sealKeyFile, env));
    if (!existsSync(address.path)) return;
  }
  if (address.kind === 'postgres') {
    const { checkPostgres } = await import('../doctor/check-postgres.ts');
    yield* checkPostgres(address.url, readKey(env, sealKeyFile), env);
  }
  // Without the setting, a key next to the ledger wins over a variable.
  const hasOwnKey =
    address.kind === 'sqlite' && sealKeyFile === undefined && existsSync(`${address.path}.key`);
  yield* checkOpened(url, hasOwnKey ? {} : givenKey(env, sealKeyFile), now());
  yield* checkAnchor(typed.text('anchor'), now());
}

/** The key that `quittance serve` would use: that of the setting, the one next to the ledger, that of a variable. */
function keyFileOf(path: string, setting: string | undefined, env: Context['env']): string {
  const next = `${path}.key`;
  if (setting !== undefined) return setting;
  const isGiven = (env['QUITTANCE_SEAL_KEY'] || env['QUITTANCE_SEAL_KEY_COMMAND'] || '') !== '';
  return isGiven && !existsSync(next) ? 'elsewhere' : next;
}

/** The key of the setting or of a variable. One that cannot be read was reported before. */
function givenKey(env: Context['env'], sealKeyFile: string | undefined): { readonly sealKey?: Uint8Array } {
  try {
    const found = findGivenSealKey(env, { sealKeyFile });
    return found === undefined ? {} : { sealKey: found.sealKey };
  } catch (error) {
    if (!isQuittanceError(error, 'config.invalid')) throw error;
    return {};
  }
}

/** A key that cannot be read was reported with the settings. */
function readKey(env: Context['env'], sealKeyFile: string | undefined): Uint8Array | undefined {
  try {
    return findSealKey(env, { sealKeyFile })?.sealKey;
  } catch {
    return undefined;
  }
}

async function* checkOpened(
  url: string,
  key: { readonly sealKey?: Uint8Array },
  now: number,
): AsyncGenerator<Finding> {
  let ledger: Awaited<ReturnType<typeof openWithKey>>;
  try {
    ledger = await openWithKey(url, { readOnly: true, migrate: false, ...key }, 'look');
  } catch (error) {
    if (!isQuittanceError(error) && !isDamaged(error)) throw error;
    // What keeps PostgreSQL from being opened was reported before.
    if (parseLedgerUrl(url).kind === 'sqlite')
      yield problem('ledger', messageOf(error), remedyOf(error, 'Name the file of a ledger with --ledger.'));
    return;
  }
  try {
    yield* checkLedger(ledger, now);
  } catch (error) {
    if (!isQuittanceError(error) && !isDamaged(error)) throw error;
    yield problem(
      'ledger',
      messageOf(error),
      remedyOf(error, 'Run quittance verify to see what is wrong with it.'),
    );
  } finally {
    await ledger.close();
  }
}

const messageOf = (error: unknown): string =>
  isDamaged(error) && error instanceof Error
    ? `The file of the ledger is damaged: ${error.message}.`
    : error instanceof Error
      ? error.message
      : String(error);

function remedyOf(error: unknown, otherwise: string): string {
  if (isQuittanceError(error, 'ledger.newer'))
    return 'Update the package: npm install quittance@latest @quittance/cli@latest';
  if (isDamaged(error) || isQuittanceError(error, 'ledger.damaged'))
    return 'Stop all processes of the ledger, keep a copy of its files, and restore a backup that verifies: quittance restore';
  return otherwise;
}

const styles = { ok: 'green', note: 'cyan', warning: 'yellow', problem: 'red' } as const;

async function print(finding: Finding, { out }: Context): Promise<void> {
  const style = styles[finding.level];
  await out.print(`${out.paint(['bold', style], finding.level)}  ${finding.check}`);
  for (const line of wrap(terminalText(finding.message), out.textWidth - 2)) await out.print(`  ${line}`);
  if (finding.level !== 'ok')
    for (const line of wrap(`→ ${terminalText(finding.remedy)}`, out.textWidth - 2))
      await out.print(`  ${line}`);
}
