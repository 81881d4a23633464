import type { AcceptedCall } from './accepted-call.ts';
import type { CallReply } from './call-reply.ts';

/** A call that this runtime is making, for the callers that join it. */
export class ActiveCall {
  readonly live: AcceptedCall;
  /** A call made here has none of these: see `MadeCall`. */
  declare private promised: Promise<CallReply> | undefined;
  declare private makeReply: (() => Promise<CallReply>) | undefined;

  constructor(live: AcceptedCall) {
    this.live = live;
  }

  /** The answer for callers. Undefined before the call is started. */
  get reply(): Promise<CallReply> | undefined {
    const tell = this.makeReply;
    if (tell !== undefined) this.reply = tell();
    return this.promised;
  }

  set reply(value: Promise<CallReply> | undefined) {
    this.makeReply = undefined;
    this.promised = value;
  }

  /** Computes the answer when the first caller asks for it. */
  replyWhenAsked(tell: () => Promise<CallReply>): void {
    this.makeReply = tell;
  }
}
