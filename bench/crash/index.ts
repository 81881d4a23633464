/**
 * Kills real processes at every named point of a call's life, starts another on the same ledger, and counts the
 * effects outside. Quittance must show no duplicate effect and no lost call, at any point, with any kind of tool. The
 * naive wrapper must show duplicates, or the run proves nothing.
 *
 *   npm run crash -- [--rounds 3] [--part core|held|quorum|retried|notifications|stored|server] [--ledger sqlite|postgres]
 *
 * With `--ledger postgres` the calls are on a real server. The points inside the transactions of SQLite (`stored`) give
 * way to `server`: there the processes live, and the server or the network fails.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import type { HoldTally } from './hold-rounds.ts';
import { emptyHoldTally, playHoldRound } from './hold-rounds.ts';
import type { NotificationTally } from './notification-rounds.ts';
import { emptyNotificationTally, playNotificationRound } from './notification-rounds.ts';
import type {
  CrashPoint,
  Errand,
  HoldPoint,
  NotificationPoint,
  QuorumPoint,
  RetryPoint,
  ServerPoint,
  StorePoint,
  ToolKind,
} from './points.ts';
import {
  holdPointNames,
  notificationPointNames,
  pointNames,
  quorumPointNames,
  retryPointNames,
  serverPointNames,
  storePointNames,
  toolKinds,
} from './points.ts';
import type { QuorumTally } from './quorum-rounds.ts';
import { emptyQuorumTally, playQuorumRound } from './quorum-rounds.ts';
import type { RetryTally } from './retry-rounds.ts';
import { emptyRetryTally, playRetryRound } from './retry-rounds.ts';
import type { StoreTally } from './store-rounds.ts';
import { emptyStoreTally, playStoreRound } from './store-rounds.ts';
import type { ServerTally } from './server-rounds.ts';
import { emptyServerTally, playServerRound } from './server-rounds.ts';
import type { Ledgers } from './ledgers.ts';
import { fileLedgers, openPostgresLedgers } from './ledgers.ts';
import type { World } from './world.ts';
import { openWorld } from './world.ts';

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`--${name} takes a whole number above 0, e.g. --${name} ${otherwise}.\n`);
  process.exit(2);
};
const rounds = option('rounds', 3);
const inFlight = [1, 32] as const;
const parts = ['core', 'held', 'quorum', 'retried', 'notifications', 'stored', 'server'] as const;
const only = process.argv.includes('--part') ? process.argv[process.argv.indexOf('--part') + 1] : undefined;
if (only !== undefined && !parts.some((part) => part === only)) {
  process.stderr.write(`--part takes one of ${parts.join(', ')}.\n`);
  process.exit(2);
}
const at = process.argv.indexOf('--ledger');
const kind = at < 0 ? 'sqlite' : process.argv[at + 1];
if (kind !== 'sqlite' && kind !== 'postgres') {
  process.stderr.write('--ledger takes sqlite or postgres.\n');
  process.exit(2);
}
const plays = (part: (typeof parts)[number]): boolean =>
  part !== (kind === 'postgres' ? 'stored' : 'server') && (only === undefined || only === part);

type Tally = {
  rounds: number;
  calls: number;
  once: number;
  duplicated: number;
  lost: number;
  indeterminate: number;
  cancelled: number;
};
type Answers = Readonly<Record<string, { readonly type: string; readonly code?: string }>>;

const emptyTally = (): Tally => ({
  rounds: 0,
  calls: 0,
  once: 0,
  duplicated: 0,
  lost: 0,
  indeterminate: 0,
  cancelled: 0,
});

/** Runs a process until it exits or is killed. */
function runChild(errand: Errand): Promise<Answers | undefined> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(errand)], {
      execArgv: ['--conditions=quittance-source'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    let answers: Answers | undefined;
    child.on('message', (message: unknown) => {
      // Within the next two milliseconds: before, in and after the flush.
      if (message === 'committing') setTimeout(() => child.kill('SIGKILL'), Math.random() * 2);
      else answers = (message as { outcomes: Answers }).outcomes;
    });
    child.on('exit', (code, signal) => {
      if (signal === 'SIGKILL') resolve(errand.point === undefined ? undefined : answers);
      else if (code === 0) resolve(answers);
      else reject(new Error(`The child ended with code ${code}: ${JSON.stringify(errand)}`));
    });
  });
}

