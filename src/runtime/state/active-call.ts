import type { AcceptedCall } from './accepted-call.ts';
import type { CallReply } from './call-reply.ts';

/** A call that is being made here, for the callers that join it. */
export class ActiveCall {
  readonly live: AcceptedCall;
  #reply: Promise<CallReply> | undefined;
  #makeReply: (() => Promise<CallReply>) | undefined;

  constructor(live: AcceptedCall) {
    this.live = live;
  }

  /** The answer for callers; undefined before the call is begun. */
  get reply(): Promise<CallReply> | undefined {
    const tell = this.#makeReply;
    if (tell !== undefined) this.reply = tell();
    return this.#reply;
  }

  set reply(value: Promise<CallReply> | undefined) {
    this.#makeReply = undefined;
    this.#reply = value;
  }

  /** Makes the answer when the first caller asks for it, and not before. */
  replyWhenAsked(tell: () => Promise<CallReply>): void {
    this.#makeReply = tell;
  }
}
