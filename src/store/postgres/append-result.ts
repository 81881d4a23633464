/** The answer of the append function to one item. */
import { QuittanceError } from '../../base/error.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import { fromPgText } from './pg-text.ts';

/** `unsettled`: a guess was wrong, see `effect-guesses.ts`. */
export type Appended = {
  readonly result: AppendResult | { readonly status: 'unsettled' };
  readonly position: number;
};

/** JSON: a number if all items were appended, namely the position of the first. Otherwise a `ResultRow` for each item. */
export type AnswerRow = { readonly answer: string };

type ResultRow = {
  readonly ord: number;
  readonly status: AppendResult['status'] | 'unsettled';
  readonly version: number;
  readonly detail: string | null;
  readonly at: number;
};

/** The position of the first item if all were appended, or the result of each. */
export function readAnswers(answers: readonly AnswerRow[]): number | readonly ResultRow[] {
  // Written by the append function.
  const read = answers.map(({ answer }) => JSON.parse(answer) as ResultRow | number);
  const [first] = read;
  return typeof first === 'number' ? first : (read as ResultRow[]);
}

export function toAppendResult({ status, version, detail }: ResultRow): Appended['result'] {
  switch (status) {
    case 'unsettled':
      return { status };
    case 'appended':
    case 'conflict':
      return { status, version };
    case 'moved':
      return { status, subject: fromPgText(detail ?? ''), version };
    case 'claimed': {
      const holder = parseDetail<{
        session: string;
        call: string;
        digest: string | null;
        entry: string | null;
      }>(detail);
      return {
        status,
        holder: {
          sessionId: fromPgText(holder.session),
          callId: fromPgText(holder.call),
          inputDigest: claimedDigest(holder),
        },
      };
    }
    case 'displaced': {
      const { holder, position } = parseDetail<{ holder: string | null; position: number }>(detail);
      return { status, holder: holder === null ? undefined : fromPgText(holder), position };
    }
    case 'exhausted': {
      const { counter, used } = parseDetail<{ counter: string; used: number }>(detail);
      return { status, counter: fromPgText(counter), used };
    }
    default:
      throw new QuittanceError('ledger.damaged', `The append function answered ${String(status)}.`);
  }
}

/** According to the entry of the claim, or else to its row: see `mark-functions.ts`. */
export function claimedDigest({ entry, digest }: { entry: string | null; digest: string | null }): string {
  if (entry === null) return fromPgText(digest ?? '');
  return readEntry({ text: entry, bodies: undefined }).claim?.inputDigest ?? '';
}

/** The function wrote it with these members. */
const parseDetail = <Detail>(detail: string | null): Detail => JSON.parse(detail ?? '{}') as Detail;
