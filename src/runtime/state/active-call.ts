import type { AcceptedCall } from './accepted-call.ts';
import type { Told } from './told.ts';

/** A call that is being made here, for the callers that join it. */
export class ActiveCall {
  readonly live: AcceptedCall;
  #told: Promise<Told> | undefined;
  #tell: (() => Promise<Told>) | undefined;

  constructor(live: AcceptedCall) {
    this.live = live;
  }

  /** What callers are told; undefined until that is known to come. */
  get told(): Promise<Told> | undefined {
    const tell = this.#tell;
    if (tell !== undefined) this.told = tell();
    return this.#told;
  }

  set told(told: Promise<Told> | undefined) {
    this.#tell = undefined;
    this.#told = told;
  }

  /** Makes what callers are told when the first of them asks, and not before. */
  tellWhenAsked(tell: () => Promise<Told>): void {
    this.#tell = tell;
  }
}