async function playRound(
  world: World,
  ledgers: Ledgers,
  errand: Omit<Errand, 'ledger' | 'service' | 'nth' | 'sessionId'>,
  into: Tally,
  serial: number,
): Promise<void> {
  const sessionId = `s${serial}`;
  const common = {
    ...errand,
    service: world.url,
    sessionId,
    ledger: errand.naive ? join(folder, `naive-${serial}.txt`) : ledgers.create(`ledger-${serial}`),
    nth: Math.floor(Math.random() * errand.calls),
  };
  const heard = await runChild(common);
  const answers = await runChild({ ...common, point: undefined });
  into.rounds++;
  for (let index = 0; index < errand.calls; index++) {
    const callId = `c${index}`;
    count(into, world.count(`${sessionId}/${callId}`), answers?.[callId] ?? heard?.[callId], errand.tool);
  }
}

function count(into: Tally, effects: number, answer: Answers[string] | undefined, tool: ToolKind): void {
  into.calls++;
  const succeeded = answer?.type === 'ToolExecutionResult';
  if (effects > 1) into.duplicated++;
  else if (answer === undefined || (succeeded && effects === 0 && tool !== 'read')) into.lost++;
  else if (succeeded) into.once++;
  else if (answer.code === 'tool.indeterminate') into.indeterminate++;
  else if (effects === 0 && (answer.code === 'tool.cancelled' || answer.code === 'tool.execution_error'))
    into.cancelled++;
  else into.lost++;
}

const world = await openWorld();
const folder = mkdtempSync(join(tmpdir(), 'quittance-crash-'));
process.chdir(folder); // spills and the seal key of the processes go there
const ledgers = kind === 'postgres' ? await openPostgresLedgers() : fileLedgers(folder);
let stopped = false;
process.once('SIGINT', () => (stopped = true));

const combinations = (plays('core') ? pointNames : []).flatMap((point) =>
  inFlight.flatMap((calls) => [
    ...toolKinds.map((tool) => ({ point, calls, tool, naive: false })),
    { point, calls, tool: 'non-idempotent' as const, naive: true },
  ]),
);
const ours = new Map<CrashPoint, Tally>(pointNames.map((point) => [point, emptyTally()]));
const control = new Map<CrashPoint, Tally>(pointNames.map((point) => [point, emptyTally()]));
const byTool = new Map<ToolKind, Tally>(toolKinds.map((tool) => [tool, emptyTally()]));
const holdCombinations = (plays('held') ? holdPointNames : []).map((point) => ({ point, calls: 12 }));
const quorumCombinations = (plays('quorum') ? quorumPointNames : []).map((point) => ({ point, calls: 12 }));
const retryCombinations = (plays('retried') ? retryPointNames : []).map((point) => ({ point, calls: 12 }));
const notificationCombinations = (plays('notifications') ? notificationPointNames : []).map((point) => ({
  point,
  calls: 4,
}));
const storeCombinations = (plays('stored') ? storePointNames : []).map((point) => ({ point, calls: 6 }));
const serverCombinations = plays('server') ? serverPointNames : [];
const people = new Map<HoldPoint, HoldTally>(holdPointNames.map((point) => [point, emptyHoldTally()]));
const voted = new Map<QuorumPoint, QuorumTally>(quorumPointNames.map((point) => [point, emptyQuorumTally()]));
const tried = new Map<RetryPoint, RetryTally>(retryPointNames.map((point) => [point, emptyRetryTally()]));
const notified = new Map<NotificationPoint, NotificationTally>(
  notificationPointNames.map((point) => [point, emptyNotificationTally()]),
);
const stored = new Map<StorePoint, StoreTally>(storePointNames.map((point) => [point, emptyStoreTally()]));
const served = new Map<ServerPoint, ServerTally>(
  serverPointNames.map((point) => [point, emptyServerTally()]),
);
const progress = createProgress(
  'crash matrix',
  (combinations.length +
    holdCombinations.length +
    quorumCombinations.length +
    retryCombinations.length +
    notificationCombinations.length +
    storeCombinations.length +
    serverCombinations.length) *
    rounds,
);
let serial = 0;
try {
  for (let round = 0; round < rounds && !stopped; round++)
    for (const errand of combinations) {
      if (stopped) break;
      const before = emptyTally();
      await playRound(world, ledgers, errand, before, serial++);
      for (const tally of errand.naive
        ? [control.get(errand.point)]
        : [ours.get(errand.point), byTool.get(errand.tool)])
        for (const [key, value] of Object.entries(before))
          if (tally !== undefined) tally[key as keyof Tally] += value;
      progress.step();
    }
  for (let round = 0; round < rounds && !stopped; round++)
    for (const { point, calls } of holdCombinations) {
      if (stopped) break;
      const tally = people.get(point);
      if (tally !== undefined) await playHoldRound(world, ledgers, { point, calls, serial: serial++ }, tally);
      progress.step();
    }
  for (let round = 0; round < rounds && !stopped; round++)
    for (const { point, calls } of quorumCombinations) {
      if (stopped) break;
      const tally = voted.get(point);
      if (tally !== undefined)
        await playQuorumRound(world, ledgers, { point, calls, serial: serial++ }, tally);
      progress.step();
    }
  for (let round = 0; round < rounds && !stopped; round++)
    for (const { point, calls } of retryCombinations) {
      if (stopped) break;
      const tally = tried.get(point);
      if (tally !== undefined)
        await playRetryRound(world, ledgers, { point, calls, serial: serial++ }, tally);
      progress.step();
    }
  for (let round = 0; round < rounds && !stopped; round++)
    for (const { point, calls } of notificationCombinations) {
      if (stopped) break;
      const tally = notified.get(point);
      if (tally !== undefined)
        await playNotificationRound(ledgers, { point, calls, serial: serial++ }, tally);
      progress.step();
    }
  for (let round = 0; round < rounds && !stopped; round++)
    for (const { point, calls } of storeCombinations) {
      if (stopped) break;
      const tally = stored.get(point);
      if (tally !== undefined) await playStoreRound(world, folder, { point, calls, serial: serial++ }, tally);
      progress.step();
    }
  for (let round = 0; round < rounds && !stopped; round++)
    for (const point of serverCombinations) {
      if (stopped) break;
      const tally = served.get(point);
      if (tally !== undefined && ledgers.server !== undefined)
        await playServerRound(world, ledgers.server, { point, calls: 300, serial: serial++ }, tally);
      progress.step();
    }
} finally {
  progress.done();
  world.close();
  await ledgers.close();
  rmSync(folder, { recursive: true, force: true });
}

