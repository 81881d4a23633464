/**
 * Checks of the entries while the processes run:
 *
 * 1. A call has at most one final end.
 * 2. No process ends or reruns a call while the owner of that call is alive. The harness records when it is about to
 *    end an owner: every entry before that was written while the owner was alive.
 */
import type { OpenLedger } from 'quittance/store';
import { isEmittedEvent } from 'quittance/events';
import { readEntry } from '../../packages/quittance/src/ledger/formats/v1/read-entry.ts';
import { lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

export type SeenCall = {
  readonly toolName: string;
  ends: number;
  outcome: string | undefined;
  /** The process that runs the tool. Undefined if the tool has not started, or if a worker of a hand-off runs it. */
  runner: string | undefined;
};

export class Watch {
  readonly calls: Map<string, SeenCall> = new Map();
  readonly problems: string[] = [];
  readonly #ledger: OpenLedger;
  /** By owner: the last position written before it was ended. */
  readonly #livedUntil = new Map<string, number>();
  #position = 0;
  takenOver = 0;

  constructor(ledger: OpenLedger) {
    this.#ledger = ledger;
  }

  /** Call it directly before an owner is killed or told to close. */
  async noteEnd(ownerId: string): Promise<void> {
    this.#livedUntil.set(ownerId, await lastPosition(this.#ledger));
  }

  get position(): number {
    return this.#position;
  }

  async look(): Promise<void> {
    for (;;) {
      const entries = await this.#ledger.readEntries({ after: this.#position, limit: 500 });
      for (const { position, text, bodies } of entries) {
        this.#see(position, readEntry({ text, bodies }));
        this.#position = position;
      }
      if (entries.length < 500) return;
    }
  }

  #see(position: number, { sessionId, callId, ownerId, events }: ReturnType<typeof readEntry>): void {
    if (callId === undefined) return;
    const key = `${sessionId}/${callId}`;
    for (const event of events) {
      if ('unknownFields' in event || isEmittedEvent(event)) continue;
      const call = this.calls.get(key);
      if (event.type === 'tool.requested')
        this.calls.set(key, { toolName: event.toolName, ends: 0, outcome: undefined, runner: undefined });
      if (call === undefined) continue;
      const isMove = event.type === 'tool.started' || event.type === 'tool.responded';
      if (isMove && call.runner !== undefined && call.runner !== ownerId) {
        this.takenOver++;
        const until = this.#livedUntil.get(call.runner) ?? Number.POSITIVE_INFINITY;
        if (position <= until)
          this.problems.push(
            `${key} of ${call.runner}, which was alive, was taken over by ${ownerId} at ${position}`,
          );
      }
      if (event.type === 'tool.started') call.runner = event.handoff === true ? undefined : ownerId;
      if (event.type === 'tool.responded' && event.final) {
        call.runner = undefined;
        call.outcome = JSON.stringify(event.outcome);
        if (++call.ends > 1) this.problems.push(`${key} has ${call.ends} ends`);
      }
    }
  }
}
