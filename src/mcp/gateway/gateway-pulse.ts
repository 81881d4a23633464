/**
 * The regular work of a gateway. It reports its state to people who look from other processes. It applies the answers
 * about tools that they gave meanwhile. Trouble with the ledger stops neither the gateway nor the next try.
 */
import { randomUUID } from 'node:crypto';
import type { Ledger } from '../../ledger/ledger.ts';
import type { GatewayBoard } from '../status/gateway-board.ts';
import { repeatMs } from '../status/gateway-board.ts';
import type { GatewayReport } from '../status/gateway-report.ts';
import type { Gateway } from './gateway.ts';

export type PulseOptions = {
  readonly gateway: Gateway;
  readonly ledger: Pick<Ledger, 'now' | 'owners'>;
  readonly board: GatewayBoard | undefined;
  readonly observes: boolean;
};

/** How soon a change of state, or an answer of a person, has effect elsewhere. */
const beatMs = 1_000;

export class GatewayPulse {
  readonly #options: PulseOptions;
  readonly #gatewayId = randomUUID();
  readonly #startedAt: number;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();
  #published: { readonly text: string; readonly at: number } | undefined;
  #isTroubled = false;

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#startedAt = options.ledger.now();
  }

  /** Begins at the first call. */
  start(): void {
    if (this.#timer !== undefined) return;
    let isBusy = false;
    const beat = (): void => {
      if (isBusy) return;
      isBusy = true;
      this.#beating = this.#beat().finally(() => (isBusy = false));
    };
    this.#timer = setInterval(beat, beatMs).unref();
    beat();
  }

  /** Reports the end. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    await this.#beating;
    await this.#try(() => this.#publish({ isOver: true }));
  }

  async #beat(): Promise<void> {
    await this.#try(async () => {
      await this.#options.gateway.applyReviews();
      await this.#publish({ isOver: false });
    });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#isTroubled = false;
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      if (!this.#isTroubled)
        this.#options.gateway.log('gateway', `The state could not be reported. ${words}`);
      this.#isTroubled = true;
    }
  }

  async #publish({ isOver }: { readonly isOver: boolean }): Promise<void> {
    const { board, gateway, ledger, observes } = this.#options;
    if (board === undefined) return;
    const now = ledger.now();
    const report: Omit<GatewayReport, 'seenAt'> = {
      gatewayId: this.#gatewayId,
      ownerId: ledger.owners.ownerId,
      startedAt: this.#startedAt,
      endedAt: isOver ? now : undefined,
      observes,
      clients: isOver ? [] : gateway.clientNames(),
      servers: gateway.serverReports(),
    };
    const text = JSON.stringify(report);
    if (this.#published?.text === text && now - this.#published.at < repeatMs) return;
    await board.publish({ ...report, seenAt: now });
    this.#published = { text, at: now };
  }
}