const columns = ['rounds', 'calls', 'once', 'duplicated', 'lost', 'indeterminate', 'cancelled'] as const;
const rowsOf = (tallies: ReadonlyMap<string, Tally>): string[][] =>
  [...tallies].map(([name, tally]) => [name, ...columns.map((column) => String(tally[column]))]);
const heading = ['rounds', 'calls', 'exactly once', 'duplicated', 'lost', 'indeterminate', 'did not run'];
if (plays('core')) {
  printTable(['quittance, killed', ...heading], rowsOf(ours));
  printTable(['by kind of tool', ...heading], rowsOf(byTool));
  printTable(['naive wrapper, killed', ...heading], rowsOf(control));
}

const holdHeading = [
  'rounds',
  'calls',
  'ran once',
  'denied',
  'duplicated',
  'unapproved',
  'asked twice',
  'decided twice',
  'lost',
  'indeterminate',
  'did not run',
];
if (plays('held'))
  printTable(
    ['held for approval, killed', ...holdHeading],
    [...people].map(([point, tally]) => [point, ...Object.values(tally).map(String)]),
  );

if (plays('quorum'))
  printTable(
    [
      'two people needed, killed',
      'rounds',
      'calls',
      'ran once',
      'denied',
      'duplicated',
      'without quorum',
      'counted twice',
      'decided twice',
      'asked twice',
      'lost',
      'indeterminate',
    ],
    [...voted].map(([point, tally]) => [point, ...Object.values(tally).map(String)]),
  );

if (plays('retried'))
  printTable(
    [
      'retried and followed, killed',
      'rounds',
      'calls',
      'ran once',
      'duplicated',
      'lost',
      'indeterminate',
      'emitted twice',
      'not followed',
    ],
    [...tried].map(([point, tally]) => [point, ...Object.values(tally).map(String)]),
  );

if (plays('notifications'))
  printTable(
    [
      'notifications, killed',
      'rounds',
      'messages',
      'arrived once',
      'repeated and said so',
      'repeated silently',
      'recorded twice',
      'lost',
      'slowest successor, s',
    ],
    [...notified].map(([point, tally]) => [point, ...Object.values(tally).map(String)]),
  );

if (plays('stored'))
  printTable(
    ['stored, checked or recovered, killed', ...heading],
    [...stored].map(([point, tally]) => [point, ...Object.values(tally).map(String)]),
  );

