/** Shared by tests about people: finding a question, and ways to answer it. */
import type { QuittanceError, Runtime } from 'quittance';
import type { ConfirmationView, PersonDecision } from 'quittance/runtime';
import { isQuittanceError } from 'quittance';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import { quiet } from '../stage.ts';

type Asks = Pick<Runtime, 'confirmations'>;

/** The open questions, oldest first, after all promises have settled. */
export async function openQuestions(runtime: Asks): Promise<ConfirmationView[]> {
  for (let round = 0; round < 5; round++) await quiet();
  const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 100 });
  return rows.toReversed();
}

/** The one open question, or the one about a call. */
export async function question(runtime: Asks, callId?: string): Promise<ConfirmationView> {
  const about = async (): Promise<ConfirmationView[]> => {
    const open = await openQuestions(runtime);
    return callId === undefined ? open : open.filter((view) => view.callId === callId);
  };
  // A ledger on disk needs some time.
  const found = await eventually(async () => {
    const open = await about();
    expect(open).not.toHaveLength(0);
    return open;
  });
  expect(found).toHaveLength(1);
  return found[0] as ConfirmationView; // there is exactly one
}

/** An approval of exactly what the question shows. */
export const yes = (view: ConfirmationView, by = 'ada'): PersonDecision => ({
  decision: 'approve',
  by,
  inputDigest: view.inputDigest,
  ...(view.preview !== undefined && { revision: view.preview.revision }),
});

export const no = (by = 'ada', reason?: string): PersonDecision => ({
  decision: 'deny',
  by,
  ...(reason !== undefined && { reason }),
});

/** The error that a request was refused with. */
export async function refusal(asked: Promise<unknown>): Promise<QuittanceError> {
  const error: unknown = await asked.then(
    (value) => new Error(`It was not refused: ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!isQuittanceError(error)) throw error;
  return error;
}
