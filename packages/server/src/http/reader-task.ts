/** Reads the ledger for requests with its own handle, so that the server stays responsive. Several readings take turns. */
import { systemClock } from 'quittance/internal/base/deadlines';
import { openLedger } from 'quittance/internal/store/open-ledger';
import type { Answered } from './answered.ts';
import { AnswerTooLarge, answerJson, answerProblem } from './answered.ts';
import type { ReadLimits } from './bounded-reads.ts';
import { BoundedReads } from './bounded-reads.ts';
import type { BeginTask } from 'quittance/internal/threads/work-thread';
import { HttpRefusal, toProblem } from './problem.ts';
import type { InputOf, ReadingName, Readings } from './readings.ts';
import { readings } from './readings.ts';

export type ReaderData = {
  readonly ledgerUrl: string;
  readonly limits: ReadLimits;
  readonly answerBytes: number;
};
export type ReaderOrder = {
  readonly name: ReadingName;
  readonly input: InputOf<ReadingName>;
  /** By the clock of the server's ledger. */
  readonly now: number;
};
export type ReaderAnswer = {
  readonly answered: Answered;
  /** The error of the server itself, for its log. */
  readonly failure: string | undefined;
};

/** The answer of a reading, or its refusal. */
export async function answerReading(
  reads: BoundedReads,
  { name, input }: Pick<ReaderOrder, 'name' | 'input'>,
  answerBytes: number,
): Promise<ReaderAnswer> {
  try {
    // Name and input match: the compiler checked the sender.
    const reading = readings[name] as Readings[ReadingName] as (
      reads: BoundedReads,
      input: unknown,
    ) => Promise<unknown>;
    return { answered: answerJson(await reading(reads, input), answerBytes), failure: undefined };
  } catch (error) {
    const answer = error instanceof AnswerTooLarge ? tooLarge(error) : error;
    const isInternal = toProblem(answer).status === 500;
    return {
      answered: answerProblem(answer, answer instanceof HttpRefusal ? answer.headers : {}),
      failure: isInternal
        ? error instanceof Error
          ? (error.stack ?? error.message)
          : String(error)
        : undefined,
    };
  }
}

const tooLarge = ({ bytes, most }: AnswerTooLarge): HttpRefusal =>
  new HttpRefusal(
    'http.too_large',
    `The answer would have ${bytes} bytes, and may have ${most}. Ask for fewer rows with \`limit\`, or for less.`,
  );

export const begin: BeginTask<ReaderData, ReaderOrder, ReaderAnswer> = async (data) => {
  const { ledgerUrl, limits, answerBytes } = data;
  let now = 0;
  const ledger = await openLedger(ledgerUrl, { readOnly: true, clock: { ...systemClock, now: () => now } });
  return {
    work(order) {
      now = Math.max(now, order.now);
      return answerReading(new BoundedReads(ledger, limits), order, answerBytes);
    },
    end: () => ledger.close(),
  };
};
