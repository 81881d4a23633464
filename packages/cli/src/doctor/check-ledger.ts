import { readFileSync } from 'node:fs';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { openSealedInputs } from 'quittance/internal/replay/open-sealed-inputs';
import { readOpenCalls } from 'quittance/internal/runtime/claim-handoff';
import { parseAnchor } from 'quittance/internal/ledger/anchor';
import { age } from '../time-text.ts';
import type { Finding } from './finding.ts';
import { countOf, fine, problem, warning } from './finding.ts';
import { findCalls, statusOfOwner, findConfirmations } from 'quittance/internal/ledger/reads';

const minute = 60_000;
const day = 1_440 * minute;
const oldAnchorMs = 7 * day;
const oldHoldMs = day;

/** What the ledger says: its clock, key, owners, and calls that wait for people. */
export async function* checkLedger(ledger: OpenLedger, now: number): AsyncGenerator<Finding> {
  yield* checkClock(ledger, now);
  yield* checkSeals(ledger);
  yield* checkOwners(ledger);
  yield* checkBacklog(ledger, now);
}

async function* checkClock(ledger: OpenLedger, now: number): AsyncGenerator<Finding> {
  const { rows } = await findCalls(ledger, { limit: 1 });
  const last = rows[0]?.requestedAt;
  const skew = now - ledger.now();
  if (Math.abs(skew) > minute)
    yield problem(
      'clock',
      `The clock of this machine differs from that of the ledger by ${Math.round(Math.abs(skew) / 1_000)} seconds.`,
      'Synchronize the clocks: timedatectl set-ntp true',
    );
  else if (Math.abs(skew) > 2_000)
    yield warning(
      'clock',
      `The clock of this machine differs from that of the ledger by ${Math.abs(skew)} ms.`,
      'Synchronize the clocks: timedatectl set-ntp true',
    );
  if (last !== undefined && last > ledger.now() + minute)
    yield problem(
      'clock',
      `The newest call is from the future (${new Date(last).toISOString()}): the clock was set back. Holds and grants expire too late.`,
      'Set the clock right, and let it be slewed instead of stepped: timedatectl set-ntp true',
    );
  else if (Math.abs(skew) <= 2_000) yield fine('clock', 'agrees with the ledger');
}

/** Does the key open the sealed inputs? A missing key was reported with the files. */
async function* checkSeals(ledger: OpenLedger): AsyncGenerator<Finding> {
  const found = await openSealedInputs(ledger);
  if (found === undefined) return;
  const { opened, broken } = found;
  if (broken > 0)
    yield problem(
      'seal key',
      `The seal key does not open ${countOf(broken, 'sealed input')}: it is another key, or they were changed.`,
      'Restore the key from your secrets. If it is lost: stop all processes, then run quittance rotate-key --lost',
    );
  else yield fine('sealed inputs', `${opened} opened`);
}

async function* checkOwners(ledger: OpenLedger): AsyncGenerator<Finding> {
  const owners = new Map<string, number>();
  for await (const { ownerId } of readOpenCalls(ledger)) owners.set(ownerId, (owners.get(ownerId) ?? 0) + 1);
  let [alive, gone, unknown] = [0, 0, 0];
  for (const [ownerId, calls] of owners)
    switch (await statusOfOwner(ledger, ownerId)) {
      case 'alive':
        alive += calls;
        break;
      case 'gone':
        gone += calls;
        break;
      case 'unknown':
        unknown += calls;
        break;
    }
  if (unknown > 0)
    yield problem(
      'owners',
      `It cannot be proven whether the processes of ${unknown} open calls live: their lock files cannot be read.`,
      'Run as the user of the service, and check the rights of the folder .owners next to the ledger.',
    );
  if (gone > 0)
    yield warning(
      'owners',
      `${countOf(gone, 'open call')} without a living process: no outcome is on record yet.`,
      'Start a process with the same tools: it recovers them with its first turn.',
    );
  if (gone + unknown === 0) yield fine('owners', `${alive} open calls, all of living processes`);
}

async function* checkBacklog(ledger: OpenLedger, now: number): AsyncGenerator<Finding> {
  const held = await findConfirmations(ledger, { status: 'pending', limit: 1_000 });
  const oldest = held.rows.at(-1)?.askedAt;
  const count = `${held.rows.length}${held.next === undefined ? '' : ' or more'}`;
  if (oldest !== undefined && now - oldest > oldHoldMs)
    yield warning(
      'held',
      `${count} calls await approval, the oldest for ${age(oldest, now)}.`,
      'Decide them: quittance pending. Set an expiry in the rules, so that questions end.',
    );
  else yield fine('held', `${count} calls await approval`);
  const unresolved = await findCalls(ledger, { unresolved: true, limit: 1_000 });
  if (unresolved.rows.length > 0)
    yield warning(
      'unresolved',
      `${countOf(unresolved.rows.length, 'unresolved call')}${unresolved.next === undefined ? '' : ' or more'}: it is not known whether they took effect.`,
      'Find out what happened, and record it: quittance reconcile',
    );
  else yield fine('unresolved', 'none');
}

/** Without an anchor elsewhere, a person who can write the ledger can rewrite all of it. */
export function* checkAnchor(path: string | undefined, now: number): Generator<Finding> {
  if (path === undefined) return;
  try {
    const { at } = parseAnchor(readFileSync(path, 'utf8'));
    if (now - at > oldAnchorMs)
      yield warning(
        'anchor',
        `The anchor is ${age(at, now)} old: changes since then are not covered.`,
        `Write one every day, from a job: quittance verify --write-anchor ${path}`,
      );
    else yield fine('anchor', `${age(at, now)} old`);
  } catch (error) {
    yield problem(
      'anchor',
      `${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      `Write a new one: quittance verify --write-anchor ${path}`,
    );
  }
}
