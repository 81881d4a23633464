import { QuittanceError } from '../base/error.ts';
import { cutText } from '../base/cut-text.ts';
import type { Miss, Recording } from './recording-shelf.ts';

export type ReplayReport = {
  /** Number of played recordings. */
  readonly played: number;
  /** Recorded calls that were not made. */
  readonly unused: readonly { readonly callId: string; readonly toolName: string; readonly input: string }[];
  /** Calls without a recording. */
  readonly missed: readonly {
    readonly callId: string;
    readonly toolName: string;
    readonly why: Miss;
    readonly message: string;
  }[];
};

export function toReport(recordings: readonly Recording[], missed: ReplayReport['missed']): ReplayReport {
  const unused = recordings.filter(({ status }) => status !== 'played');
  return {
    played: recordings.length - unused.length,
    unused: unused.map(({ call: { callId, toolName }, input }) => ({
      callId,
      toolName,
      input: cutText(JSON.stringify(input), 200),
    })),
    missed: [...missed],
  };
}

export function assertConsumed({ unused, missed }: ReplayReport): void {
  if (unused.length === 0 && missed.length === 0) return;
  const lines = [
    ...(unused.length === 0
      ? []
      : [`${calls(unused.length)} of the cassette ${unused.length === 1 ? 'was' : 'were'} not made:`]),
    ...unused.map(({ callId, toolName, input }) => `  ${toolName} ${input} (recorded as ${callId})`),
    ...(missed.length === 0
      ? []
      : [`${calls(missed.length)} ${missed.length === 1 ? 'has' : 'have'} no recording in the cassette:`]),
    ...missed.map(({ callId, toolName, message }) => `  ${toolName} (${callId}): ${message}`),
  ];
  throw new QuittanceError('cassette.unused', lines.join('\n'), {
    unused: String(unused.length),
    missed: String(missed.length),
  });
}

const calls = (count: number): string => `${count} ${count === 1 ? 'call' : 'calls'}`;
