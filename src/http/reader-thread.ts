/**
 * Reads the ledger for requests with its own handle, so that the server stays responsive. Several readings
 * take turns. The thread ends itself on request: a thread with an open database must not be terminated.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { openLedger } from '../store/open-ledger.ts';
import type { Answered } from './answered.ts';
import { AnswerTooLarge, answerJson, answerProblem } from './answered.ts';
import type { ReadLimits } from './bounded-reads.ts';
import { BoundedReads } from './bounded-reads.ts';
import { behindServer, lowerPriority } from '../runtime/host/lower-priority.ts';
import { HttpRefusal, toProblem } from './problem.ts';
import type { InputOf, ReadingName, Readings } from './readings.ts';
import { readings } from './readings.ts';

export type ReaderThreadData = {
  readonly ledgerUrl: string;
  readonly limits: ReadLimits;
  readonly answerBytes: number;
};
export type ReaderThreadOrder = {
  readonly id: number;
  readonly name: ReadingName;
  readonly input: InputOf<ReadingName>;
  /** By the clock of the server's ledger. */
  readonly now: number;
};
export type ReaderThreadAnswer = {
  readonly id: number;
  readonly answered: Answered;
  /** The error of the server itself, for its log. */
  readonly failure: string | undefined;
};

/** The answer of a reading, or its refusal. */
export async function answerReading(
  reads: BoundedReads,
  { name, input }: Pick<ReaderThreadOrder, 'name' | 'input'>,
  answerBytes: number,
): Promise<Omit<ReaderThreadAnswer, 'id'>> {
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

if (parentPort !== null && isReaderData(workerData)) {
  const port = parentPort;
  const { ledgerUrl, limits, answerBytes } = workerData;
  lowerPriority(behindServer);
  let now = 0;
  const ledger = await openLedger(ledgerUrl, { readOnly: true, clock: { ...systemClock, now: () => now } });
  let underWay = 0;
  let isEnding = false;
  const endIfDone = (): void => {
    if (!isEnding || underWay > 0) return;
    void ledger.close().finally(() => port.close());
  };
  port.on('message', (order: ReaderThreadOrder | 'end') => {
    if (order === 'end') {
      isEnding = true;
      endIfDone();
      return;
    }
    now = Math.max(now, order.now);
    underWay++;
    void answerReading(new BoundedReads(ledger, limits), order, answerBytes).then((made) => {
      const { buffer } = made.answered.bytes;
      port.postMessage({ id: order.id, ...made } satisfies ReaderThreadAnswer, [buffer]);
      underWay--;
      endIfDone();
    });
  });
}

function isReaderData(data: unknown): data is ReaderThreadData {
  return typeof data === 'object' && data !== null && 'answerBytes' in data;
}
