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

  /** The answer for callers; undefined before the call is begun. */
  get told(): Promise<Told> | undefined {
    const tell = this.#tell;
    if (tell !== undefined) this.told = tell();
    return this.#told;
  }

  set told(told: Promise<Told> | undefined) {
    this.#tell = undefined;
    this.#told = told;
  }

  /** Makes the answer when the first caller asks for it, and not before. */
  tellWhenAsked(tell: () => Promise<Told>): void {
    this.#tell = tell;
  }
}