if (plays('server'))
  printTable(
    [
      'server or network failed',
      'rounds',
      'calls',
      'exactly once',
      'refused, then once',
      'duplicated',
      'lost',
      'indeterminate',
      'did not run',
      'findings of verify',
    ],
    [...served].map(([point, tally]) => [point, ...Object.values(tally).map(String)]),
  );

const sumServed = (column: keyof ServerTally): number =>
  [...served.values()].reduce((total, tally) => total + tally[column], 0);
const sumStored = (column: keyof StoreTally): number =>
  [...stored.values()].reduce((total, tally) => total + tally[column], 0);
const sumTried = (column: keyof RetryTally): number =>
  [...tried.values()].reduce((total, tally) => total + tally[column], 0);
const sumVoted = (column: keyof QuorumTally): number =>
  [...voted.values()].reduce((total, tally) => total + tally[column], 0);
const sumHeld = (column: keyof HoldTally): number =>
  [...people.values()].reduce((total, tally) => total + tally[column], 0);
const sumNotified = (column: keyof NotificationTally): number =>
  [...notified.values()].reduce((total, tally) => total + tally[column], 0);
const sum = (tallies: ReadonlyMap<string, Tally>, column: (typeof columns)[number]): number =>
  [...tallies.values()].reduce((total, tally) => total + tally[column], 0);
const figures = {
  crash: 'core',
  ledger: kind,
  rounds,
  calls: sum(ours, 'calls'),
  duplicated: sum(ours, 'duplicated'),
  lost: sum(ours, 'lost'),
  indeterminate: sum(ours, 'indeterminate'),
  control_duplicated_after_effect: control.get('after the effect')?.duplicated ?? 0,
  held: {
    calls: sumHeld('calls'),
    duplicated: sumHeld('duplicated'),
    unapproved: sumHeld('unapproved'),
    asked_twice: sumHeld('askedTwice'),
    decided_twice: sumHeld('decidedTwice'),
    lost: sumHeld('lost'),
    indeterminate: sumHeld('indeterminate'),
  },
  quorum: {
    calls: sumVoted('calls'),
    duplicated: sumVoted('duplicated'),
    without_quorum: sumVoted('withoutQuorum'),
    counted_twice: sumVoted('countedTwice'),
    decided_twice: sumVoted('decidedTwice'),
    asked_twice: sumVoted('askedTwice'),
    lost: sumVoted('lost'),
    indeterminate: sumVoted('indeterminate'),
  },
  retried: {
    calls: sumTried('calls'),
    duplicated: sumTried('duplicated'),
    lost: sumTried('lost'),
    indeterminate: sumTried('indeterminate'),
    emitted_twice: sumTried('emittedTwice'),
    unfollowed: sumTried('unfollowed'),
  },
  notifications: {
    messages: sumNotified('messages'),
    arrived_once: sumNotified('once'),
    repeated_and_said_so: sumNotified('again'),
    repeated_silently: sumNotified('silently'),
    recorded_twice: sumNotified('recordedTwice'),
    lost: sumNotified('lost'),
  },
  stored: {
    calls: sumStored('calls'),
    duplicated: sumStored('duplicated'),
    lost: sumStored('lost'),
    indeterminate: sumStored('indeterminate'),
  },
  server: {
    calls: sumServed('calls'),
    duplicated: sumServed('duplicated'),
    lost: sumServed('lost'),
    indeterminate: sumServed('indeterminate'),
    findings: sumServed('findings'),
  },
};
const { held, quorum, retried, notifications } = figures;
const notifiedWrong = notifications.repeated_silently + notifications.recorded_twice + notifications.lost;
const quorumWrong =
  quorum.duplicated +
  quorum.without_quorum +
  quorum.counted_twice +
  quorum.decided_twice +
  quorum.asked_twice +
  quorum.lost;
const storedWrong =
  figures.stored.duplicated +
  figures.stored.lost +
  figures.server.duplicated +
  figures.server.lost +
  figures.server.findings;
const retriedWrong = retried.duplicated + retried.lost + retried.emitted_twice + retried.unfollowed;
const heldWrong = held.duplicated + held.unapproved + held.asked_twice + held.decided_twice + held.lost;
process.stdout.write(`${JSON.stringify(figures)}\n`);
if (stopped) process.exitCode = 130;
else if (
  figures.duplicated + figures.lost + heldWrong + quorumWrong + retriedWrong + notifiedWrong + storedWrong >
  0
)
  process.exitCode = 1;
else if (plays('core') && figures.control_duplicated_after_effect === 0) {
  process.stderr.write('The naive wrapper shows no duplicates after the effect: this run proves nothing.\n');
  process.exitCode = 1;
}
